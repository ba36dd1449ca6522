"""The course of a run: `metrics.csv` and TensorBoard's events."""

import csv
import math
import warnings

import pytest
from training_case import events_of, status

from keras_stackrnn.training.metrics import Metrics
from keras_stackrnn.training.run_folder import EVENTS, METRICS


def rows_of(folder):
    with open(folder / METRICS, newline="") as file:
        return list(csv.DictReader(file))


def test_metrics_have_a_row_for_every_round(tmp_path):
    metrics = Metrics(tmp_path, status(updates=0))
    metrics.add(status(updates=5), 1.5)
    metrics.add(status(updates=10, rounded_accuracy=math.nan), 2.5)
    metrics.close()
    first, second = rows_of(tmp_path)
    assert (first["updates"], first["seconds"], first["largest_n"]) == ("5", "1.5", "12")
    assert (second["updates"], second["rounded_accuracy"]) == ("10", "nan")
    events = [(tag, step, float(value)) for tag, step, value in events_of(tmp_path)]
    assert ("soft_accuracy", 5, 0.5) in events
    assert ("soft_accuracy", 10, 0.5) in events
    assert ("rounded_accuracy", 5, 1.0) in events
    assert not [event for event in events if event[:2] == ("rounded_accuracy", 10)]


def test_metrics_forget_what_a_killed_run_did_after_its_checkpoint(tmp_path):
    metrics = Metrics(tmp_path, status(updates=0))
    for updates in (5, 10, 15):
        metrics.add(status(updates=updates), 1.0)
    metrics.close()
    with open(tmp_path / METRICS, "a") as file:
        file.write("20,1,")
    metrics = Metrics(tmp_path, status(updates=10))
    metrics.add(status(updates=15), 2.0)
    metrics.close()
    assert [(row["updates"], row["seconds"]) for row in rows_of(tmp_path)] == [
        ("5", "1.0"),
        ("10", "1.0"),
        ("15", "2.0"),
    ]


def written(tmp_path) -> Metrics:
    """Metrics of three rounds, closed."""
    metrics = Metrics(tmp_path, status(updates=0))
    for updates in (5, 10, 15):
        metrics.add(status(updates=updates, rounded_accuracy=math.inf), 1.25)
    metrics.close()
    return metrics


def flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 0x85]) + data[place + 1 :]


@pytest.mark.parametrize("place", [0, 40, 130, 131, 140, 170, 200])
def test_damaged_metrics_are_set_aside_and_written_anew(place, tmp_path):
    path = tmp_path / METRICS
    rows = written(tmp_path).rows
    whole = path.read_bytes()
    damaged = flipped(whole, place)
    path.write_bytes(damaged)

    with pytest.warns(RuntimeWarning, match=r"metrics\.csv is damaged: .* as damaged-metrics\.csv"):
        metrics = Metrics(tmp_path, status(updates=15), rows)
    metrics.close()

    assert path.read_bytes() == whole
    assert (tmp_path / f"damaged-{METRICS}").read_bytes() == damaged


@pytest.mark.parametrize("content", [b"", b"\0\0", b"\xff", None])
def test_metrics_that_are_gone_are_written_anew(content, tmp_path):
    path = tmp_path / METRICS
    rows = written(tmp_path).rows
    whole = path.read_bytes()
    path.unlink()
    if content is not None:
        path.write_bytes(content)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        Metrics(tmp_path, status(updates=15), rows).close()

    assert path.read_bytes() == whole


def test_without_rows_of_a_checkpoint_whole_rows_are_kept(tmp_path):
    """Checkpoints of earlier versions have none."""
    path = tmp_path / METRICS
    written(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1] + b"\xff" + lines[2] + lines[3])

    with pytest.warns(RuntimeWarning, match=r"metrics\.csv is damaged"):
        Metrics(tmp_path, status(updates=15)).close()

    assert path.read_bytes() == lines[0] + lines[1] + lines[3]


def test_events_from_beyond_the_checkpoint_are_purged(tmp_path):
    written(tmp_path)
    metrics = Metrics(tmp_path, status(updates=10))
    metrics.add(status(updates=15), 2.0)
    metrics.close()

    steps = [step for tag, step, _ in events_of(tmp_path) if tag == "updates"]
    assert sorted(steps) == [5, 10, 15]
    seconds = {step: value for tag, step, value in events_of(tmp_path) if tag == "seconds"}
    assert seconds == {5: 1.25, 10: 1.25, 15: 2.0}


def test_events_that_a_kill_has_cut_off_are_read_up_to_there(tmp_path):
    written(tmp_path)
    [path] = (tmp_path / EVENTS).iterdir()
    path.write_bytes(path.read_bytes()[:-9])
    Metrics(tmp_path, status(updates=15)).close()

    steps = [step for tag, step, _ in events_of(tmp_path) if tag == "updates"]
    assert steps == [5, 10, 15]
