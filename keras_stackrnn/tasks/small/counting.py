"""Runs of a, b, c and d whose lengths follow from the first ones, as small languages."""

from collections.abc import Callable, Iterator

import numpy as np

from keras_stackrnn.tasks.draws import words
from keras_stackrnn.tasks.small.language import SmallLanguage, geometric
from keras_stackrnn.tasks.strings import Strings, joined, repeated

# In a^n b^m c^(n+m), the authors take n and m from 1 to the least number whose square is enough.
_LARGEST_OF_TWO = 123


def _language(
    name: str,
    symbols: str,
    settled_by: str,
    runs: Callable[..., tuple],
    numbers: Callable[[int], range],
    **properties,
) -> SmallLanguage:
    """The language whose symbols are repeated `runs(*numbers)` times.

    Everything after the first `settled_by` follows from what comes before. The numbers that are
    free are as many as there are symbols before it; the size is their sum, and `numbers` gives
    all first ones of a size.
    """
    settling = symbols.index(settled_by)

    def draw(keys: np.ndarray) -> Strings:
        drawn = [geometric(words(keys, index)) for index in range(settling)]
        return joined(*(repeated(token, count) for token, count in enumerate(runs(*drawn))))

    def in_order(size: int) -> Iterator[str]:
        for first in numbers(size):
            free = (first, size - first)[:settling]
            yield "".join(s * count for s, count in zip(symbols, runs(*free), strict=True))

    def known(strings: Strings) -> np.ndarray:
        settled = np.cumsum(strings.tokens == settling, axis=1) > 0
        return np.pad(settled, ((0, 0), (1, 0)))

    return SmallLanguage(
        name,
        symbols,
        draw,
        size=lambda string: sum(string.count(symbol) for symbol in symbols[:settling]),
        smallest=settling,
        number=lambda size: len(numbers(size)),
        in_order=in_order,
        longest=lambda size: len(next(in_order(size))),
        known=known,
        **properties,
    )


def _one(size: int) -> range:
    return range(size, size + 1)


def _parts(size: int) -> range:
    """The first of two numbers from 1 to 123 with that sum."""
    return range(max(1, size - _LARGEST_OF_TWO), min(size, _LARGEST_OF_TWO + 1))


_OF_A = "number of a's"

LANGUAGES = (
    _language("anbn", "ab", "b", lambda n: (n, n), _one, size_means=_OF_A, example="#aab[b#]"),
    _language(
        "anbncn", "abc", "b", lambda n: (n, n, n), _one, size_means=_OF_A, example="#aab[bcc#]"
    ),
    _language(
        "anbncndn",
        "abcd",
        "b",
        lambda n: (n, n, n, n),
        _one,
        size_means=_OF_A,
        example="#aab[bccdd#]",
    ),
    _language(
        "anbmcnm",
        "abc",
        "c",
        lambda n, m: (n, m, n + m),
        _parts,
        size_means="number of a's and b's together",
        example="#aabc[cc#]",
    ),
)
