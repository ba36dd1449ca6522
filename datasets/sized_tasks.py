"""What builders of tasks share: a task is a config, and a split holds its sizes in rising order."""

import abc
import dataclasses
import functools
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import tensorflow_datasets.public_api as tfds

from keras_stackrnn import tasks

_SPLITS = ("train", "validation", "test")


@dataclasses.dataclass(eq=False)
class TaskConfig(tfds.core.BuilderConfig):
    """Which task, and how much of it.

    Attributes:
        task: Name of the task; by default the config's own name in the builder's suite.
        sequences_per_size: Number of sequences for each size in the train and validation splits.
        test_sequences_per_size: The same in the test split; by default as many as the task says.
        largest_training_size: Largest size of the train and validation splits; by default the
            task's.
        largest_test_size: Largest size of the test split; by default the task's.
    """

    task: str = ""
    sequences_per_size: int = 200
    test_sequences_per_size: int | None = None
    largest_training_size: int | None = None
    largest_test_size: int | None = None

    @property
    def rule(self) -> tasks.Task:
        return tasks.get(self.task)

    def sizes(self, split: str) -> range:
        """Every size of a split, in the order of the stored sequences."""
        is_test = split == "test"
        sizes = self.rule.test_sizes if is_test else self.rule.train_sizes
        largest = self.largest_test_size if is_test else self.largest_training_size
        return range(sizes[0], (sizes[-1] if largest is None else largest) + 1)

    def per_size(self, split: str) -> int:
        """How many sequences of each size there are in a split."""
        if split != "test":
            return self.sequences_per_size
        return self.test_sequences_per_size or self.rule.test_sequences

    def split_of_size(self, size: int, split: str = "test") -> str:
        """The slice of a split that holds the sequences of one size."""
        sizes = self.sizes(split)
        if size not in sizes:
            raise ValueError(
                f"Split {split!r} of {self.name!r} has sizes from {sizes[0]} to {sizes[-1]}, "
                f"got {size}."
            )
        start = sizes.index(size) * self.per_size(split)
        return f"{split}[{start}:{start + self.per_size(split)}]"


class TaskBuilder(tfds.core.GeneratorBasedBuilder, skip_registration=True):
    """Base of the builders whose configs are tasks of a suite."""

    VERSION = tfds.core.Version(tasks.VERSION)
    RELEASE_NOTES: ClassVar = {"1.0.0": "Initial release."}
    # What the names of the suite's tasks begin with; the rest is the config's name.
    SUITE: ClassVar[str] = ""
    CONFIG: ClassVar[type[TaskConfig]] = TaskConfig
    HOMEPAGE: ClassVar[str] = ""

    def __init__(self, *, config: str | TaskConfig | None = None, **kwargs):
        if isinstance(config, str):
            tasks.get(self.SUITE + config.partition(":")[0])  # says which tasks there are
        super().__init__(config=config, **kwargs)

    @classmethod
    def get_builder_config(cls, name, version=None):
        found = super().get_builder_config(name, version)
        if found is None and _is_task(cls.SUITE + name):
            found = config_of(cls.SUITE + name, cls.SUITE, cls.CONFIG)
        return found

    def _info(self) -> tfds.core.DatasetInfo:
        task = self.builder_config.rule
        return self.dataset_info_from_configs(
            features=tfds.features.FeaturesDict(
                {**self.features(task), "size": tfds.features.Scalar(np.int32)}
            ),
            homepage=self.HOMEPAGE,
            disable_shuffling=True,
            metadata=tfds.core.MetadataDict(inputs=list(task.inputs), outputs=list(task.outputs)),
        )

    def _split_generators(self, dl_manager: tfds.download.DownloadManager):
        return {split: self._generate_examples(split) for split in _SPLITS}

    def _generate_examples(self, split: str):
        config = self.builder_config
        for size in config.sizes(split):
            for index, example in enumerate(self.of_size(split, size, config.per_size(split))):
                yield f"{size}_{index}", {**example, "size": size}

    def of_size(self, split: str, size: int, count: int) -> Iterator[dict]:
        """The first examples of a size."""
        task = self.builder_config.rule
        return self.examples(task, task.samples(split, size, count))

    @abc.abstractmethod
    def features(self, task: tasks.Task) -> dict:
        """The features of an example beside its size."""

    @abc.abstractmethod
    def examples(self, task: tasks.Task, rows: tasks.Rows) -> Iterator[dict]:
        """Each row as an example."""


def tokens() -> tfds.features.Tensor:
    """Token ids of any number."""
    return tfds.features.Tensor(shape=(None,), dtype=np.int32)


def configs_of_suite(suite: str, kind: type[TaskConfig] = TaskConfig) -> list[TaskConfig]:
    """The configs of all tasks whose names begin with the suite's."""
    return [config_of(name, suite, kind) for name in tasks.names() if name.startswith(suite)]


@functools.cache
def config_of(name: str, suite: str = "", kind: type[TaskConfig] = TaskConfig) -> TaskConfig:
    """The config of a task: always the same object, by which TFDS knows it."""
    task = tasks.get(name)
    return kind(
        name=name.removeprefix(suite),
        task=name,
        description=f"For example `{task.example}`; the size is the {task.size_means}.",
    )


def _is_task(name: str) -> bool:
    try:
        tasks.get(name)
    except ValueError:
        return False
    return True
