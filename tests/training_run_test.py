"""Runs from beginning to end, stopped in every way and resumed."""

import dataclasses
import io
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import keras
import numpy as np
import pytest
from training_case import REPOSITORY, assert_same_arrays, tiny_config

from keras_stackrnn.training import InterruptedRunError, RunError, run_folder, train
from keras_stackrnn.training.checkpoints import Checkpoint, Checkpoints
from keras_stackrnn.training.run_folder import CHECKPOINTS

pytestmark = pytest.mark.usefixtures("one_block_of_steps")


def train_quietly(config, **options):
    return train(config, output=io.StringIO(), **options)


def weights_in(folder):
    return keras.models.load_model(folder / run_folder.MODEL).get_weights()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run that nothing has disturbed, and what it printed."""
    output = io.StringIO()
    result = train(tiny_config(tmp_path_factory.mktemp("finished")), output=output)
    return result, output.getvalue()


class SignalOn(io.StringIO):
    """An output that sends this process a signal, once, when it is shown some words."""

    def __init__(self, words):
        super().__init__()
        self._words = words

    def write(self, text):
        if self._words in text and self._words not in self.getvalue():
            os.kill(os.getpid(), signal.SIGTERM)
        return super().write(text)


def test_leaves_everything_in_its_folder(finished):
    result, _ = finished
    names = {path.name for path in result.output_dir.iterdir()}
    assert names == {
        "config.json",
        "metrics.csv",
        "events",
        "model.keras",
        "serving",
        "evaluation.json",
        "accuracy.png",
        "checkpoints",
    }
    assert_same_arrays(weights_in(result.output_dir), result.model.get_weights())
    assert keras.models.load_model(result.output_dir / "model.keras").vocabulary == ["a", "b"]


def test_evaluation_has_every_figure(finished):
    result, _ = finished
    written = json.loads((result.output_dir / "evaluation.json").read_text())
    assert list(written) == [
        "task",
        "model",
        "seed",
        "wall_seconds",
        "symbols",
        "parameters",
        "score",
        "soft",
        "in_a_row",
        "rounded",
        "restarts",
    ]
    assert list(written["soft"]["per_n"]) == [str(n) for n in range(1, 61)]
    assert written["symbols"] == 20 * 2 * 2 * 10
    assert written["parameters"] == result.model.count_params()
    assert written["rounded"] is None
    assert len(written["restarts"]) == 2


def test_says_how_it_went(finished):
    result, printed = finished
    lines = printed.splitlines()
    assert lines[0].startswith("compiling")
    assert any("symbols/s" in line for line in lines)
    assert any(line.startswith("       n   46   47") for line in lines)
    assert str(result.output_dir) in lines[-2]


def test_a_run_is_not_overwritten(finished):
    result, _ = finished
    before = {path: path.stat().st_mtime_ns for path in result.output_dir.rglob("*")}
    with pytest.raises(
        RunError,
        match=r"already holds a run: add --resume .*, --overwrite .*, or .* --output_dir\.$",
    ):
        train_quietly(result.config)
    assert {path: path.stat().st_mtime_ns for path in result.output_dir.rglob("*")} == before


def test_overwriting_takes_away_the_run_and_nothing_else(tmp_path):
    (tmp_path / "model.keras").write_text("of another run")
    (tmp_path / "notes.txt").write_text("mine")
    result = train_quietly(tiny_config(tmp_path, lifetime=5, population=1), overwrite=True)
    assert_same_arrays(weights_in(tmp_path), result.model.get_weights())
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_signal_that_comes_too_late_is_not_lost(tmp_path):
    signals = []
    before = signal.signal(signal.SIGTERM, lambda number, _: signals.append(number))
    try:
        result = train(
            tiny_config(tmp_path, lifetime=5, population=1), output=SignalOn("Next: python")
        )
    finally:
        signal.signal(signal.SIGTERM, before)
    assert signals == [signal.SIGTERM]
    written = json.loads((tmp_path / run_folder.EVALUATION).read_text())
    assert written["symbols"] == result.evaluation["symbols"]


# `pytest.warns` raises what else it caught anew, without the module that pyproject.toml names.
@pytest.mark.filterwarnings(
    "ignore:__array__ implementation doesn't accept a copy keyword:DeprecationWarning"
)
def test_after_a_signal_a_full_disk_and_a_damaged_checkpoint_it_goes_on_exactly(finished, tmp_path):
    config = tiny_config(tmp_path)
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(InterruptedRunError) as raised:
        train(config, output=SignalOn(" alive, "))
    assert signal.getsignal(signal.SIGTERM) is before
    assert raised.value.signal_number == signal.SIGTERM
    assert str(raised.value) == (
        f"Stopped; everything is saved, go on with: {config.resume_command()}"
    )
    meta = Checkpoints(tmp_path / CHECKPOINTS).load().meta
    assert meta["search"]["updates"] == 5

    os.symlink("/dev/full", tmp_path / "partial-accuracy.png")
    with pytest.raises(
        RunError, match=r"No space left on device; when .* go on with: .* --resume$"
    ):
        train_quietly(config, resume=True)
    assert not os.path.lexists(tmp_path / "partial-accuracy.png")
    (tmp_path / "partial-trace.png").write_text("half of it, by a process that was killed")

    last = max((tmp_path / CHECKPOINTS).iterdir())
    last.write_bytes(last.read_bytes()[:-100])
    with pytest.warns(RuntimeWarning, match="is damaged and is passed over"):
        train_quietly(config, resume=True)
    assert (tmp_path / "accuracy.png").stat().st_size > 0
    assert not list(tmp_path.rglob("partial-*"))
    assert_same_arrays(weights_in(tmp_path), finished[0].model.get_weights())


def test_after_a_budget_was_used_up_and_a_kill_it_goes_on_exactly(finished, tmp_path):
    short = train_quietly(tiny_config(tmp_path, minutes=1e-9))
    assert short.evaluation["symbols"] == 5 * 2 * 2 * 10

    def checkpoint():
        return int(max((tmp_path / CHECKPOINTS).glob("[0-9]*.checkpoint")).stem)

    begun = checkpoint()
    process = subprocess.Popen(
        [sys.executable, *shlex.split(short.config.resume_command())[1:], "--minutes=9"],
        cwd=REPOSITORY,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    while checkpoint() < begun + 2 and process.poll() is None:
        time.sleep(0.001)
    process.kill()
    _, errors = process.communicate()
    assert process.returncode == -signal.SIGKILL, errors.decode()

    train_quietly(tiny_config(tmp_path), resume=True)
    assert_same_arrays(weights_in(tmp_path), finished[0].model.get_weights())
    updates = [line.split(",")[3] for line in (tmp_path / "metrics.csv").read_text().split()]
    assert updates[1:] == ["5", "10", "15", "20"]


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays, meta: (arrays, {}),
        lambda arrays, meta: (arrays, {**meta, "seconds": None}),
        lambda arrays, meta: (arrays, {**meta, "search": {**meta["search"], "stream": {}}}),
        lambda arrays, meta: ({**arrays, "weights/kernel": np.zeros(3)}, meta),
        lambda arrays, meta: ({}, meta),
    ],
    ids=["no meta", "no seconds", "no stream", "another shape", "no arrays"],
)
def test_a_checkpoint_of_something_else_is_a_sentence(change, tmp_path):
    resume_changed("stack", change, tmp_path)


def test_a_run_from_before_baselines_were_trained_side_by_side_is_a_sentence(tmp_path):
    resume_changed("rnn", lambda arrays, meta: (arrays, meta), tmp_path)


def resume_changed(name, change, tmp_path):
    """Raises unless a run with another checkpoint says that it cannot go on."""
    folder = shutil.copytree(Path(__file__).parent / "old_runs" / name, tmp_path / "run")
    config = run_folder.read_config(folder)
    config = dataclasses.replace(config, output_dir=str(folder))
    checkpoints = Checkpoints(folder / CHECKPOINTS)
    checkpoint = checkpoints.load()
    checkpoints.save(Checkpoint(*change(checkpoint.arrays, checkpoint.meta)))
    written = json.loads((folder / "config.json").read_text())
    del written["versions"]
    (folder / "config.json").write_text(json.dumps(written))
    with pytest.raises(RunError, match=r"^The checkpoint in .* is not one of this run \(.*\): "):
        train_quietly(config, resume=True)


def test_another_configuration_cannot_resume(finished):
    result, _ = finished
    with pytest.raises(RunError, match=r"has units=4 and cannot go on with 8: give it the same"):
        train_quietly(tiny_config(result.output_dir, units=8), resume=True)


def test_nothing_to_resume(tmp_path):
    with pytest.raises(RunError, match=r"^There is no run in .* to resume: leave out --resume\.$"):
        train_quietly(tiny_config(tmp_path / "none"), resume=True)
    assert not (tmp_path / "none").exists()


def test_a_full_disk_is_said_in_a_sentence(tmp_path):
    os.symlink("/dev/full", tmp_path / "partial-config.json")
    config = tiny_config(tmp_path)
    with pytest.raises(RunError, match=r"^Cannot write .*config\.json: No space left on device$"):
        train_quietly(config)
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_the_folder(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(RunError, match=r"^Cannot write .*file: File exists$"):
        train_quietly(tiny_config(tmp_path / "file"))
    assert (tmp_path / "file").read_text() == "mine"
