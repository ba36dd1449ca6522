"""A word, a mark, and the word again: backwards or not."""

from collections.abc import Callable

import numpy as np

from keras_stackrnn.tasks.flare.language import Language, add
from keras_stackrnn.tasks.strings import (
    Strings,
    backwards,
    cut,
    joined,
    random_strings,
    repeated,
)

_ALPHABET = "01#"
_MARK = _ALPHABET.index("#")


def _language(second: Callable[[Strings], Strings]) -> Language:
    """The language of `word # second(word)`."""

    def around_mark(word: Strings) -> Strings:
        return joined(word, repeated(_MARK, np.ones_like(word.lengths)), second(word))

    def members(sizes: np.ndarray, keys: np.ndarray) -> Strings:
        return around_mark(random_strings(keys, np.maximum(sizes - 1, 0) // 2, _MARK))

    def contains(strings: Strings) -> np.ndarray:
        halves = strings.lengths // 2
        word = cut(strings.tokens, halves)
        expected = cut(around_mark(word).tokens, strings.lengths)
        same = (expected.tokens == cut(*strings).tokens).all(axis=1)
        return same & (word.tokens != _MARK).all(axis=1) & (strings.lengths % 2 == 1)

    return Language(_ALPHABET, members, contains)


add("marked_reversal", _language(backwards), example="011#110 yes")
add("marked_copy", _language(lambda word: word), example="011#011 yes")
