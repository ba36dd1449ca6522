"""Runs on text from beginning to end: the command, its files, stopping, resuming, serving."""

import csv
import io
import json
import shlex
import shutil
import signal
import subprocess
import sys
import time
from unittest import mock

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds
from absl import flags
from corpus_test import DUMMY_DATA
from language_case import tiny_config, write_texts
from training_case import REPOSITORY, assert_same_arrays

from keras_stackrnn import command_line, corpus
from keras_stackrnn.datasets import penn_treebank
from keras_stackrnn.models import kinds
from keras_stackrnn.perplexity import PerplexityMeter
from keras_stackrnn.training import LanguageModelConfig, RunError, command, run_folder, train
from keras_stackrnn.training.run_folder import CHECKPOINTS


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    return write_texts(tmp_path_factory.mktemp("texts"))


@pytest.fixture(scope="module")
def finished(texts, tmp_path_factory):
    """A run that nothing has disturbed, and what it printed."""
    output = io.StringIO()
    folder = tmp_path_factory.mktemp("finished")
    result = train(tiny_config("rnn", output_dir=str(folder), **texts), output=output)
    return result, output.getvalue()


def weights_in(folder):
    return keras.models.load_model(folder / run_folder.MODEL).get_weights()


def test_leaves_everything_in_its_folder(finished):
    result, printed = finished
    names = {path.name for path in result.output_dir.iterdir()}
    assert names == {
        "config.json",
        "metrics.csv",
        "events",
        "model.keras",
        "serving",
        "evaluation.json",
        "perplexity.png",
        "checkpoints",
    }
    lines = printed.splitlines()
    assert lines[0].startswith("compiling")
    assert any("symbols/s" in line and "validation" in line for line in lines)
    assert any(line.startswith("Perplexity: ") for line in lines)
    assert "perplexity.png" in lines[-2]
    assert lines[-1].endswith(f"--model_base_path={result.output_dir}/serving/text")


def test_evaluation_is_of_every_token_of_the_files(finished, texts):
    result, _ = finished
    written = json.loads((result.output_dir / "evaluation.json").read_text())
    text = corpus.text_files(**texts, level="word")
    model = keras.models.load_model(result.output_dir / "model.keras")
    assert model.vocabulary == text.vocabulary
    meter = PerplexityMeter(model, tokens_a_call=16)
    for name, tokens in (("validation", text.validation), ("test", text.test())):
        assert written[f"{name}_tokens"] == len(tokens)
        measured = meter.measure(tokens, text.end_of_line)
        assert written[f"{name}_perplexity"] == pytest.approx(measured, rel=1e-5)
    assert written["parameters"] == model.count_params()
    assert [epoch["epoch"] for epoch in written["epochs"]] == [1, 2, 3]


