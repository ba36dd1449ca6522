"""Tests of the algorithmic patterns as a TFDS dataset."""

import hashlib

import numpy as np
import pytest
import tensorflow_datasets as tfds
from test_case import run_command

from keras_stackrnn import patterns
from keras_stackrnn.datasets import __main__ as command
from keras_stackrnn.datasets import algorithmic_patterns
from keras_stackrnn.tasks import registry

SPLITS = ("train", "validation", "test")


def tiny(pattern):
    return algorithmic_patterns.PatternConfig(
        name=f"tiny_{pattern}",
        pattern=pattern,
        sequences_per_n=3,
        largest_training_n=4,
        largest_test_n=6,
    )


class AlgorithmicPatternsTest(tfds.testing.DatasetBuilderTestCase):
    DATASET_CLASS = algorithmic_patterns.Builder
    BUILDER_CONFIG_NAMES_TO_TEST = [  # noqa: RUF012 TFDS' test case declares it so
        tiny(name) for name in ("anbn", "anb2n", "memorize")
    ]
    SPLITS = {"train": 12, "validation": 12, "test": 18}  # noqa: RUF012
    OVERLAPPING_SPLITS = SPLITS

    def test_session(self, *args, **kwargs):
        return super().test_session(*args, **kwargs)

    # A helper of TensorFlow's test case, and not a test.
    test_session.__test__ = False


def prepare(pattern, data_dir, file_format="tfrecord"):
    builder = algorithmic_patterns.Builder(data_dir=data_dir, config=tiny(pattern))
    builder.download_and_prepare(file_format=file_format)
    return builder


def in_a_hurry(examples_a_split=5):
    """Arguments of `tfds.load` that make it prepare no more than a few examples."""
    config = tfds.download.DownloadConfig(max_examples_per_split=examples_a_split)
    return {"download_and_prepare_kwargs": {"download_config": config}}


def test_every_pattern_is_a_config():
    assert {
        "anbn",
        "anbncn",
        "anbncndn",
        "anb2n",
        "anbmcnm",
        "memorize",
        "binary_addition",
        "multiply",
        "anbmcndm",
    } <= set(algorithmic_patterns.Builder.builder_configs)


@pytest.mark.parametrize("name", ["anbn", "anbmcnm", "memorize", "binary_addition", "multiply"])
def test_a_stored_example_is_the_generators(name, tmp_path):
    builder = prepare(name, tmp_path)
    pattern = patterns.get(name)
    assert builder.info.metadata["alphabet"] == pattern.alphabet
    for split in SPLITS:
        examples = iter(tfds.as_numpy(builder.as_dataset(split=split)))
        for n in range(pattern.smallest_n, 7 if split == "test" else 5):
            for index in range(3):
                example, expected = next(examples), pattern.sample(n, split, index)
                assert example["n"] == n
                assert example["text"].decode() == expected.text
                np.testing.assert_array_equal(example["tokens"], expected.tokens)
                np.testing.assert_array_equal(example["deterministic"], expected.deterministic)
        assert next(examples, None) is None


# Of the decoded examples of the tiny configs: if one changes, raise patterns.VERSION.
GOLDEN = {
    "anbmcndm": "e4305d204ff2a090",
    "binary_addition": "28bce7878c822772",
    "memorize": "f56abb3a98e79970",
}


@pytest.mark.parametrize("file_format", ["tfrecord", "array_record"])
@pytest.mark.parametrize("name", GOLDEN)
def test_decoded_examples_never_change(name, file_format, tmp_path):
    builder = prepare(name, tmp_path, file_format)
    digest = hashlib.sha256()
    for split in SPLITS:
        examples = (
            builder.as_data_source(split)
            if file_format == "array_record"
            else tfds.as_numpy(builder.as_dataset(split=split))
        )
        for example in examples:
            digest.update(example["text"])
            digest.update(example["tokens"].astype("<i4").tobytes())
            digest.update(example["deterministic"].tobytes())
            digest.update(int(example["n"]).to_bytes(4, "little"))
    assert digest.hexdigest()[:16] == GOLDEN[name]


def test_data_source_gives_any_example(tmp_path):
    source = prepare("anbn", tmp_path, "array_record").as_data_source("test")
    assert len(source) == 18
    assert source[16]["text"] == b"aaaaaabbbbbb"


