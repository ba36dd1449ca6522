"""Tests of the suites as TFDS datasets."""

import pytest
import tensorflow_datasets as tfds
from test_case import run_command

from keras_stackrnn import tasks
from keras_stackrnn.datasets import __main__ as command
from keras_stackrnn.datasets import (
    chomsky,
    marked_languages,
    recognition_languages,
    sized_tasks,
    small_languages,
)

TINY = {"sequences_per_size": 3, "test_sequences_per_size": 2}


def tiny(task, first_of_test, kind=sized_tasks.TaskConfig, **changes):
    """A config with training sizes up to 4 and three sizes in the test."""
    name = f"tiny_{task.replace('/', '_')}"
    sizes = {"largest_training_size": 4, "largest_test_size": first_of_test + 2}
    return kind(name=name, task=task, **{**TINY, **sizes, **changes})


class _BuilderTest(tfds.testing.DatasetBuilderTestCase):
    def test_session(self, *args, **kwargs):
        return super().test_session(*args, **kwargs)

    # A helper of TensorFlow's test case, and not a test.
    test_session.__test__ = False


class ChomskyTest(_BuilderTest):
    DATASET_CLASS = chomsky.Builder
    BUILDER_CONFIG_NAMES_TO_TEST = [tiny("chomsky/binary_addition", 41)]  # noqa: RUF012
    SPLITS = {"train": 12, "validation": 12, "test": 6}  # noqa: RUF012
    OVERLAPPING_SPLITS = SPLITS


class RecognitionLanguagesTest(_BuilderTest):
    DATASET_CLASS = recognition_languages.Builder
    BUILDER_CONFIG_NAMES_TO_TEST = [tiny("recognition/dyck_2_3", 0)]  # noqa: RUF012
    SPLITS = {"train": 15, "validation": 15, "test": 6}  # noqa: RUF012
    OVERLAPPING_SPLITS = SPLITS


class MarkedLanguagesTest(_BuilderTest):
    DATASET_CLASS = marked_languages.Builder
    BUILDER_CONFIG_NAMES_TO_TEST = [  # noqa: RUF012
        tiny("dyck_2_3", 20),
        tiny("marked_reversal", 20),
    ]
    SPLITS = {"train": 12, "validation": 12, "test": 6}  # noqa: RUF012
    OVERLAPPING_SPLITS = SPLITS


class SmallLanguagesTest(_BuilderTest):
    DATASET_CLASS = small_languages.Builder
    BUILDER_CONFIG_NAMES_TO_TEST = [  # noqa: RUF012
        tiny("small/anbn_100", 1, small_languages.SmallConfig)
    ]
    SPLITS = {"train": 100, "test": 3}  # noqa: RUF012
    OVERLAPPING_SPLITS = SPLITS


del _BuilderTest


def prepare(builder, config, tmp_path):
    prepared = builder(config=config, data_dir=tmp_path)
    prepared.download_and_prepare()
    return prepared


def examples(builder, split):
    return list(tfds.as_numpy(builder.as_dataset(split=split)))


def test_every_task_of_a_suite_is_a_config():
    for builder, suite, number in (
        (chomsky.Builder, "chomsky/", 15),
        (recognition_languages.Builder, "recognition/", 5),
        (small_languages.Builder, "small/", 24),
    ):
        names = {name.removeprefix(suite) for name in tasks.names() if name.startswith(suite)}
        assert set(builder.builder_configs) == names
        assert len(names) == number
    assert {"dyck_1", "dyck_2", "marked_copy"} <= set(marked_languages.Builder.builder_configs)


def test_slices_of_the_full_configs():
    config = chomsky.Builder.builder_configs["bucket_sort"]
    assert config.split_of_size(41) == "test[0:512]"
    assert config.split_of_size(500) == f"test[{459 * 512}:{460 * 512}]"
    assert config.split_of_size(40, "train") == f"train[{39 * 512}:{40 * 512}]"
    with pytest.raises(ValueError, match="'test' of 'bucket_sort' has sizes from 41 to 500, got 7"):
        config.split_of_size(7)


