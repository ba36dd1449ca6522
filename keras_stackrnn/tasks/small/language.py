"""A language to be learned from few strings: a finite set to learn from, and a long test.

The protocol is that of BLISS (Lan, Chemla and Katzir, Benchmarking Neural Network Generalization
for Grammar Induction, 2023).
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator

import numpy as np

from keras_stackrnn.tasks.draws import draw_key
from keras_stackrnn.tasks.strings import Strings

COUNTS = (100, 250, 500, 1000)
TEST_STRINGS = 15_000
PROBABILITY = 0.3


@dataclasses.dataclass(frozen=True)
class SmallLanguage:
    """A language of the benchmark, without the marks that its strings stand between.

    Args:
        name: Its name.
        symbols: The symbols of its strings.
        draw: Function of keys that gives a random string for each.
        size: Function of a string that gives its size.
        size_means: What the size counts.
        smallest: The smallest size.
        number: Function of a size that gives how many strings it has.
        in_order: Function of a size that gives its strings, one after the other.
        longest: Function of a size that gives the length of its strings.
        example: A string between its marks, what can be predicted in square brackets.
        known: Function of `Strings` that gives what can be predicted (`MarkedLanguage.known`), for
            languages with such symbols.
        valid_next: Function of `Strings` that gives what may come next, for the others.
    """

    name: str
    symbols: str
    draw: Callable[[np.ndarray], Strings]
    size: Callable[[str], int]
    size_means: str
    smallest: int
    number: Callable[[int], int]
    in_order: Callable[[int], Iterator[str]]
    longest: Callable[[int], int]
    example: str
    known: Callable[[Strings], np.ndarray] | None = None
    valid_next: Callable[[Strings], np.ndarray] | None = None

    def training(self, count: int, seed: int = 0) -> list[str]:
        """The strings to learn from: string i is the same in a set of any size of that seed.

        Short ones come several times, as often as they were drawn.
        """
        keys = [draw_key("small", self.name, seed, index) for index in range(count)]
        tokens, lengths = self.draw(np.array(keys, np.uint64))
        return [
            "".join(self.symbols[token] for token in row[:length])
            for row, length in zip(tokens.tolist(), lengths, strict=True)
        ]

    @functools.cached_property
    def test_numbers(self) -> dict[int, int]:
        """How many strings of each size the test has: the 15,000 shortest of all."""
        numbers, missing = {}, TEST_STRINGS
        for size in itertools.count(self.smallest):
            numbers[size] = min(self.number(size), missing)
            missing -= numbers[size]
            if not missing:
                return numbers

    def test(self, size: int) -> Iterator[str]:
        """The test strings of a size, which are made as they are asked for."""
        return itertools.islice(self.in_order(size), self.test_numbers.get(size, 0))


def geometric(words: np.ndarray) -> np.ndarray:
    """For each random word 1 with probability 0.3, 2 with 0.7 * 0.3, 3 with 0.7² * 0.3, …"""
    return 1 + np.searchsorted(_AT_MOST, words >> np.uint64(32), side="right")


# Chances, out of 2^32, that a geometric number is at most 1, 2, …, as long as they still grow.
_AT_MOST = np.unique((2**32 * (1 - (1 - PROBABILITY) ** np.arange(1, 60))).astype(np.uint64))
