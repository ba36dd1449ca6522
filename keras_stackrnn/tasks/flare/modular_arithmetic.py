"""Sums, differences and products from left to right, `=`, and their value modulo 5."""

import numpy as np

from keras_stackrnn.tasks.draws import scale, words
from keras_stackrnn.tasks.flare.language import Language, add
from keras_stackrnn.tasks.strings import Strings, cut, joined, places, repeated, single

_ALPHABET = "01234+-*="
_MODULUS = 5
_OPERATORS = 3
_EQUALS = _ALPHABET.index("=")


def _members(sizes: np.ndarray, keys: np.ndarray) -> Strings:
    """The shortest is d=d: after a digit, two symbols more make it longer."""
    lengths = np.maximum(sizes - 2, 1)
    lengths -= 1 - lengths % 2
    place = places(lengths)
    numbers = scale(words(keys[:, None], place), np.where(place % 2, _OPERATORS, _MODULUS))
    expressions = cut(numbers + place % 2 * _MODULUS, lengths)
    return joined(
        expressions, repeated(_EQUALS, np.ones_like(lengths)), single(_values(expressions))
    )


def _contains(strings: Strings) -> np.ndarray:
    lengths, rows = strings.lengths, np.arange(len(strings.lengths))
    tokens = np.pad(strings.tokens, ((0, 0), (0, 3)))
    place = places(lengths)
    is_digit, is_operator = (
        strings.tokens < _MODULUS,
        (strings.tokens >= _MODULUS) & (strings.tokens < _EQUALS),
    )
    before_equals = place < (lengths - 2)[:, None]
    in_turn = np.where(place % 2, is_operator, is_digit) | ~before_equals
    expressions = cut(strings.tokens, np.maximum(lengths - 2, 0))
    return (
        (lengths % 2 == 1)
        & (lengths >= 3)
        & in_turn.all(axis=1)
        & (tokens[rows, lengths - 2] == _EQUALS)
        & (tokens[rows, lengths - 1] == _values(expressions))
    )


def _values(expressions: Strings) -> np.ndarray:
    """The value of each expression modulo 5; of what is none, anything."""
    tokens = np.pad(expressions.tokens, ((0, 0), (0, 1)))
    values = tokens[:, 0].astype(np.int64)
    rows = np.arange(len(values))
    for place in range(1, tokens.shape[1] - 1, 2):
        digit = tokens[:, place + 1]
        outcomes = np.stack([values + digit, values - digit, values * digit])
        operator = np.clip(tokens[:, place] - _MODULUS, 0, _OPERATORS - 1)
        here = place < expressions.lengths
        values = np.where(here, outcomes[operator, rows] % _MODULUS, values)
    return values


add("modular_arithmetic", Language(_ALPHABET, _members, _contains), example="1+2*3=4 yes")
