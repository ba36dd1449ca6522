"""The command `keras-stackrnn`, also `python -m keras_stackrnn`: one name for all there is."""

import difflib
import importlib
import sys
from typing import NamedTuple

from keras_stackrnn import command_line
from keras_stackrnn.startup import PROGRAM


class Command(NamedTuple):
    """A command: where it is, and what it is for."""

    module: str
    purpose: str


# A new command is a line here. Its module is imported when it is asked for, and says the rest.
COMMANDS = {
    "demo": Command("keras_stackrnn.demo", "learn, serve, ask and look, in a minute"),
    "train": Command("keras_stackrnn.training.command", "learn a task"),
    "sweep": Command(
        "keras_stackrnn.training.sweep.__main__", "learn tasks with many models and seeds"
    ),
    "evaluate": Command("keras_stackrnn.evaluate", "test a model on its task"),
    "trace": Command("keras_stackrnn.trace.__main__", "see what the memory does with a text"),
    "playground": Command("keras_stackrnn.playground.__main__", "open a page to watch it think"),
    "extract": Command("keras_stackrnn.extract.__main__", "print the program it has learned"),
    "export": Command("keras_stackrnn.export.__main__", "write a SavedModel"),
    "serve": Command("keras_stackrnn.serving.server", "serve SavedModels"),
    "ask": Command("keras_stackrnn.serving.client", "ask a server"),
    "datasets": Command("keras_stackrnn.datasets.__main__", "list, show and prepare datasets"),
    "ngram": Command("keras_stackrnn.ngram.__main__", "count n-grams, to compare with"),
}

_EXAMPLES = """\
Examples:
  {0} trace --model=gallery:anb2n --text=aaabbbbbb
  {0} train --task=memorize
  {0} demo

`{0} COMMAND --help` shows a command's flags;
`{0} completion bash` (or zsh, fish) prints a script that completes commands."""


def overview() -> str:
    """What there is to run."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {command.purpose}" for name, command in COMMANDS.items()]
    return "\n".join(
        [
            "Recurrent networks with a memory of their own, for Keras.",
            "",
            f"{PROGRAM} COMMAND [--flag=value …]",
            "",
            *lines,
            "",
            _EXAMPLES.format(PROGRAM),
        ]
    )


def main(arguments: list[str] | None = None) -> None:
    """Runs the command that the command line names."""
    words = sys.argv if arguments is None else arguments
    match words[1:]:
        case [] | ["-h" | "--help" | "--helpfull" | "--helpshort", *_]:
            print(overview())
        case ["--version"]:
            print(PROGRAM, version())
        case ["completion", *shells]:
            print(completion(*shells))
        case [name, *flags] if name in COMMANDS:
            module = importlib.import_module(COMMANDS[name].module)
            called = f"{PROGRAM} {name}"
            command_line.run(module, called, [called, *flags])
        case [name, *_]:
            near = difflib.get_close_matches(name, COMMANDS, n=1)
            meant = (
                f"did you mean {near[0]}?" if near else f"expected one of {', '.join(COMMANDS)}."
            )
            sys.exit(f"There is no command {name!r}: {meant}")


def version() -> str:
    """The version of this package."""
    import keras_stackrnn

    return keras_stackrnn.__version__


def completion(*shells: str) -> str:
    """A script that completes the names of commands in a shell."""
    names = " ".join(COMMANDS)
    scripts = {
        "bash": f"complete -W '{names}' -o default {PROGRAM}",
        "zsh": f'compdef \'_arguments "1: :({names})" "*: :_files"\' {PROGRAM}',
        "fish": f"complete -c {PROGRAM} -n __fish_use_subcommand -f -a '{names}'",
    }
    if len(shells) != 1 or shells[0] not in scripts:
        sys.exit(f"completion wants one of {', '.join(scripts)}, got {' '.join(shells) or 'none'}.")
    return scripts[shells[0]]
