"""The command `keras-stackrnn`: its overview, its commands, their help, and what reaches stderr."""

import importlib
import os
import subprocess
import sys

import pytest
from absl import flags
from training_case import REPOSITORY, tiny_config

from keras_stackrnn import cli, command_line, startup


def commands():
    return [importlib.import_module(command.module) for command in cli.COMMANDS.values()]


def helped(module, called=None, full=False):
    values = flags.FlagValues()
    own = command_line.define(module, values)
    return command_line.help_of(module, values, own, called, full)


def test_the_overview_names_every_command(capsys):
    cli.main(["keras-stackrnn"])
    printed = capsys.readouterr().out
    for name, command in cli.COMMANDS.items():
        assert f"  {name} " in printed
        assert command.purpose in printed
    assert max(map(len, printed.splitlines())) <= 88


def test_the_overview_loads_nothing():
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "keras_stackrnn"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert done.stdout == cli.overview() + "\n"
    assert "keras_stackrnn.cli" in done.stderr
    assert "numpy" not in done.stderr


@pytest.mark.parametrize("module", commands(), ids=list(cli.COMMANDS))
def test_every_commands_help_is_short_and_has_examples(module):
    called = "keras-stackrnn something"
    printed = helped(module, called)
    assert called in printed
    # A command that lists what there is to choose from may take more lines for that.
    own_lines = printed.split("\nTasks:\n")[0].splitlines()
    assert len(own_lines) <= 60
    names = {name for heading in getattr(module, "HELP", {}).values() for name in heading}
    full = helped(module, called, full=True)
    values = flags.FlagValues()
    own = command_line.define(module, values)
    assert names <= set(own)
    for name in own:
        assert f"--{name} " in full or f"--[no]{name}" in full or f"--{name}\n" in full


def test_a_command_is_called_by_its_name(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["keras-stackrnn", "ngram", "--help"])
    assert ended.value.code == 0
    assert "keras-stackrnn ngram --manual_dir=DIR" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["trane"], "There is no command 'trane': did you mean train?"),
        (["xyz"], "There is no command 'xyz': expected one of demo, train, "),
        (["completion", "tcsh"], "completion wants one of bash, zsh, fish, got tcsh."),
    ],
)
def test_bad_commands(words, message):
    with pytest.raises(SystemExit) as ended:
        cli.main(["keras-stackrnn", *words])
    assert ended.value.code.startswith(message)


def test_a_shell_completes_the_commands():
    script = cli.completion("bash") + "; complete -p keras-stackrnn"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert "demo train" in done.stdout


def test_what_tensorflow_says_when_it_starts_stays_inside(capfd):
    with startup.filtered_stderr():
        os.write(2, b"WARNING: All log messages before absl::InitializeLog() is called are wri")
        os.write(2, b"tten to STDERR\nI0000 00:00:1795066211.489704   12790 port.cc:153] oneDNN\n")
        os.write(2, b"E0000 00:00:1795066211.489704   12790 x.cc:1] something is wrong\n")
        os.write(2, b"2026-01-01 10:00:00.000000: I tensorflow/core/util/port.cc:153] oneDNN\n")
        os.write(2, b"2026-01-01 10:00:00.000000: E tensorflow/x.cc:1] something else\n")
    os.write(2, b"I0000 00:00:1795066211.489704 later\n")
    assert capfd.readouterr().err == (
        "E0000 00:00:1795066211.489704   12790 x.cc:1] something is wrong\n"
        "2026-01-01 10:00:00.000000: E tensorflow/x.cc:1] something else\n"
        "I0000 00:00:1795066211.489704 later\n"
    )


def test_a_missing_driver_is_an_error_where_there_is_a_gpu(monkeypatch):
    line = b"E0000 00:00:1.2 3 cuda_platform.cc:52] failed call to cuInit: INTERNAL\n"
    monkeypatch.setattr(startup.glob, "glob", lambda pattern: [])
    assert startup.is_small_talk(line)
    monkeypatch.setattr(startup.glob, "glob", lambda pattern: ["/dev/nvidia0"])
    assert not startup.is_small_talk(line)


def test_a_fault_while_it_starts_is_shown(capfd):
    def fail():
        with startup.filtered_stderr():
            os.write(2, b"undefined symbol\n")
            raise ImportError

    with pytest.raises(ImportError):
        fail()
    assert capfd.readouterr().err == "undefined symbol\n"


def test_a_program_of_ones_own_is_no_command(monkeypatch):
    for program in ("/home/me/train.py", "/usr/bin/pytest", "", "-c"):
        monkeypatch.setattr(sys, "argv", [program])
        assert not startup.is_command()
    for program in ("/venv/bin/keras-stackrnn", "keras-stackrnn.exe", str(REPOSITORY / "train.py")):
        monkeypatch.setattr(sys, "argv", [program])
        assert startup.is_command()
    monkeypatch.setattr(sys, "argv", ["/venv/bin/keras-stackrnn", "train"])
    assert tiny_config("a").resume_command() == "keras-stackrnn train --output_dir=a --resume"
