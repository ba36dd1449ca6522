"""Sequences as arrays, one a row: what a model reads at each place and what it is asked there."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Rows(NamedTuple):
    """N sequences of up to T places, padded at the end with places that ask nothing.

    A model reads `tokens[i, t]` and gives, from that and what came before, an answer at place t.

    Attributes:
        tokens: int32 [N, T], what is read: token ids of the task's `inputs`, or of its `marks`,
            whose ids follow those of `inputs`. 0 where there is padding.
        targets: int32 [N, T], the right answers, token ids of the task's `outputs`. 0 where
            nothing is asked.
        asked: bool [N, T], the places that have a target; they make the loss.
        scored: bool [N, T], those of them that count as right or wrong: all, but for what nobody
            can know (the free symbols of a language) or what does not count (after a terminator).
        lengths: int64 [N], how many places a sequence has.
    """

    tokens: np.ndarray
    targets: np.ndarray
    asked: np.ndarray
    scored: np.ndarray
    lengths: np.ndarray

    def take(self, chosen) -> "Rows":
        """The rows with these numbers, or where these booleans are true."""
        return Rows(*(array[chosen] for array in self))

    def to_length(self, places: int) -> "Rows":
        """The same with so many columns, at least as many as the longest row has places."""
        *arrays, lengths = self
        missing = places - self.tokens.shape[1]
        if missing >= 0:
            arrays = [np.pad(array, ((0, 0), (0, missing))) for array in arrays]
        else:
            arrays = [array[:, :places] for array in arrays]
        return Rows(*arrays, lengths)

    def distinct(self) -> "Rows":
        """Each different row once, in the order of their first appearance."""
        return self.counted()[0]

    def counted(self) -> "tuple[Rows, np.ndarray]":
        """`distinct()`, and how often each of these rows is there."""
        columns = np.concatenate([self.tokens, self.targets, self.lengths[:, None]], axis=1)
        _, first, times = np.unique(columns, axis=0, return_index=True, return_counts=True)
        order = np.argsort(first)
        return self.take(first[order]), times[order]


def stacked(parts: Sequence[Rows]) -> Rows:
    """Rows below one another, all as long as the longest."""
    places = max(part.tokens.shape[1] for part in parts)
    padded = [part.to_length(places) for part in parts]
    return Rows(*(np.concatenate(arrays) for arrays in zip(*padded, strict=True)))


def end_to_end(sequences: Sequence[np.ndarray]) -> np.ndarray:
    """Token ids end to end; there may be none at all."""
    return np.concatenate([np.zeros(0, np.int32), *sequences])


def padded(flat: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Values end to end, as one row for each of the lengths, padded at the end with 0."""
    inside = mask(lengths)
    rows = np.zeros(inside.shape, flat.dtype)
    rows[inside] = flat
    return rows


def mask(lengths: np.ndarray, places: int | None = None) -> np.ndarray:
    """bool [N, places]: the places before each row's length."""
    places = int(max(lengths, default=0)) if places is None else places
    return np.arange(places) < np.asarray(lengths)[:, None]
