"""The data of a search: what it may see, which is nothing of the test.

A search is handed a `TrainingData` and nothing else. Its task refuses the sizes that are tested for
generalisation and the test's own sequences (`Task.for_search`), so that the test cannot choose
anything, by no mistake.
"""

import numpy as np

from keras_stackrnn import tasks
from keras_stackrnn.tasks.rows import Rows, mask, padded, stacked
from keras_stackrnn.training.packed import PackedStream
from keras_stackrnn.training.streams import Stream


class FlowingStream(Stream):
    """A `Stream` as a search asks for it: from the task's smallest size on."""

    def set_largest(self, largest, limit=None) -> None:
        self.set_range(self.pattern.train_sizes[0], largest, limit)

    @classmethod
    def from_state(cls, task: tasks.Task, state: dict) -> "FlowingStream":
        return super().from_state({**state, "pattern": task})


class TrainingData:
    """Streams to train on and sequences to validate on.

    Args:
        task: A task, or its name.
        max_n: The largest size of both.
        validation_sequences: Validation sequences for each size.
    """

    def __init__(self, task: str | tasks.Task, max_n: int, validation_sequences: int):
        self.task = (tasks.get(task) if isinstance(task, str) else task).for_search()
        self.task.check_size(max_n)
        self.max_n = max_n
        self._validation_sequences = validation_sequences

    @classmethod
    def of(cls, config) -> "TrainingData":
        """The data of a `TrainingConfig`."""
        return cls(config.learned_task(), config.max_n, config.validation_sequences)

    def stream(self, lanes: int, window: int, seed: int) -> FlowingStream | PackedStream:
        """Endless lanes with sizes from the task's smallest to `max_n`."""
        if self.task.flows:
            return FlowingStream(self.task, lanes, window, seed, (self._sizes[0], self.max_n))
        return PackedStream(self.task, lanes, window, seed, self.max_n)

    def stream_from(self, state: dict) -> FlowingStream | PackedStream:
        """The stream whose `state()` this is."""
        return (FlowingStream if self.task.flows else PackedStream).from_state(self.task, state)

    def validation(self) -> Rows:
        """Distinct sequences of every size, the largest last."""
        rows = self._rows(range(self._validation_sequences))
        if not len(rows.lengths):
            raise ValueError(
                f"There is nothing of {self.task.name!r} to validate on with sizes up to "
                f"max_n={self.max_n}."
            )
        return rows

    def learned(self, count: int) -> Rows | None:
        """So many sequences that a search may have learned by heart, if there is a finite set of
        them; some come again where there are fewer."""
        rows = self.task.learned(count)
        return rows and rows.take(np.resize(np.arange(len(rows.lengths)), count))

    def exam(self, sequences: int) -> Rows:
        """The same of so many further sequences for each size."""
        first = self._validation_sequences
        return self._rows(range(first, first + sequences))

    def in_a_row(self, sequences: int, streams: int) -> Rows:
        """So many streams of so many sequences, each a row, the memory not being emptied."""
        joined = [
            self.task.in_a_row(self._sizes, sequences, "validation", index)
            for index in range(streams)
        ]
        lengths = np.array([len(each.tokens) - 1 for each in joined])

        def rows(columns):
            return padded(np.concatenate(list(columns)), lengths)

        return Rows(
            rows(each.tokens[:-1] for each in joined),
            rows(each.tokens[1:] for each in joined),
            mask(lengths),
            rows(each.deterministic[1:] for each in joined),
            lengths,
        )

    @property
    def _sizes(self) -> range:
        return range(self.task.train_sizes[0], self.max_n + 1)

    def _rows(self, indices: range) -> Rows:
        parts = [
            self.task.samples("validation", size, len(indices), indices.start).distinct()
            for size in self._sizes
        ]
        return stacked(parts)
