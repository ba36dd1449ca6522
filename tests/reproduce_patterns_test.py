"""The table of the patterns: run by run, each once, and written in three forms."""

import importlib.util
import json
from pathlib import Path

import pytest
from absl import flags
from training_case import REPOSITORY

from keras_stackrnn.training import run_folder


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location(
        "reproduce_patterns", REPOSITORY / "reproduce/patterns.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def finish(script, runs, task, model, seed, soft=100.0, rounded=100.0, solved=3, is_begun=False):
    """Leaves what a run would have left."""
    folder = Path(script.config_of(task, model, seed, runs).output_dir)
    folder.mkdir(parents=True, exist_ok=is_begun)
    shares = {"per_n": {"1": 1.0, "60": 0.5}, "percent_n_correct": soft}
    evaluation = {
        "task": task,
        "model": model.split()[0],
        "wall_seconds": 90.0,
        "soft": shares,
        "rounded": rounded and {**shares, "percent_n_correct": rounded, "beyond": {"200": 1.0}},
        "in_a_row": {"rounded": {"sequences": 200, "right": 199, "first_fault": 7}},
        "restarts": [{"outcome": "solved"}] * solved
        + [{"outcome": "hopeless"}, {"outcome": "alive"}],
    }
    (folder / "evaluation.json").write_text(json.dumps(evaluation))
    if not is_begun:
        (folder / "config.json").write_text(json.dumps({"config": {"task": task, "max_n": 19}}))


def test_results_are_the_finished_runs(script, tmp_path):
    runs, results = tmp_path / "runs", tmp_path / "results"
    finish(script, runs, "anbn", "stack", 1)
    finish(script, runs, "anbn", "stack", 5, rounded=98.3)
    finish(script, runs, "anbn", "stack", 7, soft=90.0)
    finish(script, runs, "anbn", "lstm 2x100", 1, soft=40.0, rounded=None, solved=0)

    script.write_results(runs, results)

    rows = json.loads((results / "patterns.json").read_text())
    assert [(row["model"], row["seed"]) for row in rows] == [
        ("stack", 1),
        ("lstm 2x100", 1),
        ("stack", 5),
        ("stack", 7),
    ]
    assert rows[0] == {
        "task": "anbn",
        "model": "stack",
        "seed": 1,
        "soft": 100.0,
        "rounded": 100.0,
        "rounded_beyond": {"200": 1.0},
        "in_a_row": {"rounded": 199},
        "restarts": 4,
        "restarts_that_solved_it": 0.75,
        "minutes": 1.5,
        "command": "python train.py --task=anbn",
    }
    assert rows[1]["command"] == (
        "python train.py --task=anbn --model=lstm --layers=2 --minutes=3.0"
    )
    lines = (results / "patterns.md").read_text().splitlines()
    assert lines[-2].startswith(
        "| anbn | stack | 100.0 | 100.0 | 100% | 199 | 1.5 | 1 of 2 | 1 of 2 | 9 of 12 |"
    )
    assert lines[-1].startswith("| anbn | lstm 2x100 | 40.0 | - | - | 199 | 1.5 | - | - | 0 of 1 |")
    for picture in ("anbn_accuracy.png", "stack_restarts.png"):
        assert (results / picture).stat().st_size > 0


def test_rows_stay_until_they_are_measured_again(script, tmp_path):
    results = tmp_path / "results"
    for runs, measured in (("there", [("anbn", 1, 90.0), ("anb2n", 1, 80.0)]), ("here", [])):
        for task, seed, soft in [*measured, ("anbn", 2, 70.0)]:
            finish(script, tmp_path / runs, task, "stack", seed, soft=soft)
        script.write_results(tmp_path / runs, results)
    pictures = {path.name: path.stat().st_mtime_ns for path in results.glob("*.png")}
    finish(script, tmp_path / "here", "anbn", "stack", 1, soft=100.0)
    script.write_results(tmp_path / "here", results)

    rows = json.loads((results / "patterns.json").read_text())
    assert [(row["task"], row["soft"]) for row in rows] == [
        ("anbn", 100.0),
        ("anb2n", 80.0),
        ("anbn", 70.0),
    ]
    drawn = {path.name for path in results.glob("*.png")} - {
        name for name, time in pictures.items() if (results / name).stat().st_mtime_ns == time
    }
    assert drawn == {"anbn_accuracy.png"}


def test_the_first_seed_comes_first_and_baselines_have_no_other(script):
    assert script.planned(["anbn", "anb2n"], ["stack", "rnn 40"], [1, 2]) == [
        ("anbn", "stack", 1),
        ("anb2n", "stack", 1),
        ("anbn", "rnn 40", 1),
        ("anb2n", "rnn 40", 1),
        ("anbn", "stack", 2),
        ("anb2n", "stack", 2),
    ]


def test_what_is_finished_is_written_and_not_repeated(script, tmp_path):
    runs, results = tmp_path / "runs", tmp_path / "results"
    config = script.config_of("anbn", "rnn 40", 1, runs)
    run_folder.write_config(make(config.output_dir), config)
    finish(script, runs, "anbn", "rnn 40", 1, rounded=None, is_begun=True)
    values = flags.FlagValues()
    script.define_flags(values)
    where = [f"--runs={runs}", f"--results={results}"]
    values(["patterns", "--tasks=anbn", "--models=rnn 40", "--seeds=1", *where])

    script.main(["patterns"], values)

    assert len(json.loads((results / "patterns.json").read_text())) == 1


def make(folder):
    Path(folder).mkdir(parents=True)
    return Path(folder)
