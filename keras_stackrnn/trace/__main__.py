"""Shows what the memories of a model do on a text.

    python -m keras_stackrnn.trace --model=runs/anb2n --text=aaaaaabbbbbbbbbbbb
    python -m keras_stackrnn.trace --model=runs/anb2n --text=aabbbb --output=actions.png
    python -m keras_stackrnn.trace --model=runs/anb2n --text=aabbbb --output=trace.html
    python -m keras_stackrnn.trace --model=runs/anb2n --text=aabbbb --force=stack2@3=PUSH
    python -m keras_stackrnn.trace --model=runs/anb2n --text=aabbb --blame
    python -m keras_stackrnn.trace --model=127.0.0.1:8500/anb2n --text=aabbbb --task=anb2n
    python -m keras_stackrnn.trace --model=runs/chomsky/reverse_string --text=0110
    python -m keras_stackrnn.trace --model=runs/mine --text=aab --import=my_tasks.py
    python -m keras_stackrnn.trace --runs=runs/memorize,runs/lstm --figure=accuracy --output=a.svg

Without --output it prints a table; in a pipe COLUMNS=100 bounds its width.
"""

import os
import shutil
import sys
from pathlib import Path

from absl import flags, logging

from keras_stackrnn import command_line
from keras_stackrnn.tasks.imports import HELP as IMPORT_HELP
from keras_stackrnn.tasks.imports import import_tasks
from keras_stackrnn.trace.force import parse as parse_force

OF_TRACES = ("actions", "memory", "probabilities")
OF_RUNS = ("accuracy", "restarts")
FIGURES, TEXTS = ("png", "svg"), ("html", "csv")


def define_flags(values: flags.FlagValues = flags.FLAGS) -> None:
    """Adds the command's flags."""
    string, number = flags.DEFINE_string, flags.DEFINE_integer
    of = {"flag_values": values}
    string(
        "model",
        None,
        "A run's folder, a .keras file, gallery:NAME, a SavedModel's folder, or host:port/model of "
        "a server.",
        **of,
    )
    string("text", None, "What the model is to read.", **of)
    string("output", None, "A .png, .svg, .html or .csv file to write instead of a table.", **of)
    string(
        "figure",
        None,
        f"What a .png or .svg shows: {', '.join(OF_TRACES)} (actions if not given), or of --runs "
        f"{' or '.join(OF_RUNS)}.",
        **of,
    )
    string("memory", None, "The memory that --figure=memory shows, as in stack1.", **of)
    flags.DEFINE_boolean("rounding", None, "Take the most probable action alone, or not.", **of)
    number("depth", None, "Elements of each memory in a .csv; as many as the model reads.", **of)
    string("task", None, "Pattern that tells which symbols can be predicted.", **of)
    string("import", None, IMPORT_HELP, **of)
    string("vocabulary", None, "The symbols, for a model that does not know them, as in ab.", **of)
    flags.DEFINE_multi_string(
        "force", [], "Force an action: stack2=POP, stack2@6=POP or stack2@6-9=POP.", **of
    )
    flags.DEFINE_boolean(
        "blame",
        False,
        "Say of each memory what it does for the prediction after the text: the fewest forced "
        "actions on it that break it.",
        **of,
    )
    flags.DEFINE_list("runs", [], "Folders of runs, for --figure=accuracy or restarts.", **of)


def run(values: flags.FlagValues) -> None:
    """Does what the flags say; ValueError and OSError say what is wrong with them."""
    import_tasks(values["import"].value)
    suffix = _suffix(values.output)
    if values.runs or values.figure in OF_RUNS:
        _draw_runs(values, suffix)
        return
    for name in ("model", "text"):
        if values[name].value is None:
            raise ValueError(f"--{name} is missing: --help shows examples.")
    if values.figure is not None:
        if values.figure not in OF_TRACES:
            expected = ", ".join((*OF_TRACES, *OF_RUNS))
            raise ValueError(f"There is no figure {values.figure!r}: expected one of {expected}.")
        if suffix not in FIGURES:
            raise ValueError(f"--figure wants a .png or .svg as --output, got {values.output!r}.")
    elif values.memory is not None:
        raise ValueError(f"--memory={values.memory} goes with --figure=memory.")

    options = {
        "vocabulary": _vocabulary(values.vocabulary),
        "rounding": values.rounding,
        "depth": values.depth,
        "deterministic": values.task,
    }
    if values.blame:
        _blame(values, options)
        return

    from keras_stackrnn.trace.sources import trace_source

    trace = trace_source(values.model, values.text, force=parse_force(values.force), **options)
    if suffix is None:
        print(trace.to_text(_width(), colors=_wants_colors()), end="")
    elif suffix in FIGURES:
        trace.plot(values.output, values.figure or "actions", values.memory)
    elif suffix == "html":
        trace.to_html(values.output)
    else:
        trace.to_csv(values.output)


def _blame(values: flags.FlagValues, options: dict) -> None:
    if values.output is not None or values.force:
        raise ValueError(
            "--blame prints sentences and forces actions itself: no --output, --force."
        )

    from keras_stackrnn.trace.asking import blame_source

    for each in blame_source(values.model, values.text, **options):
        print(each.sentence)


def _draw_runs(values: flags.FlagValues, suffix: str | None) -> None:
    from keras_stackrnn.trace import figures

    if not values.runs:
        raise ValueError(f"--figure={values.figure} wants --runs, folders with commas between.")
    if values.figure not in OF_RUNS or suffix not in FIGURES:
        raise ValueError(
            f"--runs wants --figure={' or '.join(OF_RUNS)} and a .png or .svg as --output, got "
            f"{values.figure!r} and {values.output!r}."
        )
    draw = figures.accuracy_of_runs if values.figure == "accuracy" else figures.success_of_restarts
    figures.save(draw(values.runs), values.output)


def _suffix(output: str | None) -> str | None:
    if output is None:
        return None
    suffix = Path(output).suffix.removeprefix(".").lower()
    if suffix not in (*FIGURES, *TEXTS):
        raise ValueError(
            f"Cannot write {output!r}: expected a file that ends in .png, .svg, .html or .csv."
        )
    return suffix


def _vocabulary(value: str | None) -> list[str] | None:
    """Symbols of one character each, or words with spaces between them."""
    if value is None:
        return None
    return value.split() if " " in value else list(value)


def _width() -> int | None:
    """The terminal's columns; in a pipe those that the environment says, or any number."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS"):
        return shutil.get_terminal_size().columns
    return None


def _wants_colors() -> bool:
    # See https://no-color.org.
    return (
        sys.stdout.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM", "dumb") != "dumb"
    )


def main(arguments: list[str], values: flags.FlagValues = flags.FLAGS) -> None:
    """Runs the command; a fault ends the program with one sentence."""
    logging.set_verbosity(logging.WARNING)
    try:
        if len(arguments) > 1:
            raise ValueError(f"Everything is a flag, got {arguments[1]!r}.")
        run(values)
    except OSError as error:
        sys.exit(f"Cannot write {error.filename}: {error.strerror}.")
    except ValueError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    command_line.run(sys.modules[__name__])
