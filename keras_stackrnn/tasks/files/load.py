"""From files to a task: which forms there are, and where the rows of each part come from."""

import functools
import os
from collections.abc import Sequence
from typing import NamedTuple

from keras_stackrnn.tasks import registry
from keras_stackrnn.tasks.files.labels import labelled_task
from keras_stackrnn.tasks.files.pairs import pairs_task
from keras_stackrnn.tasks.files.parts import parts_of
from keras_stackrnn.tasks.files.strings import strings_task
from keras_stackrnn.tasks.files.tables import Column, Row, read_rows
from keras_stackrnn.tasks.task import Task

LEVELS = ("char", "token")

_STRING = Column("string", ("string", "text", "sequence", "input"))
_INPUT = Column("input", ("input", "source", "string", "text"))
_OUTPUT = Column("output", ("output", "answer", "target"))
_LABEL = Column("label", ("label", "class"), is_name=True)

# Of each task that files make: what a row has, and how rows become a task.
_OF_FORM = {
    "strings": ((_STRING,), strings_task),
    "transduction": ((_INPUT, _OUTPUT), pairs_task),
    "recognition": ((_STRING, _LABEL), labelled_task),
}
FORMS = tuple(_OF_FORM)
registry.add_forms_of_files(*FORMS)


class Source(NamedTuple):
    """Where the rows of a task are.

    Attributes:
        train_file: Rows to learn from.
        validation_file: Rows to validate on; `None`: some of those to learn from are held out.
        test_file: Rows to test, the same.
        level: `"char"`: a symbol is a character; `"token"`: a word, with spaces between them.
        columns: Which columns of the files are meant, by header or number; `None`: those with the
            usual names, or the first ones.
    """

    train_file: str
    validation_file: str | None = None
    test_file: str | None = None
    level: str = "char"
    columns: tuple[str, ...] | None = None


def load(form: str, source: Source) -> Task:
    """The task of a form that files make; ValueError says what is wrong with them.

    Files are read again when they have changed.
    """
    paths = (source.train_file, source.validation_file, source.test_file)
    return _load(form, source, tuple(path and _stamp_of(path) for path in paths))


def _stamp_of(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None  # What is wrong is said when it is read.
    return status.st_mtime_ns, status.st_size


@functools.lru_cache(maxsize=8)
def _load(form: str, source: Source, stamps: tuple) -> Task:
    columns, task_of = _OF_FORM[form]
    if source.level not in LEVELS:
        raise ValueError(f"level must be one of {', '.join(LEVELS)}, got {source.level!r}.")

    def read(path: str) -> list[Row]:
        return read_rows(path, columns, source.columns)

    parts = parts_of(read, source.train_file, source.validation_file, source.test_file)
    return task_of(form, parts, _SPLIT[source.level])


def _split_characters(text: str) -> Sequence[str]:
    return tuple(text)


def _split_tokens(text: str) -> Sequence[str]:
    return tuple(text.split())


_SPLIT = {"char": _split_characters, "token": _split_tokens}
