"""Expressions of digits, +, - and * without brackets, and their value modulo 5."""

import numpy as np

from keras_stackrnn.tasks.chomsky.suite import ONE_ANSWER, chomsky, pairs
from keras_stackrnn.tasks.draws import scale, words
from keras_stackrnn.tasks.strings import Strings, cut, places, single
from keras_stackrnn.tasks.transduction import Pairs

# The benchmark's own alphabet has a ninth symbol, which its generator never writes.
INPUTS = "01234+-*_"
MODULUS = 5
_PLUS, _MINUS, _TIMES = (INPUTS.index(symbol) for symbol in "+-*")


@chomsky(INPUTS, "01234", answer_places=ONE_ANSWER, example="1+2*3-4 -> 3")
def modular_arithmetic(sizes: np.ndarray, keys: np.ndarray) -> Pairs:
    """Digits and operators in turn; of an even size, the last place stays empty."""
    expressions = random_expressions(sizes - 1 + sizes % 2, keys)
    return pairs(expressions, single(_value(expressions)))


def random_expressions(lengths: np.ndarray, keys: np.ndarray) -> Strings:
    """Expressions of odd lengths, each digit and each operator as likely as the others."""
    place = places(lengths)
    is_operator = place % 2
    numbers = scale(words(keys[:, None], place), np.where(is_operator, 3, MODULUS))
    return cut(numbers + is_operator * MODULUS, lengths)


def _value(expressions: Strings) -> np.ndarray:
    """The sum of the products: * binds first."""
    symbols = expressions.tokens
    total = np.zeros(len(symbols), np.int64)
    product = symbols[:, 0].astype(np.int64)
    for place in range(1, symbols.shape[1] - 1, 2):
        # Past a row's end there are zeros, which neither add nor multiply.
        operator, digit = symbols[:, place], symbols[:, place + 1]
        ends_product = (operator == _PLUS) | (operator == _MINUS)
        total += product * ends_product
        product = np.where(
            ends_product,
            np.where(operator == _MINUS, -digit, digit),
            np.where(operator == _TIMES, product * digit, product) % MODULUS,
        )
    return (total + product) % MODULUS
