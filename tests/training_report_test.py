"""What a run leaves behind, piece by piece."""

import csv
import json
import math

import pytest
import tensorflow as tf
from matplotlib import image
from training_case import events_of, status, tiny_config

from keras_stackrnn.evaluation import Accuracy
from keras_stackrnn.training import RunError, report

PER_N = {n: 1.0 if n < 30 else 0.995 for n in range(1, 61)}


def rows_of(folder):
    with open(folder / report.METRICS, newline="") as file:
        return list(csv.DictReader(file))


def test_config_is_all_that_is_needed_to_run_it_again(tmp_path):
    config = tiny_config(tmp_path, seed=5)
    report.write_config(tmp_path, config)
    assert report.read_config(tmp_path) == config
    written = json.loads((tmp_path / "config.json").read_text())
    assert written["config"]["seed"] == 5
    assert written["versions"]["tensorflow"] == tf.__version__
    assert written["command"] == config.command()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"config": {"task": "anbn"}}'])
def test_a_config_that_is_none(text, tmp_path):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(RunError, match=r"config\.json is not a configuration that can go on: "):
        report.read_config(tmp_path)


def test_metrics_have_a_row_for_every_round(tmp_path):
    metrics = report.Metrics(tmp_path, 0)
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
    metrics = report.Metrics(tmp_path, 0)
    for updates in (5, 10, 15):
        metrics.add(status(updates=updates), 1.0)
    metrics.close()
    with open(tmp_path / report.METRICS, "a") as file:
        file.write("20,1,")
    metrics = report.Metrics(tmp_path, 10)
    metrics.add(status(updates=15), 2.0)
    metrics.close()
    assert [(row["updates"], row["seconds"]) for row in rows_of(tmp_path)] == [
        ("5", "1.0"),
        ("10", "1.0"),
        ("15", "2.0"),
    ]


def test_evaluation_is_strict_json(tmp_path):
    report.write_evaluation(tmp_path, {"soft": {1: 0.5}, "restarts": [{"entropy": math.inf}]})
    text = (tmp_path / "evaluation.json").read_text()
    values = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    assert values == {"soft": {"1": 0.5}, "restarts": [{"entropy": None}]}


def test_the_picture_shows_both_lines_and_the_training_range(tmp_path):
    config = tiny_config(tmp_path, max_n=19)
    report.draw_accuracy(tmp_path, config, Accuracy(PER_N), Accuracy(dict.fromkeys(PER_N, 0.4)))
    pixels = image.imread(tmp_path / "accuracy.png")
    assert pixels.shape == (540, 1050, 4)
    colours = {tuple((255 * pixel).round().astype(int)) for row in pixels for pixel in row[:, :3]}
    vermilion, shade = (213, 94, 0), (230, 230, 230)
    blue_over_white = (102, 170, 209)
    assert {vermilion, shade} <= colours
    assert any(
        max(abs(a - b) for a, b in zip(c, blue_over_white, strict=True)) < 3 for c in colours
    )


def evaluation(**values):
    figures = {"per_n": PER_N, "percent_n_correct": 48.33}
    return {
        "soft": figures,
        "rounded": {**figures, "beyond": {200: 1.0, 1000: 0.5}},
        "restarts": [{"outcome": "solved"}, {"outcome": "hopeless"}],
        "wall_seconds": 83.2,
        "symbols": 1_200_000,
        "parameters": 2160,
        **values,
    }


def test_closing_words(tmp_path):
    config = tiny_config(tmp_path)
    lines = report.closing_words(config, evaluation()).splitlines()
    assert lines[4:7] == [
        "       n   16   17   18   19   20   21   22   23   24   25   26   27   28   29   30",
        "    soft  100  100  100  100  100  100  100  100  100  100  100  100  100  100   99",
        " rounded  100  100  100  100  100  100  100  100  100  100  100  100  100  100   99",
    ]
    assert lines[13:16] == [
        "soft: every sequence right at 48.3% of the n",
        "rounded: every sequence right at 48.3% of the n; n = 200: 100.0%, n = 1000: 50.0%",
        "1 of 2 restarts solved it on validation; 1:23 minutes, 1,200,000 symbols, "
        "2,160 parameters.",
    ]
    assert str(tmp_path) in lines[17]
    assert lines[18] == (
        "Next: python -m keras_stackrnn.serving.server --model_name=anbn "
        f"--model_base_path={tmp_path}/serving/anbn"
    )


def test_closing_words_without_rounding(tmp_path):
    text = report.closing_words(tiny_config(tmp_path), evaluation(rounded=None))
    assert "rounded" not in text