def test_one_n_is_a_slice(tmp_path):
    builder = prepare("anbmcnm", tmp_path)
    split = builder.builder_config.split_of_n(5)
    assert split == "test[9:12]"
    assert [int(example["n"]) for example in builder.as_dataset(split=split)] == [5, 5, 5]


def test_slices_of_the_full_configs():
    assert algorithmic_patterns.split_of_n("anbn", 1) == "test[0:200]"
    assert algorithmic_patterns.split_of_n("anbn", 60) == "test[11800:12000]"
    assert algorithmic_patterns.split_of_n("anbmcnm", 2, "train") == "train[0:200]"
    assert algorithmic_patterns.split_of_n("anbn", 19, "validation") == "validation[3600:3800]"
    with pytest.raises(ValueError, match="'train' of 'anbn' has n from 1 to 19, got 20"):
        algorithmic_patterns.split_of_n("anbn", 20, "train")
    with pytest.raises(ValueError, match="no task 'anbm'"):
        algorithmic_patterns.split_of_n("anbm", 20)


def test_tfds_loads_a_pattern_by_name(tmp_path):
    split = algorithmic_patterns.split_of_n("anbn", 30)
    dataset = tfds.load("algorithmic_patterns/anbn", split=split, data_dir=tmp_path)
    assert len(dataset) == 200
    assert {example["text"] for example in tfds.as_numpy(dataset)} == {b"a" * 30 + b"b" * 30}


@pytest.fixture
def copy_pattern():
    @patterns.register("copy", alphabet="01=", smallest_n=1, n_means="digits", example="01=[01]")
    def copy(n, draw):
        word = "".join(draw.choice("01") for _ in range(n))
        return word + "=", word

    yield patterns.get("copy")
    del registry._tasks["copy"]


def test_a_registered_pattern_is_a_config(copy_pattern, tmp_path):
    arguments = {"split": "train", "data_dir": tmp_path, **in_a_hurry()}
    # The second time TFDS finds the prepared files before it asks the class.
    for _ in range(2):
        dataset = tfds.load("algorithmic_patterns/copy", **arguments)
        texts = [example["text"].decode() for example in tfds.as_numpy(dataset)]
        assert texts == [copy_pattern.sample(1, "train", i).text for i in range(5)]


def test_memorize_with_many_symbols_is_a_config(tmp_path):
    dataset, info = tfds.load(
        "algorithmic_patterns/memorize_70",
        split="test",
        data_dir=tmp_path,
        with_info=True,
        **in_a_hurry(),
    )
    assert len(info.metadata["alphabet"]) == 71
    example = next(iter(tfds.as_numpy(dataset)))
    assert example["text"].decode() == patterns.get("memorize_70").sample(1, "test", 0).text


def test_an_unknown_pattern_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"no task 'anbm' \(did you mean 'anbn'\?\); there"):
        tfds.load("algorithmic_patterns/anbm", data_dir=tmp_path)


def test_a_failed_preparation_leaves_nothing_behind(tmp_path, copy_pattern, monkeypatch):
    def fail(*_):
        raise OSError("the disk is full")

    builder = tfds.builder("algorithmic_patterns/copy", data_dir=tmp_path)
    with monkeypatch.context() as context:
        context.setattr(patterns.Pattern, "sample", fail)
        with pytest.raises(OSError, match="the disk is full"):
            builder.download_and_prepare()
    assert not list((tmp_path / "algorithmic_patterns" / "copy").iterdir())


def test_command_line_lists_shows_and_prepares(tmp_path, capsys):
    assert run_command(command) == 0
    listed = capsys.readouterr().out
    assert "algorithmic_patterns/anbn " in listed
    assert "penn_treebank/char" in listed

    assert run_command(command, "--show=anbn", "--n=3", "--examples=2") == 0
    assert capsys.readouterr().out == "aaab[bb]\naaab[bb]\n"

    assert run_command(command, "--show=anbm") == 1
    assert capsys.readouterr().err.startswith("There is no task 'anbm'")

    names = "algorithmic_patterns/nothing,algorithmic_patterns/multiply"
    assert run_command(command, f"--prepare={names}", f"--data_dir={tmp_path}") == 1
    printed = capsys.readouterr()
    assert "There is no task 'nothing'" in printed.err
    assert "multiply: train 3,600, validation 3,600, test 11,800" in printed.out
