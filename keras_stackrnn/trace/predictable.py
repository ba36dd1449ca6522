"""Which symbols of a text can be predicted: the pattern's word, if the text is written by it.

A pattern writes sequences but does not read them. What it drew can be told from a sequence's first
symbols in a few ways; the pattern then writes it anew, and the text has to agree.
"""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from keras_stackrnn import patterns

Upcoming = tuple[tuple[str | None, ...], np.ndarray | None]


def upcoming_of(symbols: Sequence[str], deterministic: str | Sequence[bool] | None) -> Upcoming:
    """The symbol after each symbol of a text, and whether it can be predicted.

    Args:
        symbols: The text.
        deterministic: The name of a pattern, or a boolean for each symbol, or `None`.

    Returns:
        The symbols, the last of which is `None` unless the pattern tells it; and an array of
        booleans, or `None` if nothing is known: then the text is not sequences of the pattern.
    """
    upcoming = (*symbols[1:], None)
    if deterministic is None:
        return upcoming, None
    if not isinstance(deterministic, str):
        flags = np.asarray(deterministic, bool)
        if flags.shape != (len(symbols),):
            raise ValueError(
                f"`deterministic` says of each symbol whether it can be predicted: expected "
                f"{len(symbols)} booleans, got shape {flags.shape}."
            )
        return upcoming, np.append(flags[1:], False)
    pattern = patterns.get(deterministic)
    if any(len(symbol) != 1 for symbol in symbols):
        return upcoming, None
    return _by_pattern("".join(symbols), pattern)


def _by_pattern(text: str, pattern: patterns.Pattern) -> Upcoming:
    upcoming = (*text[1:], None)
    sequences, rest = [], text
    while rest:
        sequence = _first_sequence(rest, pattern)
        if sequence is None:
            return upcoming, None
        sequences.append(sequence)
        rest = rest[len(sequence.text) :]
    # The symbol after the text is the rest of a sequence, or another sequence's first.
    joined = pattern.join([*sequences, sequences[0]])
    deterministic = joined.deterministic[1 : len(text) + 1]
    if deterministic[-1]:
        upcoming = (*text[1:], joined.text[len(text)])
    return upcoming, deterministic


def _first_sequence(text: str, pattern: patterns.Pattern) -> patterns.Sequence | None:
    """The sequence a text begins with, or is the beginning of."""
    for n, drawn in _readings(text, pattern.alphabet):
        try:
            sequence = pattern.sequence(n, _Drawn(drawn))
        except (ValueError, IndexError):
            continue
        if text.startswith(sequence.text) or sequence.text.startswith(text):
            return sequence
    return None


def _readings(text: str, alphabet: str) -> Iterator[tuple[int, list[int]]]:
    """What n and which draws a text may come from."""
    runs = [len(list(run)) for _, run in itertools.groupby(text)]
    first, second = runs[0], runs[1] if len(runs) > 1 else 1
    word, equals, _ = text.partition("=")
    left, plus, right = word.partition("+")
    if plus:
        # Addition: the length of the first number, then all digits but the two leading ones. Of
        # a text that ends inside the second number, no more can be told than is there.
        right = right or "1"
        digits = [alphabet.find(digit) for digit in left[1:] + right[1:]]
        yield len(left) + len(right), [len(left) - 1, *digits]
    elif equals or "=" in alphabet:
        # Memorization draws the word's symbols; a sum without its second number is like "…+1".
        yield len(word), [alphabet.find(symbol) for symbol in word]
        yield (
            len(word) + 1,
            [len(word) - 1, *(alphabet.find(digit) for digit in word[1:])],
        )
    else:
        # Counting: n a's; or a's and b's together, and how many of these are b's.
        yield first, []
        yield first + second, [second - 1]


class _Drawn(patterns.Draw):
    """Draws what is known to have been drawn."""

    def __init__(self, numbers: list[int]):
        self._numbers = iter(numbers)

    def below(self, bound: int) -> int:
        number = next(self._numbers, 0)
        if not 0 <= number < bound:
            raise ValueError(f"Nothing below {bound} was drawn, got {number}.")
        return number
