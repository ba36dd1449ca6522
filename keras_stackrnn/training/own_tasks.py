"""Tasks of one's own in a configuration: what is imported for them, and which files have them."""

from collections.abc import Mapping

from absl import flags

from keras_stackrnn import tasks
from keras_stackrnn.tasks import files
from keras_stackrnn.tasks.imports import HELP as IMPORT_HELP
from keras_stackrnn.tasks.imports import import_tasks

# The values of a configuration that say what a task of one's own is.
HELP = {
    "imports": IMPORT_HELP,
    "train_file": "File of your own to learn from: examples, or a text.",
    "validation_file": "The same to validate on; without, a part of the file to learn from.",
    "test_file": "The same to test on, once, at the end.",
    "level": "What a symbol of a file is: char or token, of a text char or word.",
    "columns": "Columns that are meant, by header or number, as in text,label.",
}
VALUES = tuple(HELP)
# A value whose name as a flag is no name in Python.
FLAGS = {name: "import" if name == "imports" else name for name in VALUES}


def define_flags(values: flags.FlagValues) -> None:
    """Adds a flag for each of the values."""
    for name, flag in FLAGS.items():
        flags.DEFINE_string(flag, None, HELP[name], flag_values=values)


def given(values: flags.FlagValues) -> dict[str, str]:
    """Those of the values that a command line gives."""
    found = {name: values[flag].value for name, flag in FLAGS.items()}
    return {name: value for name, value in found.items() if value is not None}


def find(name: str, values: Mapping[str, str | None]) -> tasks.Task:
    """The task of that name, or the one that files make.

    Args:
        name: The task's name, or a form of files.
        values: `VALUES` by name, as far as they are given.
    """
    import_tasks(values.get("imports"))
    given = {each: values.get(each) for each in files.Source._fields}
    given = {each: value for each, value in given.items() if value is not None}
    if name in files.FORMS:
        if "train_file" not in given:
            raise ValueError(f"train_file is missing: task={name!r} learns from a file of yours.")
        if "columns" in given:
            given["columns"] = tuple(column.strip() for column in given["columns"].split(","))
        return files.load(name, files.Source(**given))
    for each, value in given.items():
        raise ValueError(
            f"task={name!r} has sequences of its own, got {each}={value!r}; "
            f"{', '.join(files.FORMS)} and text read files of yours."
        )
    return tasks.get(name)
