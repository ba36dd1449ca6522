"""Labelled strings: members of a language, and strings that are not, by the rules of FLaRe.

Half of the strings are members. Of the others, half are random strings, and half are members with a
few edits: a symbol inserted, replaced or deleted. What happens to be a member after all is drawn
again (Butoi et al., Training Neural Networks as Recognizers of Formal Languages, 2025).
"""

import dataclasses
from collections.abc import Callable

import numpy as np

from keras_stackrnn.tasks import registry
from keras_stackrnn.tasks.draws import Draws, words
from keras_stackrnn.tasks.flare.edits import edited
from keras_stackrnn.tasks.recognition import Labelled, Recognition
from keras_stackrnn.tasks.strings import Strings, cut, random_strings

TRAIN_SIZES = range(0, 41)
TEST_SIZES = range(0, 501)
# The number of edits is geometric: two on average. Beyond this many there is one case in 256.
MOST_EDITS = 8


@dataclasses.dataclass(frozen=True)
class Language:
    """Strings that belong together.

    Args:
        alphabet: Their symbols.
        members: Function of sizes and keys that gives a member for each, of the greatest length
            up to the size that there is; of sizes too small for any, of the smallest.
        contains: Function of `Strings` that tells the members from the others.
    """

    alphabet: str
    members: Callable[[np.ndarray, np.ndarray], Strings]
    contains: Callable[[Strings], np.ndarray]

    def labelled(self, sizes: np.ndarray, keys: np.ndarray) -> Labelled:
        """A member (label 1) or another string (label 0) for each size and key."""
        labels = Draws(keys).below(2)
        content = words(keys, 1)
        strings = _by_kind(
            labels,
            lambda rows: self.others(sizes[rows], content[rows]),
            lambda rows: self.members(sizes[rows], content[rows]),
        )
        return Labelled(*strings, labels)

    def others(self, sizes: np.ndarray, keys: np.ndarray) -> Strings:
        """Strings that are not members: random ones, and members with a few edits."""
        tokens = np.zeros((len(sizes), longest(int(sizes.max(initial=0)))), np.int32)
        lengths = np.zeros(len(sizes), np.int64)
        missing, attempt = np.arange(len(sizes)), 0
        while missing.size:
            tries = self._candidates(sizes[missing], words(keys[missing], attempt))
            found = ~self.contains(tries)
            rows = missing[found]
            tokens[rows, : tries.tokens.shape[1]] = tries.tokens[found]
            lengths[rows] = tries.lengths[found]
            missing = missing[~found]
            attempt += 1
        return Strings(tokens, lengths)

    def _candidates(self, sizes: np.ndarray, keys: np.ndarray) -> Strings:
        content = words(keys, 1)
        return _by_kind(
            Draws(keys).below(2),
            lambda rows: random_strings(content[rows], sizes[rows], len(self.alphabet)),
            lambda rows: edited(
                self.members(sizes[rows], content[rows]),
                symbols=len(self.alphabet),
                most_edits=MOST_EDITS,
                longest=np.array([longest(size) for size in sizes[rows].tolist()]),
                keys=words(keys[rows], 2),
            ),
        )


def longest(size: int) -> int:
    """How long a string of a size can be: edits lengthen it a little, within the split's bound."""
    bound = TRAIN_SIZES[-1] if size <= TRAIN_SIZES[-1] else max(TEST_SIZES[-1], size)
    return min(size + MOST_EDITS, bound)


def add(name: str, language: Language, example: str) -> None:
    """Makes the recognition of a language known as `recognition/<name>`."""
    registry.add(
        Recognition(
            name=f"recognition/{name}",
            inputs=language.alphabet,
            train_sizes=TRAIN_SIZES,
            test_sizes=TEST_SIZES,
            generate_batch=language.labelled,
            size_means="length of the string before edits",
            longest=longest,
            example=example,
        )
    )


def _by_kind(kinds: np.ndarray, *makers: Callable[[np.ndarray], Strings]) -> Strings:
    """Strings of several kinds, in the order of the kinds; each maker makes those of its rows."""
    made = []
    for kind, make in enumerate(makers):
        rows = np.flatnonzero(kinds == kind)
        if rows.size:
            made.append((rows, make(rows)))
    lengths = np.zeros(len(kinds), np.int64)
    tokens = np.zeros((len(kinds), max((s.tokens.shape[1] for _, s in made), default=0)), np.int32)
    for rows, strings in made:
        tokens[rows, : strings.tokens.shape[1]] = strings.tokens
        lengths[rows] = strings.lengths
    return cut(tokens, lengths)
