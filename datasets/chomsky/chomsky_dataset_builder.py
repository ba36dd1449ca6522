"""Inputs and answers of the Chomsky hierarchy's tasks, 512 for each length."""

import dataclasses
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import tensorflow_datasets.public_api as tfds

from keras_stackrnn import tasks
from keras_stackrnn.datasets.sized_tasks import (
    TaskBuilder,
    TaskConfig,
    configs_of_suite,
    tokens,
)

_SUITE = "chomsky/"


@dataclasses.dataclass(eq=False)
class ChomskyConfig(TaskConfig):
    """Which task, and how much of it: as many sequences of each length as in the test."""

    sequences_per_size: int = 512


class Builder(TaskBuilder):
    """Builder of chomsky; every task of the suite is a config."""

    SUITE = _SUITE
    CONFIG = ChomskyConfig
    HOMEPAGE = "https://arxiv.org/abs/2207.02098"
    BUILDER_CONFIGS: ClassVar = configs_of_suite(_SUITE, ChomskyConfig)

    def features(self, task: tasks.Transduction) -> dict:
        return {
            "input": tfds.features.Text(),
            "answer": tfds.features.Text(),
            "input_tokens": tokens(),
            "answer_tokens": tokens(),
            "counted": tfds.features.Scalar(np.int32),
        }

    def examples(self, task: tasks.Transduction, rows: tasks.Rows) -> Iterator[dict]:
        for read, targets, asked, scored, length in zip(*rows, strict=True):
            answer = targets[asked]
            given = read[: length - len(answer)]
            yield {
                "input": task.inputs.decode(given),
                "answer": task.outputs.decode(answer),
                "input_tokens": given,
                "answer_tokens": answer,
                "counted": scored.sum(),
            }
