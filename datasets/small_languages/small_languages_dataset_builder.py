"""Few strings to learn a language from, and thousands to test it on."""

import dataclasses
import itertools
from collections.abc import Iterator
from typing import ClassVar

from keras_stackrnn import tasks
from keras_stackrnn.datasets import next_symbols
from keras_stackrnn.datasets.sized_tasks import TaskBuilder, TaskConfig, configs_of_suite

_SUITE = "small/"


@dataclasses.dataclass(eq=False)
class SmallConfig(TaskConfig):
    """Which set of strings.

    Attributes:
        longest_test_string: Longer strings, marks included, are left out of the test split; `None`
            for none, which takes gigabytes where a string of the benchmark has 60,000 symbols.
    """

    longest_test_string: int | None = 1000

    def sizes(self, split: str) -> range:
        sizes = super().sizes(split)
        if split == "test" and self.longest_test_string is not None:
            fits = itertools.takewhile(
                lambda size: self.rule.longest(size) <= self.longest_test_string, sizes
            )
            sizes = range(sizes[0], sizes[0] + len(list(fits)))
        return sizes

    def split_of_size(self, size: int, split: str = "test") -> str:
        raise ValueError(f"Sizes of {self.name!r} are of different numbers: filter by `size`.")


class Builder(TaskBuilder):
    """Builder of small_languages; every set of strings is a config."""

    SUITE = _SUITE
    BUILDER_CONFIGS: ClassVar = configs_of_suite(_SUITE, SmallConfig)
    CONFIG = SmallConfig
    HOMEPAGE = "https://arxiv.org/abs/2308.08253"

    def _split_generators(self, dl_manager):
        return {"train": self._training_examples(), "test": self._generate_examples("test")}

    def _training_examples(self):
        """The whole set, in the order in which it was drawn."""
        task = self.builder_config.rule
        rows = task.rows_of_texts(task.strings)
        for index, (text, example) in enumerate(
            zip(task.strings, self.examples(task, rows), strict=True)
        ):
            yield index, {**example, "size": task.language.size(text)}

    def features(self, task: tasks.Pattern) -> dict:
        return next_symbols.features(task)

    def examples(self, task: tasks.Pattern, rows: tasks.Rows) -> Iterator[dict]:
        return next_symbols.examples(task, rows)
