"""Text as symbols: the words or characters of a line, their vocabulary, their token ids."""

import collections
from collections.abc import Callable, Iterable, Mapping

import numpy as np

END_OF_LINE = "<eos>"
UNKNOWN = "<unk>"


def split_into_words(line: str) -> list[str]:
    """The words of a line and the end of the line."""
    return [*line.split(), END_OF_LINE]


def split_into_characters(line: str) -> list[str]:
    """The characters of a line with its spaces, `<unk>` spelled out, and the end of the line."""
    return [*line, END_OF_LINE]


def make_vocabulary(lines: Iterable[str], split: Callable[[str], list[str]]) -> list[str]:
    """Every symbol of the lines, the most frequent first and equally frequent ones in order.

    `<unk>` comes before all others, where lookup layers have it too.
    """
    counts = collections.Counter(symbol for line in lines for symbol in split(line))
    return sorted(counts, key=lambda symbol: (symbol != UNKNOWN, -counts[symbol], symbol))


def encode(symbols: Iterable[str], ids: Mapping[str, int]) -> np.ndarray:
    """The token ids (int32) of symbols."""
    return np.array([ids[symbol] for symbol in symbols], np.int32)
