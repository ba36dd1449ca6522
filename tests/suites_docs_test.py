"""Tests that the page on suites says what there is, and that its examples run as they stand."""

import re
from pathlib import Path

import numpy as np
import tensorflow_datasets as tfds

from keras_stackrnn import tasks

PAGE = (Path(__file__).parent.parent / "docs/suites.md").read_text(encoding="utf-8")


def table_of(heading):
    """The cells of the first table under a heading, row by row."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.*) \|$", section, re.MULTILINE)[2:]
    return [row.split(" | ") for row in rows]


def test_the_examples_run_as_they_stand(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tfds.core.constants, "DATA_DIR", str(tmp_path))
    names = {}
    for example in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(example, names)
    printed = re.search(r"print\(.*\)  # (.*)\n", PAGE)[1]
    assert capsys.readouterr().out.startswith(f"{printed}\n")
    assert len(names["rows"].tokens) == 512
    assert len(names["strings"]) == 100


def test_the_table_of_the_chomsky_hierarchy_is_the_tasks_own():
    rows = table_of("chomsky")
    names = {name for name in tasks.names() if name.startswith("chomsky/")}
    assert {f"chomsky/{row[0].strip('`')}" for row in rows} == names
    places = {"1": lambda n: 1, "n": int, "n + 1": lambda n: n + 1, "2n": lambda n: 2 * n}
    places["⌈n/2⌉"] = lambda n: -(-n // 2)
    for name, _, symbols, _, _, answer in rows:
        task = tasks.get(f"chomsky/{name.strip('`')}")
        assert "".join(task.inputs) == symbols.strip("`")
        for size in (6, 7):
            asked = task.samples("train", size, 1).asked
            assert np.count_nonzero(asked) == places[answer](size)


def test_every_task_outside_the_patterns_is_on_the_page():
    families = {re.sub("(_[0-9]+)+$", "", name) for name in tasks.names()}
    for name in families - {n for n in tasks.names() if tasks.get(n).flows}:
        suite, _, own = name.rpartition("/")
        assert f"`{own}" in PAGE
        assert not suite or f"\n## {suite}\n" in PAGE


def test_sizes_are_those_of_the_table():
    rows = table_of("The suites")
    assert len(rows) == 6
    expected = {
        "chomsky/bucket_sort": ("1 to 40", "from 41 to 500"),
        "recognition/parity": ("0 to 40", "0 to 500"),
        "dyck_2": ("1 to 40", "20 to 50"),
        "marked_copy": ("1 to 40", "20 to 50"),
        "unmarked_reversal": ("1 to 40", "20 to 50"),
    }
    said = " ".join(map(" ".join, rows))
    for name, (train, test) in expected.items():
        task = tasks.get(name)
        assert f"{task.train_sizes[0]} to {task.train_sizes[-1]}" == train
        assert test.endswith(f"{task.test_sizes[0]} to {task.test_sizes[-1]}")
        assert train in said
        assert test in said
