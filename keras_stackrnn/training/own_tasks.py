"""Tasks of one's own in a configuration: what is imported for them, and which files have them."""

from collections.abc import Mapping

from keras_stackrnn import tasks
from keras_stackrnn.tasks import files
from keras_stackrnn.tasks.imports import import_tasks

# The values of a configuration that say what a task of one's own is.
VALUES = ("imports", *files.Source._fields)


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
