"""The table of Penn Treebank: measured row by row, once, and written in three forms."""

import importlib.util
import json

import pytest
from training_case import REPOSITORY

ROW = {
    "model": "lstm",
    "validation_perplexity": 120.04,
    "test_perplexity": 114.96,
    "parameters": 2_090_400,
    "epochs": 3,
    "minutes": 12.5,
    "seed": 1,
    "command": "python train.py --task=penn_treebank --model=lstm --manual_dir=DIR",
    "curve": [200.0, 150.0, 120.04],
}


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location(
        "reproduce_penn_treebank", REPOSITORY / "reproduce/penn_treebank.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def finish(runs, name, **values):
    (runs / name).mkdir(parents=True)
    (runs / name / "figures.json").write_text(json.dumps({**ROW, "model": name, **values}))


def test_results_are_the_finished_rows_in_order(script, tmp_path):
    runs, results = tmp_path / "runs", tmp_path / "results"
    finish(runs, "lstm")
    finish(runs, "5-gram", seed=None, curve=[], test_perplexity=141.06)
    script.write_results(runs, results)
    rows = json.loads((results / "penn_treebank.json").read_text())
    assert [row["model"] for row in rows] == ["5-gram", "lstm"]
    assert rows[1] == ROW
    lines = (results / "penn_treebank.md").read_text().splitlines()
    assert lines[-1].startswith("| lstm | 120.0 | 115.0 | 2,090,400 | 3 | 12.5 | 1 | `python ")
    assert " | - | " in lines[-2]
    assert (results / "penn_treebank.png").stat().st_size > 0


def test_a_row_stays_until_it_is_measured_again(script, tmp_path):
    for runs, names in (("one", ("rnn", "lstm")), ("other", ("lstm", "stack"))):
        for name in names:
            finish(tmp_path / runs, name, command=runs)
        script.write_results(tmp_path / runs, tmp_path)
    rows = json.loads((tmp_path / "penn_treebank.json").read_text())
    assert [(row["model"], row["command"]) for row in rows] == [
        ("rnn", "one"),
        ("lstm", "other"),
        ("stack", "other"),
    ]


def test_a_finished_row_is_not_measured_again(script, tmp_path):
    finish(tmp_path, "stack")
    script.measure_row("stack", "no such folder", tmp_path)
    with pytest.raises(ValueError, match=r"^manual_dir must be a folder with the three files"):
        script.measure_row("5-gram", "no such folder", tmp_path)


def test_commands_say_nothing_of_this_machine(script, tmp_path, monkeypatch):
    class Finished:
        evaluation = {  # noqa: RUF012
            **ROW,
            "wall_seconds": 60.0,
            "epochs": [{"validation_perplexity": 2.0}],
        }

    monkeypatch.setattr(script, "train", lambda config, resume: Finished)
    row = script.measure_network("stack tuned", "/somewhere", tmp_path / "stack")
    assert row["command"] == (
        "python train.py --task=penn_treebank --recipe=tuned --manual_dir=DIR --minutes=85.0"
    )
    assert (row["curve"], row["epochs"], row["minutes"]) == ([2.0], 1, 1.0)
