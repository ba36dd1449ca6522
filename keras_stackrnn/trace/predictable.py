"""Which symbols of a text can be predicted: the pattern's word, if the text is written by it."""

from collections.abc import Sequence

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
    try:
        sequences = pattern.parse(text)
    except ValueError:
        return upcoming, None
    # The symbol after the text is the rest of a sequence, or another sequence's first.
    joined = pattern.join([*sequences, sequences[0]])
    deterministic = joined.deterministic[1 : len(text) + 1]
    if deterministic[-1]:
        upcoming = (*text[1:], joined.text[len(text)])
    return upcoming, deterministic
