"""Strings of files, as a task of next symbols: each stands between two marks."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from keras_stackrnn.tasks.files.examples import (
    SPLITS,
    Examples,
    FileTask,
    Split,
    free_symbol,
    sizes_of,
    symbols_in,
)
from keras_stackrnn.tasks.files.parts import Parts
from keras_stackrnn.tasks.pattern import Pattern
from keras_stackrnn.tasks.rows import Rows, end_to_end, mask, padded
from keras_stackrnn.tasks.symbols import Symbols
from keras_stackrnn.tasks.task import Lesson


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class FileStrings(FileTask):
    """Strings of files, of whose language nothing else is known.

    A model reads the mark, then the string, and says at each place what comes next, at last the
    mark again. Which symbols may come nobody knows, so that what counts is how probable a symbol
    of strings is that were not learned from.
    """

    form = Pattern.form
    flows = False
    scores = ("probability", "symbols")
    size_means = "symbols of the string"

    name: str
    inputs: Symbols
    mark: str
    train_sizes: range
    test_sizes: range
    examples: Mapping[str, Examples]
    division: str
    example: str

    @property
    def outputs(self) -> Symbols:
        return self.inputs

    @property
    def alphabet(self) -> tuple[str, ...]:
        return self.inputs.names

    def places(self, size: int) -> int:
        return size + 1

    def lessons(self, first: int, largest: int) -> list[Lesson]:
        """All lengths at once: nobody can say when a lesson would be mastered."""
        return [Lesson(largest)]

    def rows(self, sizes, keys, limits=None) -> Rows:
        self.check_sizes(sizes)
        learned = self.examples["train"]
        chosen = learned.by_size.choose(np.asarray(sizes), keys)
        return self.rows_of_texts([learned.values[number] for number in chosen.tolist()])

    def rows_of_texts(self, examples: Sequence[tuple]) -> Rows:
        strings = [self.inputs.encode((self.mark, *string, self.mark)) for (string,) in examples]
        lengths = np.array([len(each) - 1 for each in strings], np.int64)
        tokens = padded(end_to_end([each[:-1] for each in strings]), lengths)
        targets = padded(end_to_end([each[1:] for each in strings]), lengths)
        asked = mask(lengths)
        return Rows(tokens, targets, asked, asked.copy(), lengths)

    def validated(self, right, entropy):
        """The geometric mean of the probabilities."""
        return np.exp(-entropy)

    def lines(self, rows: Rows) -> list[str]:
        return [
            self.inputs.decode([tokens[0], *targets[:length]])
            for tokens, targets, length in zip(rows.tokens, rows.targets, rows.lengths, strict=True)
        ]


def strings_task(name: str, parts: Parts, split: Split) -> FileStrings:
    """The task of learning a language from the strings of files."""
    symbols = symbols_in(parts, 0, split)
    mark = free_symbol(symbols)
    examples = {
        each: Examples([(tuple(split(row.values[0])),) for row in getattr(parts, each)])
        for each in SPLITS
    }
    inputs = Symbols([*symbols, mark], f"Task {name!r}")
    (string,) = examples["train"].values[0]
    return FileStrings(
        name=name,
        inputs=inputs,
        mark=mark,
        examples=examples,
        division=parts.words,
        example=inputs.separator.join((mark, *string, mark)),
        **sizes_of(examples),
    )
