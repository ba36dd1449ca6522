"""What tasks of files have in common: finite sets of examples, and an alphabet found in them."""

import functools
import hashlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from keras_stackrnn.tasks.files.parts import Parts
from keras_stackrnn.tasks.finite import FiniteSet
from keras_stackrnn.tasks.rows import Rows
from keras_stackrnn.tasks.task import Lesson, Task

Split = Callable[[str], Sequence[str]]

SPLITS = ("train", "validation", "test")
# Of a set with strings of many lengths, so many of them are lessons.
_MOST_LESSONS = 20


class Examples:
    """The examples of a part in symbols; a size is how long the first value of one is."""

    def __init__(self, values: list[tuple]):
        self.values = values
        self.by_size = FiniteSet([len(first) for first, *_ in values])

    def of_size(self, size: int) -> list[tuple]:
        """The examples of a size."""
        return [self.values[number] for number in self.by_size.of_size(size)]


class FileTask(Task):
    """A task whose examples are all there is; a form's own class comes after it.

    That class has `rows_of_texts`, which makes rows of examples.

    Attributes:
        examples: Those of each split.
    """

    examples: Mapping[str, Examples]

    @functools.cached_property
    def fingerprint(self) -> str:
        values = [self.examples[split].values for split in SPLITS]
        return hashlib.sha256(repr(values).encode()).hexdigest()

    @property
    def test_sequences(self) -> int:
        """As many as there are of any size."""
        return int(np.unique(self.examples["test"].by_size.sizes, return_counts=True)[1].max())

    def as_read(self, size: int) -> str:
        sizes = np.unique(self.examples["validation"].by_size.sizes)
        there = sizes[min(np.searchsorted(sizes, size), len(sizes) - 1)]
        return super().as_read(int(there))

    def draw_sizes(self, numbers, largest):
        return self.examples["train"].by_size.draw_sizes(numbers, largest)

    def samples(self, split: str, size: int, count: int, first: int = 0) -> Rows:
        self.check_split(split)
        self.check_size(size)
        return self.rows_of_texts(self.examples[split].of_size(size)[first : first + count])

    def lessons(self, first: int, largest: int) -> list[Lesson]:
        """Only lengths that there are; of many, some that are about as far apart as can be."""
        sizes = np.unique(self.examples["train"].by_size.sizes)
        sizes = sizes[(sizes >= first) & (sizes <= largest)].tolist()
        if not sizes:
            return [Lesson(largest)]
        chosen = np.unique(np.linspace(0, len(sizes) - 1, _MOST_LESSONS).astype(int))
        # The last lesson has all that there is, even if the longest are for validation.
        return [Lesson(size) for size in [sizes[i] for i in chosen[:-1]] + [largest]]

    def learned(self, count: int) -> Rows:
        """So many different examples that are learned from, of all lengths."""
        sizes = self.examples["train"].by_size.sizes
        ordered = [
            each for size in np.unique(sizes) for each in self.examples["train"].of_size(size)
        ]
        distinct = list(dict.fromkeys(ordered))
        chosen = np.linspace(0, len(distinct) - 1, min(count, len(distinct))).astype(int)
        return self.rows_of_texts([distinct[number] for number in chosen])


def sizes_of(examples: Mapping[str, Examples]) -> dict[str, range]:
    """The sizes of a task with these examples."""

    def sizes(*splits):
        found = [int(size) for split in splits for size in examples[split].by_size.sizes]
        return range(min(found), max(found) + 1)

    return {"train_sizes": sizes("train", "validation"), "test_sizes": sizes("test")}


def symbols_in(parts: Parts, column: int, split: Split) -> list[str]:
    """The symbols of a column of what is learned from, in the order of Unicode.

    Raises if another part has one that is not among them.
    """
    known = {symbol for row in parts.train for symbol in split(row.values[column])}
    for row in (*parts.validation, *parts.test):
        for symbol in split(row.values[column]):
            if symbol not in known:
                raise row.fault(f"the symbol {symbol!r} is in no row that is learned from.")
    if not known:
        raise ValueError(f"{parts.train[0].file} has no symbols to read: every row of it is empty.")
    return sorted(known)


def free_symbol(taken: Sequence[str]) -> str:
    """A character that is not among the symbols, for the end of strings or answers."""
    return next(
        each for each in map(chr, (*b"#.$|/~@&%", *range(0x2460, 0x2500))) if each not in taken
    )


def require_one_answer(parts: Parts, question: str, answer: str) -> None:
    """Raises if two rows that begin with the same value go on with different ones."""
    first = {}
    for row in (*parts.train, *parts.validation, *parts.test):
        known = first.setdefault(row.values[0], row)
        if known.values[1] != row.values[1]:
            where = f"line {known.line}"
            if known.file != row.file:
                where = f"{known.file}, {where}"
            raise row.fault(
                f"the {question} {row.values[0]!r} has the {answer} {row.values[1]!r} here and "
                f"{known.values[1]!r} in {where}."
            )
