"""Strings that are in a language, and strings that are not."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import tensorflow_datasets.public_api as tfds

from keras_stackrnn import tasks
from keras_stackrnn.datasets.sized_tasks import TaskBuilder, configs_of_suite, tokens

_SUITE = "recognition/"


class Builder(TaskBuilder):
    """Builder of recognition_languages; every task of the suite is a config."""

    SUITE = _SUITE
    BUILDER_CONFIGS: ClassVar = configs_of_suite(_SUITE)
    HOMEPAGE = "https://arxiv.org/abs/2411.07107"

    def features(self, task: tasks.Recognition) -> dict:
        return {
            "text": tfds.features.Text(),
            "tokens": tokens(),
            "label": tfds.features.ClassLabel(names=list(task.labels)),
        }

    def examples(self, task: tasks.Recognition, rows: tasks.Rows) -> Iterator[dict]:
        ends = rows.lengths - 1
        labels = rows.targets[np.arange(len(ends)), ends]
        for read, end, label in zip(rows.tokens, ends, labels, strict=True):
            string = read[:end]
            yield {"text": task.inputs.decode(string), "tokens": string, "label": int(label)}
