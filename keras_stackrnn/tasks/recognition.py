"""Recognition: a task that asks of a string, once its end has been read, which label it has."""

import dataclasses
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np

from keras_stackrnn.tasks import registry
from keras_stackrnn.tasks.draws import Draw
from keras_stackrnn.tasks.rows import Rows, end_to_end, mask, padded
from keras_stackrnn.tasks.symbols import Symbols
from keras_stackrnn.tasks.task import Task

END = "<end>"


class Labelled(NamedTuple):
    """Strings and their labels, one a row.

    Attributes:
        tokens: int [N, L], token ids of the alphabet; what follows a row's length is padding.
        lengths: int [N]; a string may be empty.
        labels: int [N], places in the task's labels.
    """

    tokens: np.ndarray
    lengths: np.ndarray
    labels: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class Recognition(Task):
    """A task of strings and labels.

    Args:
        name: Its name.
        inputs: The alphabet of the strings.
        labels: The labels; what a language has and has not: `("no", "yes")`.
        train_sizes: The sizes to learn from; a size is the string's length unless `size_means` says
            otherwise.
        test_sizes: The sizes to test.
        generate: Function of `(size, draw)`, a `Draw`, that returns a string, as a text or a list
            of symbols, and its label (with the labels no and yes also `True` or `False`).
        generate_batch: The same for arrays: `(sizes, keys)` to `Labelled`. One of the two is
            needed.
        size_means: What the size counts.
        longest: Function of a size: no string of it is longer; the size itself by default.
        example: A string and its label.
    """

    form: ClassVar[str] = "recognition"
    flows: ClassVar[bool] = False
    marks: ClassVar[tuple[str, ...]] = (END,)
    scores: ClassVar[tuple[str, ...]] = ("sequences",)

    name: str
    inputs: Symbols
    train_sizes: range
    test_sizes: range
    labels: tuple[str, ...] = ("no", "yes")
    generate: Callable[..., tuple] | None = None
    generate_batch: Callable[[np.ndarray, np.ndarray], Labelled] | None = None
    size_means: str = "symbols of the string"
    longest: Callable[[int], int] = int
    example: str = ""

    def __post_init__(self):
        symbols = Symbols.written(self.inputs, f"Task {self.name!r}")
        object.__setattr__(self, "inputs", symbols)
        if len(set(self.labels)) < max(2, len(self.labels)):
            raise ValueError(
                f"Task {self.name!r} needs two or more distinct labels, got {self.labels!r}."
            )
        if (self.generate is None) == (self.generate_batch is None):
            raise ValueError(f"Task {self.name!r} needs either generate or generate_batch.")

    @property
    def outputs(self) -> Symbols:
        return Symbols(self.labels, f"Task {self.name!r}")

    def places(self, size: int) -> int:
        return self.longest(size) + 1

    def rows(self, sizes, keys, limits=None) -> Rows:
        self.check_sizes(sizes)
        if self.generate_batch is not None:
            return self._rows_of(self.generate_batch(sizes, keys))
        drawn = [
            self.generate(size, Draw(key))
            for size, key in zip(sizes.tolist(), keys.tolist(), strict=True)
        ]
        return self.rows_of_texts(drawn)

    def rows_of_texts(self, labelled) -> Rows:
        """Rows of strings in symbols and their labels."""
        strings = [self.inputs.encode(string) for string, _ in labelled]
        lengths = np.array([len(each) for each in strings], np.int64)
        labels = np.array([self._place_of(label) for _, label in labelled], np.int64)
        return self._rows_of(Labelled(padded(end_to_end(strings), lengths), lengths, labels))

    def _place_of(self, label) -> int:
        if isinstance(label, (bool, np.bool_)) and self.labels == ("no", "yes"):
            return int(label)
        if label not in self.labels:
            raise ValueError(
                f"Task {self.name!r} has the labels {', '.join(self.labels)}, got {label!r}."
            )
        return self.labels.index(label)

    def _rows_of(self, strings: Labelled) -> Rows:
        lengths = np.asarray(strings.lengths, np.int64)
        place = np.arange(int(lengths.max(initial=0)) + 1)
        asked = place == lengths[:, None]
        tokens = np.where(asked, len(self.inputs), 0).astype(np.int32)
        tokens[mask(lengths, len(place))] = strings.tokens[mask(lengths, strings.tokens.shape[1])]
        targets = np.where(asked, np.asarray(strings.labels)[:, None], 0).astype(np.int32)
        return Rows(tokens, targets, asked, asked.copy(), lengths + 1)

    def lines(self, rows: Rows) -> list[str]:
        ends = rows.lengths - 1
        labels = rows.targets[np.arange(len(ends)), ends]
        return [
            f"{self.inputs.decode(tokens[:end])} {self.labels[label]}".lstrip()
            for tokens, end, label in zip(rows.tokens, ends, labels, strict=True)
        ]

    def of_model(self) -> dict:
        return {**super().of_model(), "labels": list(self.labels)}


def recognition(name: str, **properties):
    """Decorator that makes a function of `(size, draw)` a task of strings and labels.

    Args:
        name: The task's name.
        **properties: The others of a `Recognition`: `inputs`, and, where it differs, `labels`,
            `train_sizes` (0 to 40), `test_sizes` (0 to 500), …

    Example:

    >>> @recognition("even", inputs="ab")
    ... def even(size, draw):
    ...     word = "".join(draw.choice("ab") for _ in range(size))
    ...     return word, word.count("a") % 2 == 0
    """

    def decorate(generate: Callable[..., tuple]):
        usual = {"train_sizes": range(0, 41), "test_sizes": range(0, 501)}
        registry.add(Recognition(name=name, generate=generate, **{**usual, **properties}))
        return generate

    return decorate
