"""The algorithmic patterns: one generator for datasets, training, evaluation and serving."""

from keras_stackrnn.patterns import addition, counting, memorization  # noqa: F401 they register
from keras_stackrnn.patterns.draws import VERSION, Draw, draw_key
from keras_stackrnn.patterns.pattern import Batch, Joined, Pattern, Sequence
from keras_stackrnn.patterns.registry import get, names, register

__all__ = [
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
