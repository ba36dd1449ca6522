"""What is known of a task's sequences beyond drawing them, for whoever wants to prove something."""

import dataclasses
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class CountedRuns:
    """Each symbol of the alphabet in turn, so many times; from some symbol on all is settled.

    Attributes:
        alphabet: The symbols.
        settled_by: The symbol whose first one settles whatever follows.
        counts: Function of `(n, draw)` that gives how often each symbol stands: of numbers, arrays
            or whatever else can be added.
    """

    alphabet: str
    settled_by: str
    counts: Callable


@dataclasses.dataclass(frozen=True)
class WordAndBack:
    """Any word of some symbols, a mark, and the word backwards, which the mark settles.

    Attributes:
        symbols: The symbols of words.
        mark: The mark.
    """

    symbols: str
    mark: str
