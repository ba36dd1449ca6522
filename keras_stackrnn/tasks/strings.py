"""Strings of different lengths as one array, one a row: drawn at random, or made of others."""

from typing import NamedTuple

import numpy as np

from keras_stackrnn.tasks.draws import scale, words
from keras_stackrnn.tasks.rows import mask


class Strings(NamedTuple):
    """Token ids, int32 [N, longest], with zeros after a string's end, and lengths, int64 [N]."""

    tokens: np.ndarray
    lengths: np.ndarray

    @property
    def written(self) -> np.ndarray:
        """bool [N, longest]: which places belong to their string."""
        return mask(self.lengths, self.tokens.shape[1])


def places(lengths: np.ndarray) -> np.ndarray:
    """The numbers of all places of the longest string."""
    return np.arange(int(lengths.max(initial=0)))


def cut(tokens: np.ndarray, lengths: np.ndarray) -> Strings:
    """The strings that an array begins with, which may be wider than they are long."""
    tokens = tokens[:, : int(lengths.max(initial=0))]
    return Strings(np.where(mask(lengths, tokens.shape[1]), tokens, 0).astype(np.int32), lengths)


def taken(strings: Strings, index: np.ndarray, lengths: np.ndarray) -> Strings:
    """Strings made of symbols of others: place p of string i holds symbol `index[i, p]`."""
    tokens = np.pad(strings.tokens, ((0, 0), (0, 1)))  # so that there is one to take from the empty
    return cut(np.take_along_axis(tokens, np.clip(index, 0, tokens.shape[1] - 1), axis=1), lengths)


def joined(first: Strings, *others: Strings) -> Strings:
    """Strings one after the other, the first of each, then the second of each, …"""
    for second in others:
        lengths = first.lengths + second.lengths
        place = places(lengths)
        within_second = place - first.lengths[:, None]
        tokens = np.where(
            within_second < 0,
            taken(first, np.broadcast_to(place, within_second.shape), lengths).tokens,
            taken(second, within_second, lengths).tokens,
        )
        first = Strings(tokens, lengths)
    return first


def backwards(strings: Strings) -> Strings:
    """The strings from their ends to their beginnings."""
    from_end = strings.lengths[:, None] - 1 - places(strings.lengths)
    return taken(strings, from_end, strings.lengths)


def random_strings(
    keys: np.ndarray, lengths: np.ndarray, symbols: int, first_word: int = 0
) -> Strings:
    """Strings of symbols from 0 up to but not including `symbols`, all as likely.

    The symbol at place p is drawn with word `first_word + p` of the string's key.
    """
    return cut(scale(words(keys[:, None], first_word + places(lengths)), symbols), lengths)


def single(tokens: np.ndarray) -> Strings:
    """Strings of one symbol each."""
    return Strings(tokens[:, None].astype(np.int32), np.ones(len(tokens), np.int64))


def repeated(token: int, lengths: np.ndarray) -> Strings:
    """Strings of nothing but one symbol."""
    return cut(np.full((len(lengths), int(lengths.max(initial=0))), token), lengths)
