"""The data a search may see: short sequences, and none of the test's.

A search is handed a `TrainingData` and nothing else. Its pattern writes no sequence of a length
that is tested for generalisation and none of the test split, so that the test cannot choose
anything, by no mistake.
"""

import dataclasses

from keras_stackrnn import patterns
from keras_stackrnn.evaluation import Row, row_of, stack_rows
from keras_stackrnn.training.streams import Stream


@dataclasses.dataclass(frozen=True)
class ShortPattern(patterns.Pattern):
    """A pattern without its test: it refuses n beyond its `train_sizes` and the split `"test"`."""

    @classmethod
    def of(cls, name: str) -> "ShortPattern":
        pattern = patterns.get(name)
        fields = dataclasses.fields(patterns.Pattern)
        return cls(**{field.name: getattr(pattern, field.name) for field in fields})

    def check_n(self, n: int) -> None:
        super().check_n(n)
        if n >= patterns.FIRST_TEST_N:
            raise ValueError(
                f"n from {patterns.FIRST_TEST_N} up is for tests and cannot be trained or "
                f"validated on, got {n}."
            )

    def sample(self, n: int, split: str, index: int) -> patterns.Sequence:
        if split == "test":
            raise ValueError("The test sequences cannot be trained or validated on.")
        return super().sample(n, split, index)


class ShortStream(Stream):
    """A stream of a `ShortPattern`, also after it was restored."""

    @classmethod
    def from_state(cls, state: dict) -> "ShortStream":
        return super().from_state({**state, "pattern": ShortPattern.of(state["pattern"])})


class TrainingData:
    """Streams to train on and sequences to validate on.

    Args:
        task: Name of a pattern.
        max_n: The largest n of both.
        validation_sequences: Validation sequences for each n.
    """

    def __init__(self, task: str, max_n: int, validation_sequences: int):
        self.pattern = ShortPattern.of(task)
        self.pattern.check_n(max_n)
        self.max_n = max_n
        self._validation_sequences = validation_sequences

    @classmethod
    def of(cls, config) -> "TrainingData":
        """The data of a `TrainingConfig`."""
        return cls(config.task, config.max_n, config.validation_sequences)

    def stream(self, lanes: int, window: int, seed: int) -> Stream:
        """Endless lanes with n from the pattern's smallest to `max_n`."""
        n_range = (self.pattern.smallest_n, self.max_n)
        return ShortStream(self.pattern, lanes, window, seed, n_range)

    def validation(self) -> Row:
        """Distinct sequences of every n, one a row: tokens, targets and which are deterministic."""
        return self._rows(range(self._validation_sequences))

    def exam(self, sequences: int) -> Row:
        """The same of so many further sequences for each n, the largest n last."""
        first = self._validation_sequences
        return self._rows(range(first, first + sequences))

    def _rows(self, indices: range) -> Row:
        distinct = {}
        for n in range(self.pattern.smallest_n, self.max_n + 1):
            for index in indices:
                sequence = self.pattern.sample(n, "validation", index)
                distinct[sequence.text] = sequence
        return stack_rows([row_of(self.pattern, sequence) for sequence in distinct.values()])
