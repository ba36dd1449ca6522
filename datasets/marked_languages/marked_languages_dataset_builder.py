"""Strings of Dyck languages, reversals and copies between two marks."""

from collections.abc import Iterator
from typing import ClassVar

from keras_stackrnn import tasks
from keras_stackrnn.datasets import next_symbols
from keras_stackrnn.datasets.sized_tasks import TaskBuilder, config_of

_LANGUAGES = (
    "dyck_1",
    "dyck_2",
    "dyck_2_3",
    "marked_copy",
    "marked_reversal",
    "unmarked_reversal",
)


class Builder(TaskBuilder):
    """Builder of marked_languages."""

    BUILDER_CONFIGS: ClassVar = [config_of(name) for name in _LANGUAGES]
    HOMEPAGE = "https://arxiv.org/abs/2010.04674"

    def features(self, task: tasks.Pattern) -> dict:
        return next_symbols.features(task)

    def examples(self, task: tasks.Pattern, rows: tasks.Rows) -> Iterator[dict]:
        return next_symbols.examples(task, rows)
