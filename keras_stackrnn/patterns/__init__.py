"""The algorithmic patterns: one generator for datasets, training, evaluation and serving."""

from keras_stackrnn.patterns import addition, counting, memorization  # noqa: F401 they register
from keras_stackrnn.patterns.draws import VERSION, Draw, draw_key
from keras_stackrnn.patterns.pattern import Batch, Joined, Pattern, Sequence
from keras_stackrnn.patterns.registry import get, names, register
from keras_stackrnn.patterns.sizes import FIRST_TEST_N, LARGEST_TEST_N, LARGEST_TRAINING_N

__all__ = [
    "FIRST_TEST_N",
    "LARGEST_TEST_N",
    "LARGEST_TRAINING_N",
    "VERSION",
    "Batch",
    "Draw",
    "Joined",
    "Pattern",
    "Sequence",
    "draw_key",
    "get",
    "names",
    "register",
]
