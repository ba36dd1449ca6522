"""Accuracy by n: the share of sequences whose deterministic symbols are all predicted right."""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_stackrnn.models import NextSymbolModel
from keras_stackrnn.patterns import Pattern

# Symbols that are read in one call: enough to keep the cores busy, few enough for any memory.
_SYMBOLS_A_CALL = 2**17
_SHORTEST_CALL = 32


class Row(NamedTuple):
    """One sequence as a model with an empty memory reads it: as long as there is more to score."""

    tokens: np.ndarray
    targets: np.ndarray
    deterministic: np.ndarray


@dataclasses.dataclass(frozen=True)
class Accuracy:
    """The share of sequences that are right, for every n."""

    per_n: dict[int, float]

    @property
    def percent_n_correct(self) -> float:
        """The percentage of the n with every sequence right."""
        return 100 * sum(share == 1 for share in self.per_n.values()) / len(self.per_n)


def evaluate(
    model: NextSymbolModel,
    pattern: Pattern,
    n_values: Iterable[int],
    sequences: int = 200,
    rounding: bool = False,
    split: str = "test",
) -> Accuracy:
    """Has a model read sequences of a pattern, each with an empty memory.

    Args:
        model: A model whose vocabulary is the pattern's alphabet.
        pattern: The pattern.
        n_values: The n to evaluate.
        sequences: Sequences for each n.
        rounding: Whether the model rounds its actions. Either way its memory loses nothing,
            whatever its capacity was in training.
        split: The split to draw sequences from.

    Returns:
        An `Accuracy`.
    """
    if model.vocabulary != list(pattern.alphabet):
        raise ValueError(
            f"Pattern {pattern.name!r} needs a model with the vocabulary "
            f"{list(pattern.alphabet)}, got one with {model.vocabulary}."
        )
    if sequences < 1:
        raise ValueError(f"There are 1 or more sequences to evaluate for each n, got {sequences}.")
    texts = {n: [pattern.sample(n, split, index) for index in range(sequences)] for n in n_values}
    if not texts:
        raise ValueError("There are no n to evaluate.")
    # Counting leaves nothing to chance: all 200 sequences of an n may be one and the same.
    distinct = {each.text: each for samples in texts.values() for each in samples}
    rows = [row_of(pattern, sequence) for sequence in distinct.values()]
    changes: dict[str, bool | None] = {"rounding": rounding}
    if model.has_memory:
        changes["capacity"] = None
    if any(getattr(model, name) != value for name, value in changes.items()):
        model = model.twin(**changes)
    right = dict(zip(distinct, rows_right(model, rows), strict=True))
    return Accuracy(
        {n: float(np.mean([right[each.text] for each in samples])) for n, samples in texts.items()}
    )


def row_of(pattern: Pattern, sequence) -> Row:
    """A sequence as a row, with the next one's first symbol where that scores this one."""
    joined = pattern.join([sequence, sequence])
    scores_this = joined.deterministic & (joined.scored == 0)
    end = np.flatnonzero(scores_this)[-1]
    return Row(joined.tokens[:end], joined.tokens[1 : end + 1], scores_this[1 : end + 1])


def stack_rows(rows: list[Row], length: int | None = None) -> Row:
    """Rows as one, padded at the end with symbols that score nothing."""
    length = length or max(len(row.tokens) for row in rows)
    return Row(
        *(
            np.stack([np.pad(array, (0, length - len(array))) for array in arrays])
            for arrays in zip(*rows, strict=True)
        )
    )


def rows_right(model: NextSymbolModel, rows: list[Row]) -> np.ndarray:
    """Whether all deterministic symbols of each row are predicted right."""
    right = np.zeros(len(rows), bool)
    readers = {}
    for length, numbers in _calls([len(row.tokens) for row in rows]):
        if length not in readers:
            readers[length] = _reader(model, length)
        batch = stack_rows([rows[number] for number in numbers], length)
        predicted = readers[length](tf.constant(batch.tokens)).numpy()
        wrong = (predicted != batch.targets) & batch.deterministic
        right[numbers] = ~wrong.any(axis=1)
    return right


def _calls(lengths: list[int]) -> Iterator[tuple[int, np.ndarray]]:
    """Groups rows of about the same length: the length to pad them to, and their numbers.

    Lengths are powers of two, so that there are few programs to build.
    """
    padded = np.maximum(_SHORTEST_CALL, 2 ** np.ceil(np.log2(lengths)).astype(int))
    for length in np.unique(padded):
        numbers = np.flatnonzero(padded == length)
        rows_a_call = max(1, _SYMBOLS_A_CALL // length)
        for start in range(0, len(numbers), rows_a_call):
            yield int(length), numbers[start : start + rows_a_call]


def _reader(model: NextSymbolModel, length: int):
    """A program that predicts the symbol after each token of `[rows, length]`.

    Compiling it takes longer than running it once or twice without.
    """

    def predict(tokens):
        return tf.argmax(model(tokens), axis=-1, output_type=tf.int32)

    spec = tf.TensorSpec([None, length], tf.int32)
    return tf.function(predict, autograph=False).get_concrete_function(spec)
