"""The command line: every flag, every fault in one sentence, exit codes."""

import os
import re
import shlex
import subprocess
import sys

import pytest
from absl import flags
from training_case import REPOSITORY, tiny_config

from keras_stackrnn import command_line
from keras_stackrnn.models import kinds
from keras_stackrnn.training import TrainingConfig, command, run_folder


def parsed(*arguments):
    values = flags.FlagValues()
    command.define_flags(values)
    return command_line.parse(["train.py", *arguments], values), values


def config_of(*arguments):
    return command.config_from_flags(parsed(*arguments)[1])


def test_without_flags_it_is_the_recipe():
    assert config_of("--task=memorize") == TrainingConfig.from_recipe("memorize")


def test_flags_are_the_values():
    config = config_of(
        *("--task=memorize_3", "--model=list", "--recipe=paper", "--units=50", "--memories=4"),
        *("--no_op", "--norounding", "--restarts=7", "--seed=9", "--max_n=12", "--minutes=1.5"),
        "--output_dir=elsewhere",
    )
    assert config == TrainingConfig.from_recipe(
        "memorize_3",
        "list",
        "paper",
        units=50,
        memories=4,
        no_op=True,
        rounding=False,
        population=7,
        seed=9,
        max_n=12,
        minutes=1.5,
        output_dir="elsewhere",
    )


def test_every_command_parses_to_its_config():
    for config in (
        TrainingConfig.from_recipe("anbn"),
        TrainingConfig.from_recipe("anbn", "lstm", layers=2, seed=3, minutes=4),
        TrainingConfig.from_recipe("binary_addition", no_op=False, clip_value=2.0),
        tiny_config("a folder"),
    ):
        assert config_of(*shlex.split(config.command())[2:]) == config


def test_resuming_takes_the_values_of_the_run(tmp_path):
    config = tiny_config(tmp_path, seed=5)
    run_folder.write_config(tmp_path, config)
    resumed = config_of("--resume", f"--output_dir={tmp_path}", "--minutes=3")
    assert resumed == tiny_config(tmp_path, seed=5, minutes=3.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--task is missing: give the name of one, as in --task=anbn; --help lists them."),
        (["--task=anbm"], "There is no task 'anbm' (did you mean 'anbn'?); there are "),
        (
            ["--task=anbn", "--model=elman"],
            f"model must be one of {', '.join(kinds())}, got 'elman'.",
        ),
        (["--task=anbn", "--recipe=x"], "recipe must be one of fast, paper, got 'x'."),
        (["--task=anbn", "--units=0"], "units must be above 0, got 0."),
        (["--task=anbn", "--units=many"], "flag --units=many: invalid literal for int()"),
        (["--task=anbn", "--unit=3"], "Unknown command line flag 'unit'. Did you mean: units ?"),
        (["--task=anbn", "anbncn"], "Everything is a flag, got 'anbncn'."),
        (["--task=anbn", "--model=lstm", "--rounding"], "model='lstm' has no memory to act on, "),
        (
            ["--task=anbn", "--model=rnn", "--centred"],
            "Networks of one layer with a memory are trained centred, got centred=True",
        ),
        (["--task=anbmcnm", "--max_n=1"], "max_n must be from 2, the smallest n of 'anbmcnm', "),
        (["--task=anbn", "--max_n=20"], "max_n must be from 1, the smallest n of 'anbn', to 19, "),
        (["--task=anbn", "--minutes=-1"], "minutes must be above 0, got -1.0."),
        (["--resume"], "--task is missing: "),
        (["--task=anbn", "--resume", "--overwrite"], "--resume goes on with a run and "),
    ],
)
def test_bad_flags(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as raised:
        command.main(*parsed(*arguments))
    assert raised.value.code.startswith(message)
    assert "\n" not in raised.value.code
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], r"^runs/anbn already holds a run: add --resume to go on with it, "),
        (["--resume", "--units=7"], r"^The run in runs/anbn has units=4 and cannot go on with 7: "),
        (["--resume"], r"^There is no checkpoint in runs/anbn/checkpoints to resume from: "),
        (["--resume", "--output_dir=none"], r"^There is no run in none to resume: "),
    ],
)
def test_bad_folders(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs/anbn").mkdir(parents=True)
    run_folder.write_config(tmp_path / "runs/anbn", tiny_config("runs/anbn"))
    with pytest.raises(SystemExit) as raised:
        command.main(*parsed("--task=anbn", *arguments))
    assert re.match(message, raised.value.code)


def test_a_fault_is_one_sentence_and_not_zero():
    done = subprocess.run(
        [sys.executable, "train.py", "--task=anbn", "--model=lstm", "--rounding"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    *_, sentence = done.stderr.splitlines()
    assert sentence == (
        "model='lstm' has no memory to act on, got rounding=True; stack, for example, has one."
    )


def test_help_lists_the_flags():
    done = subprocess.run(
        [sys.executable, "train.py", "--help"],
        cwd=REPOSITORY,
        env={name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"},
        capture_output=True,
        text=True,
    )
    for flag in ("--task", "--restarts", "--[no]resume", "--[no]overwrite", "--minutes"):
        assert flag in done.stdout
    # And all that there is to choose from, and what the words of its progress mean.
    for name in ("memorize", "stack_manipulation", "penn_treebank", "editor", "paper", "tuned"):
        assert name in done.stdout
    for word in ("alive:", "entropy:"):
        assert word in done.stdout
    # Nor is there anything of what TensorFlow says when it starts.
    assert done.stderr == ""
