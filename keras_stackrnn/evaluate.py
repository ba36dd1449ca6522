"""Tests a model on its task: the share of sequences that are right, by their size.

    python -m keras_stackrnn.evaluate --model=gallery:anb2n
    python -m keras_stackrnn.evaluate --model=runs/memorize --n=1-60,200,1000 --rounding
    python -m keras_stackrnn.evaluate --model=runs/memorize --split=validation --n=1-19
    python -m keras_stackrnn.evaluate --model=model.keras --task=anbn --output=evaluation.json

Soft means that the model mixes its actions, rounded that it takes the most probable one alone. A
model that was trained is evaluated already: evaluation.json in its folder.
"""

import json
import math
import re
import sys
from pathlib import Path

from absl import flags, logging

from keras_stackrnn import command_line, model_files

_SIZES_A_LINE = 15
# A test of more sizes than this is read at some of them, unless --n says at which.
_MOST_SIZES = 60


def define_flags(values: flags.FlagValues = flags.FLAGS) -> None:
    """Adds the command's flags."""
    of = {"flag_values": values}
    string = flags.DEFINE_string
    string("model", None, f"What to test: {', '.join(model_files.SOURCES)}.", **of)
    string("task", None, "The task; the one that the model learned if not given.", **of)
    flags.DEFINE_list("n", [], "Sizes, as in 1-60,200; those of the task's test.", **of)
    flags.DEFINE_integer(
        "sequences", 200, "Sequences of each size.", lower_bound=1, flag_values=values
    )
    flags.DEFINE_boolean("rounding", None, "Rounded alone, or soft alone; both.", **of)
    flags.DEFINE_enum("split", "test", ["train", "validation", "test"], "Which ones.", **of)
    string("output", None, "A file for the shares, as JSON.", **of)


def run(values: flags.FlagValues) -> dict[str, dict[int, float]]:
    """Does what the flags say; ValueError and OSError say what is wrong with them."""
    if values.model is None:
        raise ValueError("--model is missing: --help shows examples.")
    given = sizes_of(values.n)

    from keras_stackrnn import evaluation, tasks

    model = model_files.load(values.model)
    name = values.task or getattr(model, "task", None)
    if name is None:
        raise ValueError(f"{values.model} does not say which task it learned: give --task.")
    task = tasks.get(name)
    sizes = given or spread(list(task.test_sizes))
    found = {}
    for way in _ways(model, values.rounding):
        accuracy = evaluation.evaluate(
            model, task, sizes, values.sequences, way == "rounded", values.split
        )
        found[way] = {n: float(share) for n, share in accuracy.per_n.items()}
    return found


def sizes_of(words: list[str]) -> list[int]:
    """The sizes that are meant by ["1-3", "10"]: 1, 2, 3 and 10."""
    sizes: list[int] = []
    for word in words:
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", word.strip())
        if match is None:
            raise ValueError(f"--n wants sizes with commas between, as in 1-60,200, got {word!r}.")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise ValueError(f"--n wants ranges from small to large, got {word!r}.")
        sizes += range(first, last + 1)
    return sizes


def spread(sizes: list[int]) -> list[int]:
    """The sizes, or some of them from the first to the last if they are many."""
    if len(sizes) <= _MOST_SIZES:
        return sizes
    step = (len(sizes) - 1) / (_MOST_SIZES - 1)
    return [sizes[round(place * step)] for place in range(_MOST_SIZES)]


def to_text(found: dict[str, dict[int, float]]) -> str:
    """The shares as a table, and in a sentence each."""
    lines = ["Right, in percent:"]
    sizes = list(next(iter(found.values())))
    for start in range(0, len(sizes), _SIZES_A_LINE):
        some = sizes[start : start + _SIZES_A_LINE]
        lines.append(f"{'n':>8}" + "".join(f"{n:>5}" for n in some))
        for way, shares in found.items():
            # Rounded down, so that 100 always means all of them.
            lines.append(f"{way:>8}" + "".join(f"{math.floor(100 * shares[n]):>5}" for n in some))
    for way, shares in found.items():
        all_right = sum(share == 1 for share in shares.values())
        lines.append(f"{way}: everything right at {all_right} of {len(shares)} n")
    return "\n".join(lines)


def _ways(model, rounding: bool | None) -> list[str]:
    if not model.has_memory:
        return ["soft"]
    return {None: ["soft", "rounded"], True: ["rounded"], False: ["soft"]}[rounding]


def main(arguments: list[str], values: flags.FlagValues = flags.FLAGS) -> None:
    """Runs the command; a fault ends the program with one sentence."""
    logging.set_verbosity(logging.WARNING)
    try:
        if len(arguments) > 1:
            raise ValueError(f"Everything is a flag, got {arguments[1]!r}.")
        found = run(values)
        if values.output is not None:
            Path(values.output).write_text(f"{json.dumps(found, indent=2)}\n", encoding="utf-8")
    except OSError as error:
        sys.exit(f"Cannot write {error.filename}: {error.strerror}.")
    except ValueError as error:
        sys.exit(str(error))
    print(to_text(found))


if __name__ == "__main__":
    command_line.run(sys.modules[__name__])
