"""What all commands share: how they are called, what they say of themselves, how they fail.

A command is a module with `define_flags(values)`, `main(arguments)` and a docstring that shows
examples. If it has `HELP`, headings with names of flags, `--help` shows these alone, and
`--helpfull` all. If it has `choices()`, that text follows the flags.
"""

import os
import sys
import textwrap
from collections.abc import Callable, Iterable
from types import ModuleType

from absl import app, flags

_WIDTH = 90
_NAMES = 24
# absl adds this to the help of flags that may be given several times.
_MAY_BE_REPEATED = ";\n"
_HELP = ("-h", "-help", "--help", "--helpshort", "--helpfull")


def run(module: ModuleType, called: str | None = None, arguments: list[str] | None = None) -> None:
    """Runs a command to its end, which ends the process.

    Args:
        module: The command.
        called: How it was called, if not as its examples say: "keras-stackrnn trace".
        arguments: The command line, with the program's name first; that of the process if not
            given.
    """
    values = flags.FLAGS
    own = define(module, values)

    def parse_or_help(words: list[str]) -> list[str]:
        options = words[1 : words.index("--")] if "--" in words else words[1:]
        asked = [word for word in options if word in _HELP]
        if asked:
            print(help_of(module, values, own, called, full=asked[0] == "--helpfull"))
            sys.exit(0)
        return parse(words, values)

    try:
        app.run(_without_usage(module.main), argv=arguments, flags_parser=parse_or_help)
    except BrokenPipeError:
        # Whoever reads has seen enough, as `head` has.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def define(module: ModuleType, values: flags.FlagValues) -> list[str]:
    """Adds a command's flags, and returns their names."""
    before = set(values)
    module.define_flags(values)
    return [name for name in values if name not in before]


def parse(arguments: list[str], values: flags.FlagValues = flags.FLAGS) -> list[str]:
    """Reads the command line into the flags; a fault in it ends the program with one sentence."""
    try:
        return values(arguments)
    except flags.Error as error:
        sys.exit(f"{error} (--help lists the flags)")


def help_of(
    module: ModuleType,
    values: flags.FlagValues,
    own: Iterable[str],
    called: str | None = None,
    full: bool = False,
) -> str:
    """What a command says of itself.

    Args:
        module: The command.
        values: Where its flags are defined.
        own: Their names.
        called: How it was called, if not as its examples say.
        full: Whether to show all flags, and not only those that `HELP` names.

    Returns:
        Its docstring and its flags.
    """
    text = textwrap.dedent(module.__doc__ or "").strip().replace("\\\\\n", "\\\n")
    if called is not None:
        text = text.replace(usual_call(module), called)
    headings = dict(getattr(module, "HELP", {}))
    shown = {name for names in headings.values() for name in names}
    others = sorted(set(own) - shown)
    parts = [text]
    if others and (full or not headings):
        headings["Further flags" if headings else "Flags"] = others
        others = []
    for heading, names in headings.items():
        parts.append("\n".join([f"{heading}:", *(_of_flag(values[name]) for name in names)]))
    if hasattr(module, "choices"):
        parts.append(module.choices())
    if others:
        parts.append(f"--helpfull shows {len(others)} more flags.")
    return "\n\n".join(parts)


def usual_call(module: ModuleType) -> str:
    """How a command's examples call it."""
    return getattr(module, "CALLED", f"python -m {module.__name__.removesuffix('.__main__')}")


def _of_flag(flag: flags.Flag) -> str:
    name = f"--[no]{flag.name}" if flag.boolean else f"--{flag.name}"
    text = flag.help.partition(_MAY_BE_REPEATED)[0]
    if flag.default not in (None, "", [], False):
        text += f" ({flag.default})"
    indent = " " * (_NAMES + 4)
    lines = textwrap.fill(
        text, _WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
    # A long name has a line of its own.
    first = f"  {name:<{_NAMES}}  "
    return first + (lines.lstrip() if len(first) == len(indent) else f"\n{lines}")


def _without_usage(main: Callable[[list[str]], object]) -> Callable[[list[str]], object]:
    """A command whose faults in usage are one sentence, and not all there is to say."""

    def run_main(arguments: list[str]) -> object:
        try:
            return main(arguments)
        except app.UsageError as error:
            sys.exit(f"{error} (--help shows examples)")

    return run_main
