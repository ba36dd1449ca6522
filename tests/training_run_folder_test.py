"""The files of a run: its configuration and its evaluation."""

import dataclasses
import io
import json
import math
import re

import pytest
import tensorflow as tf
from training_case import tiny_config

from keras_stackrnn.training import RunError, run_folder, train
from keras_stackrnn.training.checkpoints import Checkpoint, Checkpoints


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


@pytest.mark.parametrize("content", [b"\xff\xfe", b"[" * 100_000, b'{"config": {"task": []}}'])
def test_a_damaged_config_is_a_sentence(content, tmp_path):
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(RunError, match=r"config\.json is not a configuration that can go on: "):
        run_folder.read_config(tmp_path)


def test_a_config_that_is_no_file(tmp_path):
    (tmp_path / "config.json").mkdir()
    with pytest.raises(RunError, match=r"config\.json is not a configuration .*: it is no file$"):
        run_folder.read_config(tmp_path)


def begun(tmp_path):
    """A run at its beginning."""
    config = tiny_config(tmp_path)
    run_folder.begin(config, tmp_path, overwrite=False)
    return config


def changed(tmp_path, part: str, **values) -> None:
    """Changes values in `config.json`."""
    path = tmp_path / "config.json"
    written = json.loads(path.read_text())
    written[part] |= values
    path.write_text(json.dumps(written))


def test_a_run_at_its_beginning_can_go_on(tmp_path):
    config = begun(tmp_path)
    changed(tmp_path, "config", minutes=3.0)
    run_folder.check_same_run(dataclasses.replace(config, minutes=5.0), tmp_path)


def test_a_start_that_was_killed_before_there_was_a_run_is_no_run(tmp_path):
    config = begun(tmp_path)
    (tmp_path / "config.json").rename(tmp_path / "partial-config.json")
    run_folder.begin(config, tmp_path, overwrite=False)
    assert run_folder.read_config(tmp_path) == config

    (tmp_path / "config.json").unlink()
    (tmp_path / "checkpoints" / "00000000.checkpoint").rename(
        tmp_path / "checkpoints" / "partial-00000000.checkpoint"
    )
    run_folder.begin(config, tmp_path, overwrite=False)


def test_checkpoints_without_their_configuration_are_a_run(tmp_path):
    config = begun(tmp_path)
    (tmp_path / "config.json").unlink()
    meta = {"seconds": 1.0, "search": {"updates": 5}}
    Checkpoints(tmp_path / "checkpoints").save(Checkpoint({}, meta))
    with pytest.raises(RunError, match="already holds a run"):
        run_folder.begin(config, tmp_path, overwrite=False)


def test_a_config_that_its_checkpoints_do_not_belong_to(tmp_path):
    begun(tmp_path)
    changed(tmp_path, "config", units=5)
    with pytest.raises(
        RunError,
        match=r"config\.json has units=5, but its checkpoints were written with units=4: "
        r"put that back, or start the run anew with --overwrite\.$",
    ):
        train(run_folder.read_config(tmp_path), resume=True, output=io.StringIO())


def test_other_versions_than_those_that_began_it(tmp_path):
    config = begun(tmp_path)
    changed(tmp_path, "versions", python="3.0.0", tensorflow="2.0.0")
    with pytest.raises(
        RunError,
        match=r"was begun with tensorflow 2\.0\.0 and cannot go on exactly with "
        + re.escape(tf.__version__)
        + r": install that one, or start the run anew with --overwrite\.$",
    ):
        run_folder.check_same_run(config, tmp_path)


def test_evaluation_is_strict_json(tmp_path):
    run_folder.write_evaluation(tmp_path, {"soft": {1: 0.5}, "restarts": [{"entropy": math.inf}]})
    text = (tmp_path / "evaluation.json").read_text()
    values = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    assert values == {"soft": {"1": 0.5}, "restarts": [{"entropy": None}]}
