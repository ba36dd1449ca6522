"""What a network is watched on: a task's sequences, or texts of one's own."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from keras_stackrnn import patterns
from keras_stackrnn.extract.machine import split

# How many batches of fresh sequences may go by until one brings nothing new.
_MOST_BATCHES = 40


class Lesson(NamedTuple):
    """Token ids, and the one that is right after each: -1 where nothing is scored."""

    tokens: list[int]
    targets: list[int]
    # How many symbols belong to the sequences themselves; one more may be scored after them.
    ends: list[int]


@dataclasses.dataclass(frozen=True)
class OfTask:
    """Sequences of a pattern, from the split that training draws from, longer and longer.

    Attributes:
        pattern: The pattern.
        streams: How many sequences follow one another before memories are empty again.
        sequences: How many a batch has for each n.
    """

    pattern: patterns.Pattern
    streams: int = 1
    sequences: int = 10

    @property
    def start(self) -> str:
        if self.streams == 1:
            return "an empty memory"
        return f"an empty memory, in streams of {self.streams} sequences"

    def batches(self) -> Iterator[list[Lesson]]:
        """Endlessly many batches, each with all n that may be learned from."""
        for batch in range(_MOST_BATCHES):
            lessons = {}
            for n in self.pattern.train_sizes:
                for index in range(self.sequences * batch, self.sequences * (batch + 1)):
                    lesson = self.lesson(n, index)
                    lessons[tuple(lesson.tokens)] = lesson
            yield list(lessons.values())

    def fresh(self) -> list[Lesson]:
        """Lessons of the same sizes that are in no batch, the short ones first."""
        return [self.lesson(n, i, "validation") for n in self.pattern.train_sizes for i in range(8)]

    def lesson(self, n: int, index: int, split: str = "train") -> Lesson:
        """One text that begins with a sequence for n; those that follow it have any other n."""
        sizes = self.pattern.train_sizes
        ns = [
            n,
            *(sizes[(n * 7 + index * 5 + i * 11) % len(sizes)] for i in range(1, self.streams)),
        ]
        return lesson_of(
            self.pattern, [self.pattern.sample(each, split, index + i) for i, each in enumerate(ns)]
        )


@dataclasses.dataclass(frozen=True)
class OfTexts:
    """Lines of a file; nothing in them is scored."""

    path: Path
    vocabulary: tuple[str, ...]

    start = "an empty memory"

    def batches(self) -> Iterator[list[Lesson]]:
        tokens = {symbol: token for token, symbol in enumerate(self.vocabulary)}
        lessons = []
        for number, line in enumerate(self.path.read_text(encoding="utf-8").splitlines(), 1):
            symbols = split(line, self.vocabulary)
            unknown = [symbol for symbol in symbols if symbol not in tokens]
            if unknown:
                raise ValueError(
                    f"Unknown symbol in line {number} of {self.path}: expected some of "
                    f"{' '.join(self.vocabulary)}, got {unknown[0]!r}."
                )
            if symbols:
                ids = [tokens[symbol] for symbol in symbols]
                lessons.append(Lesson(ids, [-1] * len(ids), [len(ids)]))
        if not lessons:
            raise ValueError(f"There are no texts in {self.path}: expected one on each line.")
        yield lessons

    def fresh(self) -> list[Lesson]:
        """The lines themselves: there are no others."""
        return next(iter(self.batches()))


def lesson_of(pattern: patterns.Pattern, sequences: list) -> Lesson:
    """Sequences one after another, and what is scored in them, as in an evaluation."""
    # The first symbol after the last of them may score it.
    joined = pattern.join([*sequences, sequences[0]])
    ends = np.cumsum([len(sequence.tokens) for sequence in sequences])
    length = int(ends[-1])
    targets = np.where(joined.deterministic, joined.tokens, -1)[1 : length + 1]
    return Lesson(joined.tokens[:length].tolist(), targets.tolist(), ends.tolist())
