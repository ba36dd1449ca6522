"""A finite set of examples: which are of a size, and draws of them as often as they are there."""

from collections.abc import Sequence

import numpy as np

from keras_stackrnn.tasks.draws import scale, words


class FiniteSet:
    """Examples by their sizes; an example is known by its number in the order it is given.

    Args:
        sizes: The size of each example, one or more.
    """

    def __init__(self, sizes: Sequence[int]):
        sizes = np.asarray(sizes, np.int64)
        self._numbers = np.argsort(sizes, kind="stable")
        self.sizes = sizes[self._numbers]

    def choose(self, sizes: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """The number of an example of each size; where there is none, of the largest size below,
        or the least."""
        sizes = self.sizes[np.maximum(np.searchsorted(self.sizes, sizes, side="right") - 1, 0)]
        first = np.searchsorted(self.sizes, sizes)
        count = np.searchsorted(self.sizes, sizes, side="right") - first
        return self._numbers[first + scale(words(keys, 0), count)]

    def draw_sizes(self, numbers: np.ndarray, largest: np.ndarray | int) -> np.ndarray:
        """The size of a random example that is not above the largest size."""
        below = np.maximum(np.searchsorted(self.sizes, largest, side="right"), 1)
        return self.sizes[scale(numbers, below)]

    def of_size(self, size: int) -> np.ndarray:
        """The numbers of the examples of a size."""
        first, last = np.searchsorted(self.sizes, [size, size + 1])
        return self._numbers[first:last]
