"""The data of a search: what it may see, which is nothing of the test.

A search is handed a `TrainingData` and nothing else. Its task refuses the sizes that are tested for
generalisation and the test's own sequences (`Task.for_search`), so that the test cannot choose
anything, by no mistake.
"""

from keras_stackrnn import tasks
from keras_stackrnn.tasks.rows import Rows, stacked
from keras_stackrnn.training.streams import Stream


class ShortStream(Stream):
    """A stream of a task without its test, also after it was restored."""

    @classmethod
    def from_state(cls, state: dict) -> "ShortStream":
        return super().from_state({**state, "pattern": tasks.get(state["pattern"]).for_search()})


class TrainingData:
    """Streams to train on and sequences to validate on.

    Args:
        task: Name of a task.
        max_n: The largest size of both.
        validation_sequences: Validation sequences for each size.
    """

    def __init__(self, task: str, max_n: int, validation_sequences: int):
        self.task = tasks.get(task).for_search()
        self.task.check_size(max_n)
        self.max_n = max_n
        self._validation_sequences = validation_sequences

    @classmethod
    def of(cls, config) -> "TrainingData":
        """The data of a `TrainingConfig`."""
        return cls(config.task, config.max_n, config.validation_sequences)

    def stream(self, lanes: int, window: int, seed: int) -> Stream:
        """Endless lanes with sizes from the task's smallest to `max_n`."""
        return ShortStream(self.task, lanes, window, seed, (self._sizes[0], self.max_n))

    def validation(self) -> Rows:
        """Distinct sequences of every size, the largest last."""
        return self._rows(range(self._validation_sequences))

    def exam(self, sequences: int) -> Rows:
        """The same of so many further sequences for each size."""
        first = self._validation_sequences
        return self._rows(range(first, first + sequences))

    @property
    def _sizes(self) -> range:
        return range(self.task.train_sizes[0], self.max_n + 1)

    def _rows(self, indices: range) -> Rows:
        parts = [
            self.task.samples("validation", size, len(indices), indices.start).distinct()
            for size in self._sizes
        ]
        return stacked(parts)
