"""Tests that the examples run as they stand, at tiny sizes."""

from pathlib import Path

import keras
import pytest
from test_case import run_python

if keras.backend.backend() != "tensorflow":
    pytest.skip("the examples train on TensorFlow", allow_module_level=True)

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_a_memory_of_ones_own_is_trained_traced_exported_and_served(tmp_path):
    printed = run_python(
        str(EXAMPLES / "own_memory.py"), f"--output_dir={tmp_path}/run", "--updates=48"
    )

    assert (tmp_path / "run" / "serving" / "anbn" / "1" / "saved_model.pb").exists()
    ours, served = printed.split("anbn: 6 symbols")[1:]
    assert "copying_stack1" in ours
    # The same columns and symbols; of numbers near half a unit the last digit may differ.
    tables = [each.split("\n\n")[1].splitlines() for each in (ours, served)]
    assert [line.split()[:2] for line in tables[0]] == [line.split()[:2] for line in tables[1]]
    assert tables[0][0] == tables[1][0]
    registration = (EXAMPLES / "own_memory.py").read_text().split("COPYING_STACK = ")[1]
    assert len(registration.split("\n\n")[0].splitlines()) <= 15


def test_two_workers_learn_what_one_does():
    rows = [line.split() for line in run_python(str(EXAMPLES / "workers.py")).splitlines()[1:]]

    assert len(rows) == 5
    for _, alone, together in rows:
        assert float(together) == pytest.approx(float(alone), rel=1e-4)