def test_stored_answers_are_the_tasks(tmp_path):
    builder = prepare(chomsky.Builder, tiny("chomsky/stack_manipulation", 41), tmp_path)
    task = tasks.get("chomsky/stack_manipulation")
    assert "".join(builder.info.metadata["inputs"]) == "01-oi"
    for split, count in (("train", 3), ("test", 2)):
        stored = examples(builder, split)
        sizes = builder.builder_config.sizes(split)
        lines = [line for size in sizes for line in task.lines(task.samples(split, size, count))]
        found = [f"{e['input'].decode()} -> {e['answer'].decode()}" for e in stored]
        assert found == lines
        for example in stored:
            assert task.inputs.decode(example["input_tokens"]) == example["input"].decode()
            assert task.outputs.decode(example["answer_tokens"]) == example["answer"].decode()
            assert example["counted"] == example["answer"].decode().index(".") + 1
            assert len(example["input"]) == example["size"]
    of_size = builder.builder_config.split_of_size(42)
    assert {example["size"] for example in examples(builder, of_size)} == {42}


def test_stored_labels_are_the_tasks(tmp_path):
    builder = prepare(recognition_languages.Builder, tiny("recognition/parity", 0), tmp_path)
    for example in examples(builder, "train"):
        text = example["text"].decode()
        assert builder.info.features["label"].int2str(int(example["label"])) == (
            "yes" if text.count("1") % 2 else "no"
        )
        assert "".join(map(str, example["tokens"])) == text


def test_stored_strings_say_what_is_known_of_each_symbol(tmp_path):
    builder = prepare(marked_languages.Builder, tiny("marked_copy", 20), tmp_path)
    for example in examples(builder, "test"):
        word, _, second = example["text"].decode().strip("#").partition("=")
        assert word == second
        known = [False] * (len(word) + 2) + [True] * (len(word) + 1)
        assert example["deterministic"].tolist() == known
    builder = prepare(marked_languages.Builder, tiny("dyck_1", 20), tmp_path)
    symbols = "".join(builder.info.metadata["inputs"])
    assert symbols == "()#"
    for example in examples(builder, "train"):
        text = example["text"].decode()
        for place in range(1, len(text)):
            opened = text[:place].count("(") - text[:place].count(")")
            assert example["valid"][place].tolist() == [True, opened > 0, opened == 0]
        assert not example["valid"][0].any()


def test_a_small_set_is_stored_whole_and_its_test_up_to_a_length(tmp_path):
    config = small_languages.SmallConfig(
        name="small", task="small/anbmcnm_100", longest_test_string=12
    )
    builder = prepare(small_languages.Builder, config, tmp_path)
    task = tasks.get("small/anbmcnm_100")
    texts = [example["text"].decode() for example in examples(builder, "train")]
    assert texts == [f"#{text}#" for text in task.strings]
    texts = [example["text"].decode() for example in examples(builder, "test")]
    assert texts == [f"#{text}#" for size in range(2, 6) for text in task.texts("test", size)]
    with pytest.raises(ValueError, match="filter by `size`"):
        config.split_of_size(3)


def test_tasks_of_families_are_configs_too(tmp_path):
    limit = tfds.download.DownloadConfig(max_examples_per_split=3)
    for name in ("small_languages/anbn_30_5", "marked_languages/dyck_3"):
        dataset = tfds.load(
            name,
            split="train",
            data_dir=tmp_path,
            download_and_prepare_kwargs={"download_config": limit},
        )
        assert len(dataset) == 3
    with pytest.raises(ValueError, match="no task 'chomsky/nothing'"):
        tfds.load("chomsky/nothing", data_dir=tmp_path)


def test_command_line_lists_shows_and_prepares(tmp_path, capsys):
    assert run_command(command) == 0
    listed = capsys.readouterr().out
    for name in (
        "chomsky/parity_check",
        "recognition_languages/parity",
        "small_languages/dyck_2_250",
    ):
        assert f"{name} " in listed

    assert run_command(command, "--show=chomsky/reverse_string", "--n=3", "--examples=2") == 0
    task = tasks.get("chomsky/reverse_string")
    assert capsys.readouterr().out.splitlines() == task.lines(task.samples("test", 3, 2))

    arguments = ["--prepare=small_languages/anbn_20", f"--data_dir={tmp_path}"]
    assert run_command(command, *arguments) == 0
    assert "small_languages/anbn_20: train 20, test 499" in capsys.readouterr().out


def test_command_line_prepares_all_configs_of_a_dataset():
    names = command.names_of_configs(["recognition_languages", "chomsky/parity_check"])
    assert len(names) == 6
    assert names[0] == "recognition_languages/dyck_2_3"
    assert names[-1] == "chomsky/parity_check"
    every = command.names_of_configs(["all"])
    assert {"penn_treebank/word", "algorithmic_patterns/anbn", *names} <= set(every)
    assert len(every) == len(set(every))
