"""Tasks whose answer is a count over a random string, modulo a small number."""

import numpy as np

from keras_stackrnn.tasks.chomsky.suite import ONE_ANSWER, chomsky, pairs
from keras_stackrnn.tasks.strings import random_strings, single
from keras_stackrnn.tasks.transduction import Pairs


@chomsky("01", "01", answer_places=ONE_ANSWER, example="00110 -> 0")
def even_pairs(sizes: np.ndarray, keys: np.ndarray) -> Pairs:
    """Whether the number of unequal neighbours among random bits is odd."""
    bits = random_strings(keys, sizes, 2)
    # Every unequal pair is a change of bit, so the first and the last bit tell.
    last = bits.tokens[np.arange(len(sizes)), sizes - 1]
    return pairs(bits, single(bits.tokens[:, 0] ^ last))


@chomsky("01", "01", answer_places=ONE_ANSWER, example="01101 -> 1")
def parity_check(sizes: np.ndarray, keys: np.ndarray) -> Pairs:
    """Whether the number of ones among random bits is odd."""
    bits = random_strings(keys, sizes, 2)
    return pairs(bits, single(bits.tokens.sum(axis=1) % 2))


@chomsky("012", "01234", answer_places=ONE_ANSWER, example="00122 -> 0")
def cycle_navigation(sizes: np.ndarray, keys: np.ndarray) -> Pairs:
    """Where on a circle of five places one stands after steps of -1, 0 or 1."""
    steps = random_strings(keys, sizes, 3)
    return pairs(steps, single((steps.tokens.sum(axis=1) - sizes) % 5))
