"""Tasks of files in a training: their configuration, and a search that has but few examples."""

import dataclasses
import json
import shlex

import numpy as np
import pytest
from training_case import tiny_config
from training_closing_words_test import evaluation

from keras_stackrnn.tasks import registry
from keras_stackrnn.training import TrainingConfig, closing_words
from keras_stackrnn.training.data import TrainingData
from keras_stackrnn.training.packed import PackedStream
from keras_stackrnn.training.replica import Replica, Scores
from keras_stackrnn.training.search import _bits_of

ROWS = [
    ("ab"[n % 2] * (n % 6 + 1) + "ab"[n // 2 % 2] * n, "yes" if n % 3 else "no") for n in range(40)
]


@pytest.fixture
def labelled(tmp_path):
    path = tmp_path / "l.tsv"
    path.write_text("".join(f"{string}\t{label}\n" for string, label in ROWS))
    return str(path)


def test_what_is_learned_is_in_the_files(labelled, tmp_path):
    config = TrainingConfig.from_recipe(
        "recognition", train_file=labelled, columns=" 1, 2", output_dir=str(tmp_path / "run")
    )
    task = config.learned_task()
    assert task is config.learned_task()
    with open(labelled, "a", encoding="utf-8") as file:
        file.write("bbbbbbbb\tyes\n")
    assert config.learned_task().fingerprint != task.fingerprint
    task = config.learned_task()
    assert config.window == max(50, task.places(task.train_sizes[-1]))
    assert TrainingConfig.from_json(json.loads(json.dumps(config.to_json()))) == config
    command = shlex.split(config.command())
    assert f"--train_file={labelled}" in command
    assert not [word for word in command if word.startswith(("--units", "--level", "--max_n"))]
    data = TrainingData.of(config)
    assert len(data.learned(50).lengths) == 50
    known = {row for row, _ in task.examples["train"].values}
    assert len(np.unique(data.learned(9).tokens, axis=0)) == min(9, len(known))
    assert data.stream(2, config.window, 0).next_windows(3).asked.any()
    with pytest.raises(ValueError, match="test sequences cannot be trained or validated on"):
        data.task.samples("test", 3, 1)


def test_runs_of_before_there_were_files_go_on():
    values = TrainingConfig.from_recipe("anbn").to_json()
    older = {name: each for name, each in values.items() if name not in ("imports", "columns")}
    assert TrainingConfig.from_json(older) == TrainingConfig.from_recipe("anbn")


@pytest.mark.parametrize(
    ("task", "values", "message"),
    [
        ("recognition", {}, "train_file is missing: task='recognition' learns from a file of you"),
        ("anbn", {"train_file": "x.tsv"}, "task='anbn' has sequences of its own, got train_file="),
        ("strings", {"train_file": "x.tsv"}, "Cannot read x.tsv: No such file or directory."),
        ("recognition", {"train_file": "x", "level": "word"}, "level must be one of char, token"),
        (
            "anbn",
            {"imports": "no_such_module"},
            "Cannot import tasks from 'no_such_module': Module",
        ),
    ],
)
def test_what_is_wrong_with_a_task_of_ones_own(task, values, message):
    with pytest.raises(ValueError, match=message):
        TrainingConfig.from_recipe(task, **values)


def test_an_imported_task_is_part_of_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "_tasks", dict(registry._tasks))
    path = tmp_path / "my_tasks.py"
    path.write_text(
        "from keras_stackrnn.tasks import transduction\n"
        "@transduction('mine/shout', inputs='ab', outputs='AB')\n"
        "def shout(size, draw):\n"
        "    return 'a' * size, 'A' * size\n"
    )
    config = TrainingConfig.from_recipe("mine/shout", imports=str(path))
    assert config.learned_task().name == "mine/shout"
    assert f"--import={path}" in shlex.split(config.command())


def test_a_run_does_not_go_on_with_other_examples(labelled, tmp_path):
    config = TrainingConfig.from_recipe("recognition", train_file=labelled)
    data = TrainingData.of(config)
    state = data.stream(2, config.window, 0).state()
    assert isinstance(data.stream_from(state), PackedStream)
    other = tmp_path / "other.tsv"
    other.write_text("".join(f"{string}b\t{label}\n" for string, label in ROWS))
    data = TrainingData.of(dataclasses.replace(config, train_file=str(other), max_n=20))
    with pytest.raises(ValueError, match="other examples than those that the run began with"):
        data.stream_from(state)


def scores(accuracy, confidence=0.5):
    return Scores(accuracy, 0.1, confidence, accuracy, 0.1, confidence)


def test_of_restarts_that_do_equally_well_the_smallest_is_the_best():
    large, small, wrong, unsure = (
        Replica(1, best=scores(1.0), bits=900.0),
        Replica(2, best=scores(1.0, 0.4), bits=700.0),
        Replica(3, best=scores(0.995), bits=100.0),
        Replica(4, best=scores(1.0, 0.3), bits=900.0),
    )
    order = sorted([large, small, wrong, unsure], key=Replica.rank, reverse=True)
    assert order == [small, large, unsure, wrong]
    assert Replica(5).rank() < wrong.rank()


def test_the_fewer_and_smaller_weights_are_the_less_they_take():
    weights = [np.array([[0.1, -0.3], [0.0, 0.7]])]
    assert _bits_of(weights) == pytest.approx(1 + 2 + 0 + 3)
    assert _bits_of([weights[0] * 2]) > _bits_of(weights)


def test_what_is_learned_by_heart_is_said_if_all_have():
    known = Replica(1, best=scores(0.5), learned=1.0)
    assert known.knows_by_heart
    assert not dataclasses.replace(known, best=scores(0.97)).knows_by_heart
    assert not dataclasses.replace(known, learned=None).knows_by_heart
    restart = {"soft_accuracy": 0.5, "rounded_accuracy": 0.4, "learned_accuracy": 1.0}
    restarts = [{**restart, "outcome": "learned by heart"}, {"outcome": "alive"}]

    def words(*restarts):
        return closing_words.of_search(tiny_config("run"), evaluation(restarts=[*restarts]))

    said = "Every restart that came to its end, 1 of them, has learned the examples by heart: "
    assert said in words(*restarts)
    assert "100.0% on those that it learned from and 40.0% on those that" in words(*restarts)
    assert "by heart" not in words(*restarts, {**restart, "outcome": "solved"})
    assert "by heart" not in words({"outcome": "solved"})
