"""Tests a model on its task: what it gets right, by the size of what it reads.

    python -m keras_stackrnn.evaluate --model=gallery:anb2n
    python -m keras_stackrnn.evaluate --model=runs/memorize --n=1-60,200,1000 --rounding
    python -m keras_stackrnn.evaluate --model=runs/memorize --split=validation --n=1-19
    python -m keras_stackrnn.evaluate --model=model.keras --task=anbn --output=evaluation.json
    python -m keras_stackrnn.evaluate --model=runs/recognition --test_file=more.tsv

Soft means that the model mixes its actions, rounded that it takes the most probable one alone. A
model that was trained is evaluated already: evaluation.json in its folder.
"""

import json
import re
import sys
from pathlib import Path

from absl import flags, logging

from keras_stackrnn import command_line, model_files
from keras_stackrnn.training import own_tasks
from keras_stackrnn.training.files import RunError


def define_flags(values: flags.FlagValues = flags.FLAGS) -> None:
    """Adds the command's flags."""
    of = {"flag_values": values}
    string = flags.DEFINE_string
    string("model", None, f"What to test: {', '.join(model_files.SOURCES)}.", **of)
    string("task", None, "The task; the one that the model learned if not given.", **of)
    flags.DEFINE_list(
        "n", [], "Sizes, as in 1-60,200; those of the test, or of a long one some.", **of
    )
    flags.DEFINE_integer(
        "sequences", None, "Sequences of each size; as many as the test has.", lower_bound=1, **of
    )
    flags.DEFINE_boolean("rounding", None, "Rounded alone, or soft alone; both.", **of)
    flags.DEFINE_enum("split", "test", ["train", "validation", "test"], "Which ones.", **of)
    string("output", None, "A file for the scores, as JSON.", **of)
    own_tasks.define_flags(values)


def run(values: flags.FlagValues) -> dict:
    """Does what the flags say; ValueError and OSError say what is wrong with them."""
    if values.model is None:
        raise ValueError("--model is missing: --help shows examples.")
    given = sizes_of(values.n)

    from keras_stackrnn.evaluation import evaluate
    from keras_stackrnn.training.search_task import scores, tested_sizes

    model = model_files.load(values.model)
    name = values.task or getattr(model, "task", None)
    if name is None:
        raise ValueError(f"{values.model} does not say which task it learned: give --task.")
    task = own_tasks.find(name, _own(values, name))
    sizes, sequences = given or tested_sizes(task), values.sequences or task.test_sequences
    found = {"task": task.name, "split": values.split, "score": task.scores[0]}
    for way in _ways(model, values.rounding):
        accuracy = evaluate(model, task, sizes, sequences, way == "rounded", values.split)
        found[way] = scores(accuracy, sequences)
    return found


def _own(values: flags.FlagValues, task: str) -> dict:
    """What the task is if it is one's own: as the run was told, but for what is given here."""
    from keras_stackrnn.training import run_folder

    folder, told = Path(values.model), {}
    if (folder / run_folder.CONFIG).is_file():
        config = run_folder.read_config(folder).to_json()
        if config["task"] == task:
            told = {name: config.get(name) for name in own_tasks.VALUES}
    return told | own_tasks.given(values)


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


def to_text(found: dict) -> str:
    """The shares as a table, and their sum."""
    from keras_stackrnn.training import closing_words

    ways = {way: found[way] for way in ("soft", "rounded") if way in found}
    return "\n".join(closing_words.of_scores(found["score"], ways))


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
    except (RunError, ValueError) as error:
        sys.exit(str(error))
    print(to_text(found))


if __name__ == "__main__":
    command_line.run(sys.modules[__name__])