def test_metrics_have_a_row_for_every_round(finished):
    result, _ = finished
    with open(result.output_dir / "metrics.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["updates"]) for row in rows[:3]] == [7, 14, 21]
    assert rows[-1]["epoch"] == "3"
    assert rows[0]["validation_perplexity"] == "nan"
    assert float(rows[-1]["best_perplexity"]) == pytest.approx(
        result.evaluation["validation_perplexity"], rel=1e-5
    )


def test_a_killed_run_goes_on_exactly(finished, texts, tmp_path):
    config = tiny_config("rnn", output_dir=str(tmp_path), **texts)
    process = subprocess.Popen(
        [sys.executable, *shlex.split(config.command())[1:]],
        cwd=REPOSITORY,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    third = tmp_path / CHECKPOINTS / "00000003.checkpoint"
    while not third.exists() and process.poll() is None:
        time.sleep(0.001)
    process.kill()
    _, errors = process.communicate()
    assert process.returncode == -signal.SIGKILL, errors.decode()
    resumed = train(config, resume=True, output=io.StringIO())
    assert_same_arrays(weights_in(tmp_path), finished[0].model.get_weights())
    assert resumed.evaluation["epochs"] == finished[0].evaluation["epochs"]
    assert resumed.evaluation["test_perplexity"] == finished[0].evaluation["test_perplexity"]


def test_a_budget_ends_it_and_more_of_it_goes_on_exactly(finished, texts, tmp_path):
    config = tiny_config("rnn", output_dir=str(tmp_path), **texts)
    short = train(
        tiny_config("rnn", output_dir=str(tmp_path), minutes=1e-9, **texts), output=io.StringIO()
    )
    assert short.evaluation["epochs"] == []
    train(config, resume=True, output=io.StringIO())
    assert_same_arrays(weights_in(tmp_path), finished[0].model.get_weights())


def test_what_is_served_knows_the_words(finished):
    result, _ = finished
    loaded = tf.saved_model.load(str(result.output_dir / "serving/text/1"))
    predict = loaded.signatures["predict_text"]
    outputs = predict(text=tf.constant(["the cat sees", "the zebra sees", "the <unk> sees"]))
    probabilities = outputs["probabilities"].numpy()
    np.testing.assert_allclose(probabilities[1], probabilities[2], rtol=0, atol=1e-7)
    assert np.abs(probabilities[0] - probabilities[1]).max() > 1e-4
    tokens = [result.model.vocabulary.index(word) for word in ("the", "cat", "sees")]
    expected = tf.nn.softmax(result.model(np.array([tokens]))[0, -1])
    np.testing.assert_allclose(probabilities[0], expected, rtol=0, atol=1e-6)
    assert outputs["next_symbol"].numpy()[0].decode() in result.model.vocabulary


def test_characters_are_served_with_the_ends_of_lines(texts, tmp_path):
    config = tiny_config("srcn", level="char", output_dir=str(tmp_path), epochs=1, **texts)
    result = train(config, output=io.StringIO())
    loaded = tf.saved_model.load(str(tmp_path / "serving/text/1"))
    outputs = loaded.signatures["predict_text"](text=tf.constant(["the cat\nthe d"]))
    assert outputs["probabilities"].shape == (1, len(result.model.vocabulary))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Unknown symbol: .*, got ß"):
        loaded.signatures["predict_text"](text=tf.constant(["the ß"]))
    state = loaded.signatures["initial_state"](batch_size=tf.constant(1))
    assert {name: tuple(each.shape) for name, each in state.items()} == {
        "hidden_0": (1, 5),
        "context_0": (1, 3),
    }


@pytest.fixture
def manual_dir(tmp_path):
    """A folder with hand-written lines that the builder takes for Penn Treebank."""
    folder = tmp_path / "manual"
    folder.mkdir()
    for path in DUMMY_DATA.glob("ptb.*.txt"):
        shutil.copy(path, folder)
    infos = {path.name: tfds.download.checksums.compute_url_info(path) for path in folder.iterdir()}
    with mock.patch.object(penn_treebank.Builder, "url_infos", infos):
        yield folder


def test_penn_treebank(manual_dir, tmp_path):
    config = LanguageModelConfig.from_recipe(
        "penn_treebank",
        "rnn",
        manual_dir=str(manual_dir),
        output_dir=str(tmp_path / "run"),
        units=4,
        embedding=3,
        lanes=1,
        window=4,
        epochs=1,
    )
    result = train(config, output=io.StringIO())
    lines = (manual_dir / "ptb.test.txt").read_text().splitlines()
    assert result.evaluation["test_tokens"] == sum(len(line.split()) + 1 for line in lines)
    assert (tmp_path / "run/serving/penn_treebank/1/saved_model.pb").exists()


def parsed(*arguments):
    values = flags.FlagValues()
    command.define_flags(values)
    return command_line.parse(["train.py", *arguments], values), values


def config_of(*arguments):
    return command.config_from_flags(parsed(*arguments)[1])


def test_every_command_parses_to_its_config(texts):
    for config in (
        LanguageModelConfig.from_recipe("penn_treebank"),
        LanguageModelConfig.from_recipe("penn_treebank", "lstm", "tuned", seed=3, minutes=4.0),
        LanguageModelConfig.from_recipe("penn_treebank", "stack", "tuned", no_op_bias=-0.5),
        LanguageModelConfig.from_recipe("penn_treebank", "list", "tuned"),
        tiny_config("srcn", output_dir="a folder", **texts),
        tiny_config("stack", no_op=False, averaging=0.5),
    ):
        assert config_of(*shlex.split(config.command())[2:]) == config


def test_resuming_takes_the_values_of_the_run(tmp_path):
    config = tiny_config("rnn", output_dir=str(tmp_path), seed=5)
    run_folder.write_config(tmp_path, config)
    resumed = config_of("--resume", f"--output_dir={tmp_path}", "--minutes=9")
    assert resumed == tiny_config("rnn", output_dir=str(tmp_path), seed=5, minutes=9.0)
    with pytest.raises(ValueError, match=r"^The run in .* has no value 'max_n'\.$"):
        config_of("--resume", f"--output_dir={tmp_path}", "--max_n=9")


WHERE = "the three files ptb.train.txt, ptb.valid.txt, ptb.test.txt, or simple-examples.tgz"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--task=penn_treebank"], f"manual_dir is missing: expected a folder with {WHERE}."),
        (
            ["--task=penn_treebank", "--manual_dir=none"],
            f"manual_dir must be a folder with {WHERE}, got 'none'.",
        ),
        (
            ["--task=penn_treebank", "--train_file=x"],
            "task='penn_treebank' has a text of its own, got train_file='x'; task='text' reads "
            "yours.",
        ),
        (["--task=text"], "train_file is missing: task='text' needs a text to learn from."),
        (
            ["--task=text", "--train_file=x", "--manual_dir=y"],
            "task='text' reads train_file, got manual_dir='y' as well.",
        ),
        (
            ["--task=text", "--train_file=none"],
            "Cannot read none: No such file or directory.",
        ),
        (
            ["--task=text", "--train_file=x", "--level=syllable"],
            "level must be one of word, char, got 'syllable'.",
        ),
        (
            ["--task=text", "--train_file=x", "--model=elman"],
            f"model must be one of {', '.join(kinds())}, got 'elman'.",
        ),
        (
            ["--task=text", "--train_file=x", "--recipe=fast"],
            "recipe must be one of plain, tuned, got 'fast'.",
        ),
        (
            ["--task=text", "--train_file=x", "--max_n=4"],
            "A training has no value 'max_n'.",
        ),
        (
            ["--task=text", "--train_file=x", "--model=lstm", "--memories=3"],
            "model='lstm' has no memory to act on, got memories=3; stack, for example, has one.",
        ),
        (
            ["--task=text", "--train_file=x", "--context_units=3"],
            "Context units are what model='srcn' has, 1 or more, and no other: got model='stack' "
            "and context_units=3.",
        ),
        (
            ["--task=text", "--train_file=x", "--dropout=1"],
            "dropout must be 0 or more and below 1, got 1.0.",
        ),
        (
            ["--task=text", "--train_file=x", "--input_dropout=-1"],
            "input_dropout must be 0 or more and below 1, got -1.0.",
        ),
        (
            ["--task=text", "--train_file=x", "--noising=1.5"],
            "noising must be 0 or more and at most 1, got 1.5.",
        ),
        (
            ["--task=text", "--train_file=x", "--no_op_bias=inf"],
            "no_op_bias must be -100 or more and at most 100, got inf.",
        ),
        (
            ["--task=text", "--train_file=x", "--model=rnn", "--no_op_bias=2"],
            "no_op_bias must be 0 without no_op, the action it is for, got 2.0.",
        ),
        (
            ["--task=text", "--train_file=x", "--capacity=1"],
            "capacity must be at least read_depth, 2, got 1.",
        ),
    ],
)
def test_bad_flags(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as raised:
        command.main(*parsed(*arguments))
    assert raised.value.code == message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"is empty: expected lines of text\.$"),
        (b"\x7fELF\0\0", r"is no text: expected text in UTF-8, got a byte 0 at position 4\.$"),
        (b"\xff\xfe", r"is no text in UTF-8: got byte 255 at position 0\.$"),
        (b"too short\n" * 10, r"^A text of 90 symbols is too short for 20 lanes with windows of "),
    ],
)
def test_bad_files_leave_nothing_behind(content, message, tmp_path):
    path = tmp_path / "text"
    path.write_bytes(content)
    config = LanguageModelConfig.from_recipe(
        "text", "rnn", train_file=str(path), output_dir=str(tmp_path / "run")
    )
    with pytest.raises(RunError, match=message):
        train(config, output=io.StringIO())
    assert not (tmp_path / "run").exists()
