"""The demo from beginning to end with tiny settings, stopped halfway, and (slow) as it is."""

import contextlib
import io
import json
import re
import shlex
import signal
import sys
from pathlib import Path

import grpc
import keras
import pytest

if keras.backend.backend() != "tensorflow":
    pytest.skip("the demo trains with XLA on TensorFlow", allow_module_level=True)

from training_case import TINY, events_of

from keras_stackrnn import demo
from keras_stackrnn.training import TrainingConfig

STEPS = ["1. Training.", "2. Serving.", "3. Predicting", "4. Looking", "5. Everything is stopped."]


def tiny_config(folder) -> TrainingConfig:
    values = {**TINY, "memories": 2, "updates": 10, "minutes": 1.0, "output_dir": str(folder)}
    return TrainingConfig.from_recipe("memorize", **values)


def steps_in(printed):
    return [step for step in STEPS if f"\n{step}" in printed]


def address_in(printed):
    return re.search(r"protocol at (127\.0\.0\.1:\d+)\.\n", printed)[1]


def assert_nobody_answers(address):
    with grpc.insecure_channel(address) as channel:
        ready = grpc.channel_ready_future(channel)
        with pytest.raises(grpc.FutureTimeoutError):
            ready.result(timeout=1)
        ready.cancel()


class InterruptedAt(io.StringIO):
    """An output that is interrupted, as by Ctrl-C, when a text is written to it."""

    def __init__(self, text):
        super().__init__()
        self.text = text

    def write(self, text):
        if self.text in text:
            signal.raise_signal(signal.SIGINT)
        return super().write(text)


def interrupted(config, text) -> int:
    """Has the demo interrupted, and returns the program's exit code."""
    with contextlib.redirect_stdout(InterruptedAt(text)), pytest.raises(SystemExit) as caught:
        demo.run(config)
    return caught.value.code


@pytest.fixture(scope="module", autouse=True)
def ctrl_c():
    """Interrupts, also where a shell has started this in the background, deaf to them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def finished(one_block_of_steps, tmp_path_factory):
    """A demo in a folder where one was broken off before: its configuration and what it printed."""
    folder = tmp_path_factory.mktemp("runs") / "demo"
    config, output = tiny_config(folder), io.StringIO()
    assert interrupted(config, text=" alive, ") == 130
    with contextlib.redirect_stdout(output):
        demo.run(config)
    return config, output.getvalue()


def test_every_step_is_done_and_nothing_is_left_running(finished):
    _, printed = finished

    assert steps_in(printed) == STEPS
    assert_nobody_answers(address_in(printed))


def test_its_stacks_are_also_evaluated_rounded_and_far_beyond(finished):
    config, _ = finished
    folder = Path(config.output_dir)

    rounded = json.loads((folder / "evaluation.json").read_text())["rounded"]

    assert rounded.keys() == {
        "per_n",
        "percent_n_correct",
        "mean",
        "sequences",
        "further",
        "beyond",
    }
    assert list(rounded["beyond"]) == ["200", "1000"]
    assert keras.models.load_model(folder / "model.keras").rounding


def test_tensorboard_shows_the_memories_at_each_evaluation(finished):
    config, _ = finished
    events = events_of(Path(config.output_dir))

    pictures = {step: image[2] for tag, step, image in events if tag == "trace"}

    assert list(pictures) == [step for tag, step, _ in events if tag == "soft_accuracy"]
    assert all(picture.startswith(b"\x89PNG") for picture in pictures.values())


def test_it_says_how_much_of_a_long_word_was_right(finished):
    _, printed = finished

    [word, said] = re.search(r"read  ([12]{30})=\n +predicted  ([12=]{30})\n", printed).groups()
    right = [one == other for one, other in zip(said, word[::-1], strict=True)]
    assert f"  {''.join('+' if each else 'x' for each in right)}\n" in printed
    assert f" {sum(right)} of 30 symbols are right.\n" in printed


def test_it_shows_what_the_stacks_did_at_each_symbol(finished):
    _, printed = finished

    [table] = re.findall(
        r"\nmemorize: 11 symbols, rounded actions\n\n(.*?)\n\n", printed, re.DOTALL
    )
    assert [row[0] for row in table.splitlines()[2:]] == list(demo.TRACED)


@pytest.mark.slow
def test_an_interrupted_show_stops_the_server(finished):
    config, _ = finished
    output = InterruptedAt("4. Looking")

    with contextlib.redirect_stdout(output), pytest.raises(KeyboardInterrupt):
        demo.show(config)

    assert steps_in(output.getvalue()) == STEPS[1:3]
    assert_nobody_answers(address_in(output.getvalue()))


def test_an_interruption_is_one_sentence(tmp_path, capsys):
    assert interrupted(tiny_config(tmp_path), text="1. Training") == 130
    assert capsys.readouterr().err == "\nStopped; nothing is left running.\n"


def test_a_folder_in_use_is_one_sentence(tmp_path):
    (tmp_path / "taken").touch()

    with pytest.raises(SystemExit) as caught:
        demo.run(tiny_config(tmp_path / "taken"))

    assert "taken" in caught.value.code
    assert "\n" not in caught.value.code


def test_the_next_commands_know_where_the_run_is(tmp_path, monkeypatch):
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    config = tiny_config(tmp_path / "a run")

    commands = [shlex.split(command, comments=True) for command in demo.next_commands(config)]

    assert {command[0] for command in commands} == {"python", "keras-stackrnn"}
    assert f"--model_base_path={tmp_path}/a run/serving/memorize" in commands[0]
    assert f"--model={tmp_path}/a run" in commands[2]
    monkeypatch.delenv("VIRTUAL_ENV")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    monkeypatch.chdir(tmp_path)
    assert demo.next_commands(config)[0] == "   . .venv/bin/activate"


@pytest.mark.parametrize("is_there", [True, False])
def test_where_there_is_a_browser_it_offers_the_playground(is_there, tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "has_browser", lambda: is_there)
    commands = demo.next_commands(tiny_config(tmp_path))
    assert any("keras_stackrnn.playground --model=" in each for each in commands) == is_there


@pytest.mark.slow
def test_the_demo_succeeds(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    demo.run()

    printed = capsys.readouterr().out
    assert "30 of 30 symbols are right." in printed
    assert "5 of 5 predictable symbols right." in printed
    evaluation = json.loads((tmp_path / "runs/demo/evaluation.json").read_text())
    assert evaluation["rounded"]["percent_n_correct"] == 100
    assert_nobody_answers(address_in(printed))
