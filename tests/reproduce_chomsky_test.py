"""The table of the Chomsky hierarchy: run by run, each once, and written as data and as text."""

import importlib.util
import json

import pytest
from training_case import REPOSITORY

from keras_stackrnn import tasks


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location(
        "reproduce_chomsky", REPOSITORY / "reproduce/chomsky.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def finish(script, runs, task, seed, soft, rounded):
    """Leaves what a run would have left."""
    config = script.config_of(task, seed, runs)
    folder = runs / f"{task}-{seed}"
    folder.mkdir(parents=True)
    evaluation = {
        "model": config.model,
        "wall_seconds": 90.0,
        "symbols": 1000,
        "soft": {"mean": soft, "percent_n_correct": 20.0, "sequences": 64},
        "rounded": {"mean": rounded, "percent_n_correct": 50.0, "sequences": 512},
        "restarts": [{"outcome": "solved"}, {"outcome": "hopeless"}, {"outcome": "alive"}],
    }
    (folder / "evaluation.json").write_text(json.dumps(evaluation))
    (folder / "config.json").write_text(json.dumps({"config": config.to_json()}))


def test_every_task_of_the_suite_has_a_published_score(script):
    suite = {name.removeprefix("chomsky/") for name in tasks.names() if name.startswith("chomsky/")}
    assert set(script.TASKS) == suite == set(script.PUBLISHED)
    assert len(script.TASKS) == len(suite)


def test_results_are_the_finished_runs(script, tmp_path):
    runs, results = tmp_path / "runs", tmp_path / "results"
    finish(script, runs, "parity_check", 1, soft=99.96, rounded=100.0)
    finish(script, runs, "parity_check", 3, soft=60.0, rounded=61.25)
    finish(script, runs, "odds_first", 1, soft=50.0, rounded=51.0)
    script.write_results(runs, results)
    # What is there already stays until it is measured again.
    script.write_results(tmp_path / "none", results)

    rows = json.loads((results / "chomsky.json").read_text())
    assert [(row["task"], row["seed"]) for row in rows] == [
        ("parity_check", 1),
        ("odds_first", 1),
        ("parity_check", 3),
    ]
    assert rows[0]["rounded"] == {"mean": 100.0, "percent_n_correct": 50.0, "sequences": 512}
    assert rows[0]["command"] == "python train.py --task=chomsky/parity_check"
    *_, parity, odds, _, missing = (results / "chomsky.md").read_text().splitlines()
    assert missing.startswith("Not measured yet: reverse_string, stack_manipulation, even_pairs, ")
    assert " | 99.9 | 100.0 | 50.0 | 100 | 60.0 | 61.2 | 1.5 | 2 of 4 | " in parity
    assert " | 50.0 | 51.0 | 50.0 | 51.9 | - | - | 1.5 | 1 of 2 | " in odds
    assert "--minutes=2.0" in odds


def test_the_first_seed_comes_first_and_tasks_without_a_recipe_have_no_other(script):
    assert script.planned(["parity_check", "odds_first"], [1, 2]) == [
        ("parity_check", 1),
        ("odds_first", 1),
        ("parity_check", 2),
    ]
