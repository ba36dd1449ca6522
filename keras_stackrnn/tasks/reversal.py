"""A word and the same again, backwards or not, with a mark between the two or without one.

The size is the word's length. The sizes are those of DuSell and Chiang: strings of about 80 symbols
at most to learn from, and of 40 to 100 for the test.
"""

import math
from collections.abc import Callable

import numpy as np

from keras_stackrnn.tasks import registry
from keras_stackrnn.tasks.marked import MarkedLanguage
from keras_stackrnn.tasks.strings import (
    Strings,
    backwards,
    joined,
    random_strings,
    repeated,
)

SYMBOLS = "01"
MIDDLE = "="
TRAIN_SIZES = range(1, 41)
TEST_SIZES = range(20, 51)


def twice(word: Strings, second: Strings, middle: int) -> Strings:
    """A word, the middle mark, and the second word."""
    return joined(word, repeated(middle, np.ones_like(word.lengths)), second)


def _add(name: str, form: Callable[[Strings], Strings], symbols: str, **properties) -> None:
    middles = len(symbols) - len(SYMBOLS)
    registry.add(
        MarkedLanguage.of(
            name,
            symbols,
            draw=lambda sizes, keys: form(random_strings(keys, sizes, len(SYMBOLS))),
            # Nothing is free but the symbols of the word.
            nats=lambda strings: (strings.lengths - middles) // 2 * math.log(len(SYMBOLS)),
            smallest_n=1,
            train_sizes=TRAIN_SIZES,
            test_sizes=TEST_SIZES,
            longest=lambda size: 2 * size + middles + 2,
            n_means="length of the word",
            **properties,
        )
    )


def _after_middle(strings: Strings) -> np.ndarray:
    """Once the middle is read, all that follows is known, the mark at the end included."""
    read = np.cumsum(strings.tokens == len(SYMBOLS), axis=1) > 0
    return np.pad(read, ((0, 0), (1, 0)))


def _valid_in_reversal(strings: Strings) -> np.ndarray:
    """Any symbol may come at any time, and the end after what reads the same backwards."""
    rows, longest = strings.tokens.shape
    valid = np.ones((rows, longest + 1, len(SYMBOLS) + 1), bool)
    for length in range(longest + 1):
        half = strings.tokens[:, : length // 2]
        other = strings.tokens[:, length - length // 2 : length][:, ::-1]
        valid[:, length, -1] = (half == other).all(axis=1) & (length % 2 == 0)
    return valid & (np.arange(longest + 1) <= strings.lengths[:, None])[:, :, None]


_add(
    "marked_reversal",
    lambda word: twice(word, backwards(word), len(SYMBOLS)),
    SYMBOLS + MIDDLE,
    known=_after_middle,
    example="#001=[100#]",
)
_add(
    "marked_copy",
    lambda word: twice(word, word, len(SYMBOLS)),
    SYMBOLS + MIDDLE,
    known=_after_middle,
    example="#001=[001#]",
)
_add(
    "unmarked_reversal",
    lambda word: joined(word, backwards(word)),
    SYMBOLS,
    valid_next=_valid_in_reversal,
    example="#001100#",
)
