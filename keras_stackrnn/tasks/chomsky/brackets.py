"""Expressions with brackets modulo 5: their value, or the digit that was taken out of them."""

import numpy as np

from keras_stackrnn.tasks.chomsky.suite import ONE_ANSWER, chomsky, pairs
from keras_stackrnn.tasks.draws import scale, words
from keras_stackrnn.tasks.strings import Strings, cut, single
from keras_stackrnn.tasks.transduction import Pairs

# The benchmark's own alphabets; the first has a symbol that its generator never writes.
ARITHMETIC = "01234+-*()x"
EQUATION = "01234+-()x="
MODULUS = 5
_WORDS_A_NODE = 3


@chomsky(ARITHMETIC, "01234", answer_places=ONE_ANSWER, example="((2*3)-4) -> 2")
def modular_arithmetic_brackets(sizes: np.ndarray, keys: np.ndarray) -> Pairs:
    """A random expression with +, - and *, and its value."""
    expressions, values = _random_expressions(sizes, keys, ARITHMETIC, "+-*")
    return pairs(expressions, single(values))


@chomsky(EQUATION, "01234", answer_places=ONE_ANSWER, example="((x+3)-4)=1 -> 2")
def solve_equation(sizes: np.ndarray, keys: np.ndarray) -> Pairs:
    """A random expression without *, with an x for one of its digits, `=` and its value.

    The digit is the first at or after a random place. Sizes below 3 hold no equation: they are
    zeros that ask for a 0.
    """
    lengths = np.maximum(sizes - 2, 0)
    expressions, values = _random_expressions(lengths, keys, EQUATION, "+-")
    symbols = np.pad(expressions.tokens, ((0, 0), (0, 2)))
    there = np.flatnonzero(sizes >= 3)
    hidden = _place_of_digit(symbols, np.maximum(lengths, 1), keys)[there]
    digits = np.zeros(len(sizes), np.int32)
    digits[there] = symbols[there, hidden]
    symbols[there, hidden] = EQUATION.index("x")
    symbols[there, lengths[there]] = EQUATION.index("=")
    symbols[there, lengths[there] + 1] = values[there]
    return pairs(cut(symbols, sizes), single(digits))


def _place_of_digit(symbols: np.ndarray, lengths: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """The first digit at or after a random place of each expression, the start after the end."""
    # No node begins at the place after an expression's last one, so its words are free.
    start = scale(words(keys, _WORDS_A_NODE * lengths), lengths)
    place = np.arange(symbols.shape[1])
    is_digit = (symbols < MODULUS) & (place < lengths[:, None])
    steps = np.where(is_digit, (place - start[:, None]) % lengths[:, None], len(place))
    return steps.argmin(axis=1)


def _random_expressions(
    lengths: np.ndarray, keys: np.ndarray, alphabet: str, operators: str
) -> tuple[Strings, np.ndarray]:
    """Expressions of those lengths, and their values; of length 0, nothing and a 0.

    All trees grow together, level by level. A node of length 1 is d, of 2 -d, of 3 (d), of 4 (-d),
    of more (L operator R). It writes the symbols that are its own, and draws with words of the
    place at which it begins: no two nodes begin at the same.
    """
    symbols = np.zeros((len(lengths), lengths.max(initial=0)), np.int32)
    opens, closes, minus = (alphabet.index(symbol) for symbol in "()-")
    signs = np.array([alphabet.index(symbol) for symbol in operators])

    def drawn(row, start, word, bounds):
        return scale(words(keys[row], _WORDS_A_NODE * start + word), bounds)

    row = np.flatnonzero(lengths)
    start, length = np.zeros_like(row), lengths[row]
    values = np.zeros_like(symbols)
    splits = []
    while row.size:
        # Brackets around all nodes of 3 symbols or more, a minus in those of 2 and 4.
        many, signed = length >= 3, (length == 2) | (length == 4)
        symbols[row[many], start[many]] = opens
        symbols[row[many], (start + length - 1)[many]] = closes
        symbols[row[signed], (start + length // 2 - 1)[signed]] = minus

        leaf = length < 5
        digit = drawn(row[leaf], start[leaf], 0, MODULUS)
        inside = (start + length // 2)[leaf]
        symbols[row[leaf], inside] = digit
        values[row[leaf], start[leaf]] = np.where(signed[leaf], -digit, digit) % MODULUS

        row, start, length = row[~leaf], start[~leaf], length[~leaf]
        left = 1 + drawn(row, start, 1, np.maximum(length - 4, 1))
        sign = drawn(row, start, 2, len(signs))
        symbols[row, start + 1 + left] = signs[sign]
        splits.append((row, start, left, sign))
        row = np.concatenate([row, row])
        start, length = (
            np.concatenate([start + 1, start + 2 + left]),
            np.concatenate([left, length - 3 - left]),
        )

    for row, start, left, sign in reversed(splits):
        first, second = values[row, start + 1], values[row, start + 2 + left]
        outcomes = np.stack([first + second, first - second, first * second])
        values[row, start] = outcomes[sign, np.arange(len(row))] % MODULUS
    return Strings(symbols, lengths), values[:, 0] if values.size else np.zeros_like(lengths)
