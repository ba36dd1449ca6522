"""The configuration of a training: recipes, checks, JSON and commands."""

import json
import shlex

import pytest
from test_case import raises_only

from keras_stackrnn import patterns
from keras_stackrnn.models import has_memory, kinds
from keras_stackrnn.training import TrainingConfig
from keras_stackrnn.training.recipes import RECIPES


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("model", [kind for kind in kinds() if kind != "srcn"])
def test_there_is_a_recipe_for_every_pattern(model, recipe):
    for task in [*patterns.names(), "memorize_5"]:
        config = TrainingConfig.from_recipe(task, model, recipe)
        assert config.output_dir == f"runs/{task}"
        assert config.rounding == has_memory(model)


def test_addition_learns_from_deterministic_symbols_and_may_leave_its_memory_alone():
    config = TrainingConfig.from_recipe("binary_addition")
    assert config.only_deterministic
    assert config.no_op
    assert not TrainingConfig.from_recipe("anbn").only_deterministic


def test_the_papers_recipe_is_the_papers():
    config = TrainingConfig.from_recipe("anbn", recipe="paper")
    assert (config.optimizer, config.learning_rate, config.window) == ("sgd", 0.1 * 50, 50)
    assert (config.clip_value, config.clip_norm, config.action_noise) == (15.0, None, 0.0)
    assert (config.units, config.memories) == (40, 10)


def test_json_and_back():
    config = TrainingConfig.from_recipe("memorize", "list", seed=7, minutes=2.5)
    assert TrainingConfig.from_json(json.loads(json.dumps(config.to_json()))) == config


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"unit": 3}, "The configuration has an unknown value 'unit'"),
        ({"units": None}, "The configuration lacks 'units'"),
    ],
)
def test_json_of_another_version(change, message):
    values = {**TrainingConfig.from_recipe("anbn").to_json(), **change}
    values = {name: value for name, value in values.items() if name != "units" or value}
    with raises_only(f"{message}: another version of keras_stackrnn wrote it."):
        TrainingConfig.from_json(values)


def test_one_way_of_clipping_takes_the_place_of_the_other():
    config = TrainingConfig.from_recipe("anbn", clip_value=2.0)
    assert (config.clip_norm, config.clip_value) == (None, 2.0)


@pytest.mark.parametrize(
    "values",
    [
        {"task": "anbn"},
        {"task": "memorize", "model": "list", "seed": 4, "population": 3},
        {"task": "anbncn", "recipe": "paper", "model": "lstm", "output_dir": "runs/my run"},
        {"task": "binary_addition", "no_op": False, "clip_value": 3.0, "rounding": False},
    ],
)
def test_the_command_says_what_the_recipe_does_not(values):
    config = TrainingConfig.from_recipe(**values)
    program, script, *flags = shlex.split(config.command())
    assert (program, script) == ("python", "train.py")
    said = dict(flag.removeprefix("--").split("=") for flag in flags)
    expected = {"restarts" if name == "population" else name: v for name, v in values.items()}
    assert said == {name: str(value) for name, value in expected.items()}


def test_the_command_to_go_on():
    usual = TrainingConfig.from_recipe("anbn")
    assert usual.resume_command() == "python train.py --task=anbn --resume"
    elsewhere = TrainingConfig.from_recipe("anbn", output_dir="runs/my run")
    assert elsewhere.resume_command() == "python train.py '--output_dir=runs/my run' --resume"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model": "elman"}, f"model must be one of {', '.join(kinds())}, got 'elman'."),
        ({"recipe": "slow"}, "recipe must be one of fast, paper, got 'slow'."),
        ({"optimizer": "rmsprop"}, "optimizer must be one of adam, sgd, got 'rmsprop'."),
        ({"depth": 3}, "A training has no value 'depth'."),
        ({"units": 0}, "units must be above 0, got 0."),
        ({"units": 2.5}, "units must be a whole number, got 2.5."),
        ({"units": True}, "units must be a whole number, got True."),
        ({"units": None}, "units must be a whole number, got None."),
        ({"rounding": "yes"}, "rounding must be True or False, got 'yes'."),
        ({"minutes": 0}, "minutes must be above 0, got 0."),
        ({"minutes": float("nan")}, "minutes must be above 0, got nan."),
        ({"seed": -1}, "seed must be 0 or more and at most 2147483647, got -1."),
        ({"action_noise": -0.5}, "action_noise must be 0 or more, got -0.5."),
        ({"cooling": 1.5}, "cooling must be above 0 and at most 1, got 1.5."),
        ({"exam_sequences": -1}, "exam_sequences must be 0 or more, got -1."),
        ({"exam_confidence": 2.0}, "exam_confidence must be 0 or more and at most 1, got 2.0."),
        (
            {"max_n": 20},
            "max_n must be from 1, the smallest n of 'anbn', to 19, because longer sequences are "
            "for tests, got 20.",
        ),
        (
            {"task": "anbmcnm", "max_n": 1},
            "max_n must be from 2, the smallest n of 'anbmcnm', to 19, because longer sequences "
            "are for tests, got 1.",
        ),
        (
            {"model": "lstm", "rounding": True},
            "model='lstm' has no memory to act on, got rounding=True; stack, for example, has one.",
        ),
        (
            {"model": "rnn", "memories": 5},
            "model='rnn' has no memory to act on, got memories=5; stack, for example, has one.",
        ),
        (
            {"model": "lstm", "no_op": True},
            "model='lstm' has no memory to act on, got no_op=True; stack, for example, has one.",
        ),
        (
            {"model": "srcn"},
            "model='srcn' learns text alone, got task 'anbn'; rnn, for example, learns it.",
        ),
        (
            {"model": "gru", "use_recurrent_kernel": False},
            "model='gru' has nothing but its hidden units to remember with, got "
            "use_recurrent_kernel=False; stack, for example, can do without.",
        ),
        (
            {"layers": 2, "centred": True},
            "Networks of one layer with a memory are trained centred, got centred=True with "
            "model='stack' and layers=2.",
        ),
        (
            {"task": "dyck_1", "sequences_in_a_row": 5},
            "Each sequence of 'dyck_1' begins with an empty memory: sequences_in_a_row must be 0, "
            "got 5.",
        ),
        ({"memories": 0}, "model='stack' needs memories of 1 or more, got 0."),
        ({"capacity": 1}, "capacity must be at least read_depth, 2, got 1."),
        ({"capacity": None}, "capacity must be at least read_depth, 2, got None."),
        (
            {"clip_norm": 1.0, "clip_value": 1.0},
            "Gradients are clipped either by clip_norm or by clip_value, got 1.0 and 1.0.",
        ),
    ],
)
def test_bad_values(values, message):
    with raises_only(message):
        TrainingConfig.from_recipe(**{"task": "anbn", **values})


def test_an_unknown_task_is_told_the_known_ones():
    with pytest.raises(
        ValueError,
        match=r"^There is no task 'anbm' \(did you mean 'anbn'\?\); there are anb2n, .*\.$",
    ):
        TrainingConfig.from_recipe("anbm")
