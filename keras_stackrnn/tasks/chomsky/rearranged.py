"""Tasks whose answer is the input in another order, or twice."""

import numpy as np

from keras_stackrnn.tasks.chomsky.suite import chomsky, pairs
from keras_stackrnn.tasks.strings import backwards, cut, places, random_strings, taken
from keras_stackrnn.tasks.transduction import Pairs

BUCKETS = 5


@chomsky("01", "01", example="00110 -> 01100")
def reverse_string(sizes: np.ndarray, keys: np.ndarray) -> Pairs:
    """Random bits backwards."""
    bits = random_strings(keys, sizes, 2)
    return pairs(bits, backwards(bits))


@chomsky("01", "01", answer_places=(2, 1, 0), example="001 -> 001001")
def duplicate_string(sizes: np.ndarray, keys: np.ndarray) -> Pairs:
    """Random bits, twice."""
    bits = random_strings(keys, sizes, 2)
    return pairs(bits, taken(bits, places(2 * sizes) % sizes[:, None], 2 * sizes))


@chomsky("01", "01", example="00110 -> 01010")
def odds_first(sizes: np.ndarray, keys: np.ndarray) -> Pairs:
    """Of random bits the second, the fourth, …, then the first, the third, …"""
    bits = random_strings(keys, sizes, 2)
    place, half = places(sizes), sizes[:, None] // 2
    return pairs(
        bits, taken(bits, np.where(place < half, 2 * place + 1, 2 * (place - half)), sizes)
    )


@chomsky("01234", "01234", example="42104 -> 01244")
def bucket_sort(sizes: np.ndarray, keys: np.ndarray) -> Pairs:
    """Random symbols from 0 to 4 in ascending order."""
    symbols = random_strings(keys, sizes, BUCKETS)
    # What is past a row's end must stay there.
    ascending = np.sort(np.where(symbols.written, symbols.tokens, BUCKETS), axis=1)
    return pairs(symbols, cut(ascending, sizes))
