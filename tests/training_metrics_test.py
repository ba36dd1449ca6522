"""The course of a run: `metrics.csv` and TensorBoard's events."""

import csv
import math

from training_case import events_of, status

from keras_stackrnn.training.metrics import Metrics
from keras_stackrnn.training.run_folder import METRICS


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
