"""The files of a run: its configuration and its evaluation."""

import json
import math

import pytest
import tensorflow as tf
from training_case import tiny_config

from keras_stackrnn.training import RunError, run_folder


def test_config_is_all_that_is_needed_to_run_it_again(tmp_path):
    config = tiny_config(tmp_path, seed=5)
    run_folder.write_config(tmp_path, config)
    assert run_folder.read_config(tmp_path) == config
    written = json.loads((tmp_path / "config.json").read_text())
    assert written["config"]["seed"] == 5
    assert written["versions"]["tensorflow"] == tf.__version__
    assert written["command"] == config.command()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"config": {"task": "anbn"}}'])
def test_a_config_that_is_none(text, tmp_path):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(RunError, match=r"config\.json is not a configuration that can go on: "):
        run_folder.read_config(tmp_path)


def test_evaluation_is_strict_json(tmp_path):
    run_folder.write_evaluation(tmp_path, {"soft": {1: 0.5}, "restarts": [{"entropy": math.inf}]})
    text = (tmp_path / "evaluation.json").read_text()
    values = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    assert values == {"soft": {"1": 0.5}, "restarts": [{"entropy": None}]}
