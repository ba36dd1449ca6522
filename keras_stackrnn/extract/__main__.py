"""Prints the program that a trained network has learned, and what of it is proved.

    python -m keras_stackrnn.extract --model=results/anb2n.keras
    python -m keras_stackrnn.extract --model=gallery:anb2n --run=aabbbb
    python -m keras_stackrnn.extract --model=results/anb2n.keras --output=anb2n.py  # runs by itself
    python -m keras_stackrnn.extract --model=results/anb2n.keras --output=anb2n.svg
    python -m keras_stackrnn.extract --model=runs/anbncn --check_n=1000,100000
    python -m keras_stackrnn.extract --model=runs/mine --texts=FILE
    python -m keras_stackrnn.extract --model=runs/memorize --prune=small.keras
    python -m keras_stackrnn.extract --model=small.keras --sharpen=sharp.keras

Where nothing can be proved because a memory decides by a hair, --sharpen writes a network that
decides more clearly, and --prune one with the memories alone that matter; both are networks of
their own, which the certificate then names. Or train one with few memories from the start:
python train.py --task=anbncn --memories=2.
"""

import sys
import time
from pathlib import Path

from absl import flags, logging

from keras_stackrnn import command_line, model_files

FORMATS = {
    ".py": "to_python",
    ".json": "to_json",
    ".dot": "to_graphviz",
    ".svg": "to_svg",
    ".jff": "to_jflap",
    ".txt": "to_text",
}


def define_flags(values: flags.FlagValues = flags.FLAGS) -> None:
    """Adds the command's flags."""
    of = {"flag_values": values}
    string, number = flags.DEFINE_string, flags.DEFINE_integer
    string("model", None, f"Of what: {', '.join(model_files.SOURCES)}.", **of)
    string("task", None, "Pattern whose sequences it is watched on; the model's own.", **of)
    string("texts", None, "A file with a text on each line, in place of a task.", **of)
    number("streams", 1, "Sequences that follow one another in each text.", lower_bound=1, **of)
    flags.DEFINE_boolean("rounding", None, "Take the rounded twin of a soft model.", **of)
    flags.DEFINE_float("width", None, "How far values of one class may be apart.", **of)
    number("max_states", 200, "States of a recurrent model's table.", lower_bound=1, **of)
    string("sharpen", None, "Where to write a network that decides more clearly.", **of)
    string("prune", None, "Where to write a network with fewer memories.", **of)
    string("run", None, "A text that the program is to read.", **of)
    flags.DEFINE_boolean("fine", False, "Print the fine table, too.", **of)
    string("output", None, f"A file to write: {', '.join(FORMATS)}.", **of)
    flags.DEFINE_list("check_n", ["1000"], "The n to compare network and program at.", **of)


def run(values: flags.FlagValues) -> None:
    """Does what the flags say; ValueError and OSError say what is wrong with them."""
    if values.model is None:
        raise ValueError("--model is missing: give a run's folder or a .keras file.")
    suffix = None if values.output is None else Path(values.output).suffix.lower()
    if suffix is not None and suffix not in FORMATS:
        raise ValueError(
            f"Cannot write {values.output!r}: expected a file that ends in {', '.join(FORMATS)}."
        )
    for name in ("sharpen", "prune"):
        if values[name].value is not None and Path(values[name].value).suffix != ".keras":
            raise ValueError(
                f"--{name} writes a model: expected a file that ends in .keras, got "
                f"{values[name].value!r}."
            )
    check_n = _numbers(values.check_n)

    from keras_stackrnn.extract import extract
    from keras_stackrnn.extract.report import Report

    begun = time.monotonic()
    model = _model(values)
    lessons = _lessons(values, model)
    found = extract(model, lessons, values.model, values.width, values.max_states)
    model, found = _changed(values, model, found)
    if values.output is not None:
        Path(values.output).write_text(getattr(found, FORMATS[suffix])(), encoding="utf-8")
        print(f"{values.output}: {found.statement()}")
    elif values.run is not None:
        print(_following(found.machine, values.run))
    else:
        report = Report.of(found, model, check_n)
        print(report.to_text(fine=values.fine, seconds=time.monotonic() - begun), end="")


def _numbers(words: list[str]) -> list[int]:
    for word in words:
        if not word.isdecimal():
            raise ValueError(f"--check_n wants whole numbers with commas between, got {word!r}.")
    return [int(word) for word in words]


def _model(values):
    model = model_files.load(values.model)
    if values.rounding and not getattr(model, "rounding", True) and model.has_memory:
        model = model.twin(rounding=True)
    return model


def _lessons(values, model):
    from keras_stackrnn import patterns
    from keras_stackrnn.extract.lessons import OfTask, OfTexts

    if values.texts is not None:
        if values.task is not None or values.streams != 1:
            raise ValueError(f"--texts={values.texts} goes without --task and --streams.")
        return OfTexts(Path(values.texts), tuple(getattr(model, "vocabulary", ())))
    task = values.task or getattr(model, "task", None)
    if task is None:
        raise ValueError(
            f"{values.model} does not say which task it learned: give --task or --texts."
        )
    return OfTask(patterns.get(task), values.streams)


def _changed(values, model, found):
    """The sharper or smaller network that is asked for, written, and what is read out of it."""
    if values.sharpen is None and values.prune is None:
        return model, found
    from keras_stackrnn.extract.changes import ChangeError
    from keras_stackrnn.extract.lessons import OfTask
    from keras_stackrnn.extract.prune import pruned
    from keras_stackrnn.extract.sharpen import sharpened

    if not isinstance(found.lessons, OfTask):
        raise ValueError(
            "--sharpen and --prune want a task: without, no network is right or wrong."
        )
    for path, change in ((values.prune, pruned), (values.sharpen, sharpened)):
        if path is not None:
            try:
                model, found = change(model, found, path)
            except ChangeError as error:
                print(error)
            else:
                model.save(path)
                print(f"Wrote {path}.")
    return model, found


def _following(machine, text):
    from keras_stackrnn.extract import UnknownRowError
    from keras_stackrnn.extract.wording import UNDETERMINED

    joint = " " if any(len(symbol) > 1 for symbol in machine.vocabulary) else ""
    try:
        return joint.join(symbol or UNDETERMINED for symbol in machine.run(text))
    except UnknownRowError as unknown:
        raise ValueError(str(unknown)) from None


def main(arguments: list[str], values: flags.FlagValues = flags.FLAGS) -> None:
    """Runs the command; a fault ends the program with one sentence."""
    logging.set_verbosity(logging.WARNING)
    try:
        if len(arguments) > 1:
            raise ValueError(f"Everything is a flag, got {arguments[1]!r}.")
        run(values)
    except OSError as error:
        sys.exit(f"{error.filename}: {error.strerror}.")
    except ValueError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    command_line.run(sys.modules[__name__])
