"""Binary strings with an odd number of ones."""

import numpy as np

from keras_stackrnn.tasks.flare.language import Language, add
from keras_stackrnn.tasks.strings import Strings, random_strings


def _members(sizes: np.ndarray, keys: np.ndarray) -> Strings:
    strings = random_strings(keys, np.maximum(sizes, 1), 2)
    # The first bit is what the others leave open.
    strings.tokens[:, 0] ^= ~_contains(strings)
    return strings


def _contains(strings: Strings) -> np.ndarray:
    return strings.tokens.sum(axis=1) % 2 == 1


add("parity", Language("01", _members, _contains), example="01101 yes")
