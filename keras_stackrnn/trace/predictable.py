"""Which symbols of a text can be predicted: the pattern's word, if the text is written by it."""

from collections.abc import Sequence

import numpy as np

from keras_stackrnn import tasks

Upcoming = tuple[tuple[str | None, ...], np.ndarray | None]


def upcoming_of(symbols: Sequence[str], deterministic: str | Sequence[bool] | None) -> Upcoming:
    """The symbol after each symbol of a text, and whether it can be predicted.

    Args:
        symbols: The text.
        deterministic: The name of a task, or a boolean for each symbol, or `None`. Only patterns
            tell.

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
    task = tasks.get(deterministic)
    if not isinstance(task, tasks.Pattern) or any(len(symbol) != 1 for symbol in symbols):
        return upcoming, None
    return _by_pattern("".join(symbols), task)


def trained_on(task: str | None) -> str | None:
    """What a model says that it was trained on, if that is a task that is known here: a text has
    none, and nor have files; others may be known once they are imported."""
    try:
        return task and tasks.get(task).name
    except ValueError:
        return None


def _by_pattern(text: str, pattern: tasks.Pattern) -> Upcoming:
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
