"""Random draws that are the same on every machine and under every NumPy.

A draw's key is a hash of what is drawn, so that any draw can be had without those before it.
SplitMix64 expands the key into words; word number i is

    z = key + (i + 1) * 0x9E3779B97F4A7C15
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB
    word = z ^ (z >> 31)                              (all modulo 2^64)

and becomes a number below `bound` as `(word >> 32) * bound >> 32`. `Draw` does this for one key in
plain Python, `Draws` for many keys at once.
"""

import hashlib
from collections.abc import Sequence

import numpy as np

VERSION = "1.0.0"

_STEP = 0x9E3779B97F4A7C15
_FIRST_FACTOR = 0xBF58476D1CE4E5B9
_SECOND_FACTOR = 0x94D049BB133111EB
_LARGEST_WORD = 2**64 - 1


def draw_key(*parts: str | int) -> int:
    """The key of a draw.

    Args:
        *parts: What names it: pattern, split, n and index, say.

    Returns:
        A whole number of 64 bits, the same on every machine.

    Example:

    >>> draw_key("anbn", "train", 3, 0) == draw_key("anbn", "train", 3, 0)
    True
    >>> draw_key("anbn", "train", 3, 0) == draw_key("anbn", "test", 3, 0)
    False
    """
    name = "/".join(map(str, (VERSION, *parts)))
    return int.from_bytes(hashlib.shake_128(name.encode()).digest(8), "little")


def words(keys: np.ndarray, indices: np.ndarray | int) -> np.ndarray:
    """Word `indices` of every key; the two are broadcast against each other."""
    z = keys + (np.asarray(indices, np.uint64) + np.uint64(1)) * np.asarray([_STEP], np.uint64)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(_FIRST_FACTOR)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(_SECOND_FACTOR)
    return z ^ (z >> np.uint64(31))


def scale(word: np.ndarray, bounds: np.ndarray | int) -> np.ndarray:
    """Every word as a number from 0 up to but not including its bound."""
    half = np.uint64(32)
    return ((word >> half) * np.asarray(bounds, np.uint64) >> half).astype(np.int64)


class Draw:
    """An endless supply of random numbers for one sequence.

    Args:
        key: Integer of 64 bits; the same key gives the same numbers.

    Example:

    >>> draw = Draw(draw_key("anbmcnm", "test", 7, 0))
    >>> draw.below(6) in range(6)
    True
    """

    def __init__(self, key: int):
        self.key = key
        self.index = 0

    def below(self, bound: int) -> int:
        """The next number, from 0 up to but not including `bound`."""
        if not 1 <= bound <= 2**32:
            raise ValueError(f"A draw needs a bound from 1 to 2^32, got {bound}.")
        self.index += 1
        z = (self.key + self.index * _STEP) & _LARGEST_WORD
        z = ((z ^ (z >> 30)) * _FIRST_FACTOR) & _LARGEST_WORD
        z = ((z ^ (z >> 27)) * _SECOND_FACTOR) & _LARGEST_WORD
        return ((z ^ (z >> 31)) >> 32) * bound >> 32

    def choice(self, options: Sequence):
        """The next number as one of `options`."""
        return options[self.below(len(options))]


class Draws:
    """The same numbers as a `Draw` for each of many keys, as arrays."""

    def __init__(self, keys: np.ndarray):
        self.keys = keys
        self.index = 0

    def below(self, bounds: np.ndarray | int) -> np.ndarray:
        """The next number of every key; `bounds` may differ from key to key."""
        self.index += 1
        return scale(words(self.keys, self.index - 1), bounds)
