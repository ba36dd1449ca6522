"""From nothing to predictions over gRPC: `python -m keras_stackrnn.demo`, a minute on two cores.

Trains as `python train.py --task=memorize` does, serves the model it exported, asks it over the
wire to say a word backwards, and shows what its stacks did. Everything stays in `runs/demo`, which
the next demo replaces; nothing is left running.
"""

import os
import shlex
import shutil
import sys
import webbrowser
from pathlib import Path

from absl import flags, logging

from keras_stackrnn import command_line, patterns, startup
from keras_stackrnn.serving import config as serving_config
from keras_stackrnn.serving.client import Client
from keras_stackrnn.serving.server import ModelServer, ServerOptions
from keras_stackrnn.trace.exported import trace_server
from keras_stackrnn.training import InterruptedRunError, RunError, TrainingConfig, train
from keras_stackrnn.training.closing_words import next_command
from keras_stackrnn.training.run_folder import SERVING

TASK = patterns.get("memorize")
TRAINING = TrainingConfig.from_recipe(TASK.name, output_dir="runs/demo", minutes=3.0)
LONG_N = 30
TRACED = "11212=21211"


def teach(config: TrainingConfig) -> None:
    """Trains as `config` says; a run that is in its folder is replaced."""
    _say(
        "1. Training. A Stack RNN reads words of 1s and 2s, a = after each, and then has to say",
        f"   the word backwards. Words have up to {config.max_n} symbols, short ones come first;",
        f"   {config.population} random starts run at once, {config.minutes:g} minutes at most.",
    )
    train(config, overwrite=True)


def show(config: TrainingConfig) -> None:
    """Serves what was learned, asks it, and shows what its memory did."""
    models = Path(config.output_dir) / SERVING / TASK.name
    options = ServerOptions(serving_config.single_model(TASK.name, models), port=0)
    with ModelServer(options) as server:
        address = f"127.0.0.1:{server.port}"
        _say(
            f"2. Serving. The embedded server has loaded {models}",
            f"   and speaks TensorFlow Serving's protocol at {address}.",
        )
        _say(
            f"3. Predicting over gRPC. A word of {LONG_N} symbols, longer than any in training;",
            "   each answer is one call, and the next call reads it:",
        )
        print(answers(address, TASK.sample(LONG_N, "test", 0).text.partition("=")[0]), flush=True)
        _say("4. Looking inside, over gRPC as well. What each stack did at each symbol:")
        trace = trace_server(address, TASK.name, TRACED, deterministic=TASK.name)
        _say(trace.to_text(shutil.get_terminal_size().columns).rstrip())
    _say("5. Everything is stopped. To go on:", *next_commands(config))


def answers(address: str, word: str) -> str:
    """A word, what a served model says after it, and how much of that is right."""
    with Client(address, TASK.name) as client:
        said = say_backwards(client, word)
    right = [one == other for one, other in zip(said, reversed(word), strict=True)]
    lines = {
        "read": f"{word}=",
        "predicted": said,
        "": "".join("+" if each else "x" for each in right),
    }
    table = [f"   {name:>9}  {line}" for name, line in lines.items()]
    return "\n".join([*table, f"   {sum(right)} of {len(word)} symbols are right."])


def say_backwards(client: Client, word: str) -> str:
    """What a model says after `word=`: as many symbols, each the most probable one."""
    session = client.session()
    unread, said = TASK.encode(f"{word}=").tolist(), []
    for _ in word:
        [probabilities] = session.step([unread])["probabilities"]
        unread = [int(probabilities.argmax())]
        said += unread
    return TASK.decode(said)


def next_commands(config: TrainingConfig) -> list[str]:
    """What to try with a run, in a shell, and why."""
    page = Path(config.output_dir) / "trace.html"
    trace = ["python", "-m", "keras_stackrnn.trace", f"--model={config.output_dir}"]
    commands = {
        f"{next_command(config)} &": "",
        f"python -m keras_stackrnn.serving.client --model={TASK.name} --watch": "type 2111=",
        shlex.join([*trace, "--text=2111=1112", f"--output={page}"]): "a page to step through",
        f"{startup.training_call()} --task=anbncn": "another task",
        startup.PROGRAM: "all there is to run",
    }
    if has_browser():
        playground = ["python", "-m", "keras_stackrnn.playground", f"--model={config.output_dir}"]
        commands[shlex.join(playground)] = "watch it think"
    # Under make the environment is one that the shell has not heard of.
    if sys.prefix != os.environ.get("VIRTUAL_ENV", sys.base_prefix):
        commands = {f". {shlex.quote(os.path.relpath(sys.prefix))}/bin/activate": "", **commands}
    return [f"   {command}" + f"  # {why}" * bool(why) for command, why in commands.items()]


def has_browser() -> bool:
    """Whether there is a browser to open a page in."""
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def _say(*lines: str) -> None:
    print("", *lines, sep="\n", flush=True)


def run(config: TrainingConfig = TRAINING) -> None:
    """Runs the demo; a fault or a signal ends the program with one sentence."""
    try:
        teach(config)
        show(config)
    except InterruptedRunError as interruption:
        print(interruption, file=sys.stderr)
        sys.exit(128 + interruption.signal_number)
    except RunError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        print("\nStopped; nothing is left running.", file=sys.stderr)
        sys.exit(130)


def define_flags(values: flags.FlagValues = flags.FLAGS) -> None:
    """There are none: the demo is for those who have not read anything yet."""


def main(arguments: list[str]) -> None:
    if len(arguments) > 1:
        sys.exit(f"The demo takes no arguments, got {arguments[1]!r}.")
    logging.set_verbosity(logging.WARNING)
    run()


if __name__ == "__main__":
    command_line.run(sys.modules[__name__])
