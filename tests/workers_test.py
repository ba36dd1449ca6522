"""Several processes that train one language model: the same curve, whoever is lost on the way."""

import contextlib
import csv
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from language_case import tiny_config, write_texts
from training_case import REPOSITORY

from keras_stackrnn.training import RunError, train
from keras_stackrnn.training.run_folder import CHECKPOINTS
from keras_stackrnn.training.workers import place
from keras_stackrnn.training.workers.group import Alone

# All that can differ between lanes: what is dropped, what is noised, and averages besides.
EVERYTHING = {"lanes": 6, "dropout": 0.2, "input_dropout": 0.1, "noising": 0.1, "averaging": 0.9}


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    return write_texts(tmp_path_factory.mktemp("texts"))


@pytest.fixture(scope="module")
def alone(texts, tmp_path_factory):
    """A training in this process."""
    return train(config_in(tmp_path_factory.mktemp("alone"), texts), output=io.StringIO())


def config_in(folder, texts, model="rnn", **values):
    return tiny_config(model, output_dir=str(folder), **texts, **EVERYTHING, **values)


def assert_same_curve(result, expected):
    epochs, expected_epochs = result.evaluation["epochs"], expected.evaluation["epochs"]
    assert len(epochs) == len(expected_epochs)
    for epoch, expected_epoch in zip(epochs, expected_epochs, strict=True):
        assert epoch == pytest.approx(expected_epoch, rel=1e-4)
    weights, expected_weights = result.model.get_weights(), expected.model.get_weights()
    for weight, expected_weight in zip(weights, expected_weights, strict=True):
        np.testing.assert_allclose(weight, expected_weight, rtol=1e-2, atol=1e-4)


@contextlib.contextmanager
def once(there, act):
    """Has another thread act as soon as something is there."""
    is_over = threading.Event()

    def wait():
        while not is_over.is_set():
            found = there()
            if found:
                act(found)
                return
            time.sleep(0.02)

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def worker_of(launcher_id: int, index: int) -> int | None:
    """The process of a worker that a process has started."""
    wanted = place.VARIABLE.encode()
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError, StopIteration):
            folder = f"/proc/{int(name)}"
            status = Path(f"{folder}/stat").read_text().rpartition(")")[2].split()
            if int(status[1]) != launcher_id:
                continue
            variables = Path(f"{folder}/environ").read_bytes().split(b"\0")
            value = next(v for v in variables if v.startswith(wanted + b"="))
            if json.loads(value.partition(b"=")[2])["task"]["index"] == index:
                return int(name)
    return None


def test_two_workers_are_one_though_one_of_them_is_killed(texts, alone, tmp_path):
    config = config_in(tmp_path, texts, workers=2)
    output = io.StringIO()
    third = tmp_path / CHECKPOINTS / "00000003.checkpoint"

    def kill(_):
        os.kill(worker_of(os.getpid(), 1), signal.SIGKILL)

    with once(third.exists, kill):
        result = train(config, output=output)

    assert_same_curve(result, alone)
    assert "Worker 1 was lost (signal SIGKILL): all 2 go on" in output.getvalue()
    with open(tmp_path / "metrics.csv", newline="") as file:
        updates = [int(row["updates"]) for row in csv.DictReader(file)]
    assert updates == sorted(set(updates))


@pytest.mark.slow
def test_three_workers_are_one_though_the_first_is_killed(texts, tmp_path):
    alone, together = (
        config_in(tmp_path / str(workers), texts, "stack", workers=workers) for workers in (1, 3)
    )
    third = tmp_path / "3" / CHECKPOINTS / "00000003.checkpoint"

    with once(third.exists, lambda _: os.kill(worker_of(os.getpid(), 0), signal.SIGKILL)):
        result = train(together, output=io.StringIO())

    assert_same_curve(result, train(alone, output=io.StringIO()))


def test_a_signal_saves_the_run_and_any_number_of_workers_goes_on(texts, alone, tmp_path):
    config = config_in(tmp_path, texts, workers=2)
    process = subprocess.Popen(
        [sys.executable, *config.command().split()[1:]],
        cwd=REPOSITORY,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    second = tmp_path / CHECKPOINTS / "00000002.checkpoint"
    while not second.exists() and process.poll() is None:
        time.sleep(0.01)
    process.terminate()
    _, errors = process.communicate()

    assert process.returncode == 128 + signal.SIGTERM, errors
    assert errors.strip().endswith(f"go on with: {config.resume_command()}")
    assert worker_of(process.pid, 0) is None
    resumed = train(config_in(tmp_path, texts, workers=1), resume=True, output=io.StringIO())
    assert_same_curve(resumed, alone)


def test_a_text_that_is_not_there_is_a_sentence_before_anything_begins(tmp_path):
    config = config_in(tmp_path / "run", {"train_file": str(tmp_path / "none.txt")}, workers=2)

    with pytest.raises(RunError, match=r"none\.txt"):
        train(config, output=io.StringIO())

    assert not (tmp_path / "run").exists()


def test_workers_that_cannot_share_the_lanes_evenly():
    with pytest.raises(ValueError, match="expected workers that divide 6 lanes, got 4"):
        tiny_config("rnn", lanes=6, workers=4)


def test_lanes_are_shared_out_whole():
    group = Alone()
    group.index, group.count = 1, 3

    assert group.lanes(6) == slice(2, 4)
    with pytest.raises(RunError, match="expected lanes that 3 workers divide, got 7"):
        group.lanes(7)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, place.ALONE),
        (" ", place.ALONE),
        (place.for_worker(1, ["a:1", "b:1", "c:1"]), (1, 3)),
        (
            '{"cluster": {"chief": ["a:1"], "worker": ["b:1"]}, '
            '"task": {"type": "worker", "index": 0}}',
            (1, 2),
        ),
    ],
)
def test_the_place_in_a_cluster(monkeypatch, value, expected):
    monkeypatch.delenv(place.VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(place.VARIABLE, value)

    assert place.of_environment() == expected


@pytest.mark.parametrize(
    "value",
    ["{", "[]", '{"cluster": {"worker": ["a:1"]}, "task": {"type": "ps", "index": 0}}'],
)
def test_a_cluster_that_is_none_is_a_sentence(monkeypatch, value):
    monkeypatch.setenv(place.VARIABLE, value)

    with pytest.raises(RunError, match="TF_CONFIG does not say which worker"):
        place.of_environment()


def test_workers_that_are_lost_again_and_again_are_given_up(monkeypatch, texts, tmp_path):
    """Each ends at once: nothing is saved between two losses."""
    program = tmp_path / "ends"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))

    with pytest.raises(RunError, match=r"lost \(exit code 3\), 3 times without a checkpoint"):
        train(config_in(tmp_path / "run", texts, workers=2), output=io.StringIO())
