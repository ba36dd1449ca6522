"""Strings with a few symbols inserted, replaced or deleted at random."""

import numpy as np

from keras_stackrnn.tasks.draws import Draws, words
from keras_stackrnn.tasks.strings import Strings, cut

_WORDS_AN_EDIT = 3


def edited(
    strings: Strings, symbols: int, most_edits: int, longest: np.ndarray, keys: np.ndarray
) -> Strings:
    """Strings after one edit, or two with probability 1/2, or three with probability 1/4, …

    Args:
        strings: The strings before.
        symbols: How many symbols there are to write.
        most_edits: How many edits there are at most.
        longest: Lengths beyond which nothing is inserted.
        keys: A key for each string.
    """
    numbers = _geometric(words(keys, 0), most_edits)
    tokens = np.pad(strings.tokens, ((0, 0), (0, int(numbers.max(initial=0)))))
    lengths = strings.lengths.copy()
    for edit in range(int(numbers.max(initial=0))):
        rows = np.flatnonzero(numbers > edit)
        draws = Draws(keys[rows])
        draws.index = 1 + _WORDS_AN_EDIT * edit
        tokens[rows], lengths[rows] = _edit(
            tokens[rows], lengths[rows], symbols, longest[rows], draws
        )
    return cut(tokens, lengths)


def _geometric(word: np.ndarray, most: int) -> np.ndarray:
    """1 with probability 1/2, 2 with 1/4, …: the number of coins thrown until one shows tails."""
    numbers = np.ones(len(word), np.int64)
    heads = np.ones(len(word), bool)
    for coin in range(most - 1):
        heads &= (word >> np.uint64(coin)) & np.uint64(1) == 1
        numbers += heads
    return numbers


def _edit(
    tokens: np.ndarray, lengths: np.ndarray, symbols: int, longest: np.ndarray, draws: Draws
) -> tuple[np.ndarray, np.ndarray]:
    """Each string after one edit; all that are possible are as likely."""
    may_insert, may_change = lengths < longest, lengths > 0
    choice = draws.below(may_insert + 2 * may_change)
    choice += ~may_insert
    inserts, deletes = choice == 0, choice == 2
    place = draws.below(lengths + inserts)
    written = draws.below(symbols - ~inserts)

    rows, column = np.arange(len(tokens)), np.arange(tokens.shape[1])
    here, shift = place[:, None], (inserts.astype(np.int64) - deletes)[:, None]
    # What stands behind an insertion moves right, what stands behind a deletion moves left.
    moved = column - np.where(inserts[:, None], column > here, column >= here) * shift
    old = tokens[rows, place]
    tokens = np.take_along_axis(tokens, np.clip(moved, 0, tokens.shape[1] - 1), axis=1)
    # A replacement is any symbol but the one that was there.
    new = np.where(inserts, written, written + (written >= old))
    writes = ~deletes
    tokens[rows[writes], place[writes]] = new[writes]
    return tokens, lengths + shift[:, 0]
