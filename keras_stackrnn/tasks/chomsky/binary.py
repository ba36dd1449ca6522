"""Arithmetic on binary numbers of any length: sums, products and square roots.

Python's own whole numbers do it, a row at a time: they are exact, and quick at any length.
"""

import math
from collections.abc import Iterable

import numpy as np

from keras_stackrnn.tasks.chomsky.suite import chomsky, pairs
from keras_stackrnn.tasks.draws import scale, words
from keras_stackrnn.tasks.strings import Strings, backwards, cut, joined, random_strings, repeated
from keras_stackrnn.tasks.transduction import Pairs

# Both operators stand at the same place of their alphabets.
SUM = "01+"
PRODUCT = "01*"
OUTPUTS = "01."
_OPERATOR = SUM.index("+")
_TERMINATOR = OUTPUTS.index(".")


@chomsky(SUM, OUTPUTS, answer_places=(1, 1, 1), terminator=".", example="101+01 -> 111.000")
def binary_addition(sizes: np.ndarray, keys: np.ndarray) -> Pairs:
    """Two numbers and their sum, the least significant digit first, then a terminator.

    Below size 3 there is no room for two: it is one number, and the number is the answer.
    """
    inputs, left, right = _operands(sizes, keys)
    return _terminated(inputs, map(int.__add__, left, right), sizes + 1)


@chomsky(PRODUCT, OUTPUTS, terminator=".", example="101*01 -> 0101.0")
def binary_multiplication(sizes: np.ndarray, keys: np.ndarray) -> Pairs:
    """Two numbers and their product, the least significant digit first, then a terminator.

    Below size 3 there is no room for two: it is one number, which asks for a 0 at size 2 and for
    the terminator alone at size 1.
    """
    inputs, left, right = _operands(sizes, keys)
    return _terminated(inputs, map(int.__mul__, left, right), sizes)


@chomsky("01", "01", answer_places=(1, 2, 0), example="100101 -> 110")
def compute_sqrt(sizes: np.ndarray, keys: np.ndarray) -> Pairs:
    """A number and the whole part of its square root, the most significant digit first."""
    numbers = _random_positive(keys, sizes)
    halves = (sizes + 1) // 2
    roots = _digits(map(math.isqrt, _whole_numbers(numbers)), halves.max(initial=0))
    return pairs(backwards(numbers), backwards(cut(roots, halves)))


def _operands(sizes: np.ndarray, keys: np.ndarray) -> tuple[Strings, list[int], list[int]]:
    """What is read, and the two numbers in it, of which the second is 0 below size 3."""
    alone = sizes < 3
    left_lengths = np.where(alone, sizes, 1 + scale(words(keys, 0), np.maximum(sizes - 2, 1)))
    right_lengths = np.where(alone, 0, sizes - 1 - left_lengths)
    left = _random_positive(words(keys, 1), left_lengths)
    right = _random_positive(words(keys, 2), right_lengths)
    # A number alone is any but the largest of its length.
    number = scale(words(keys, 3), 2 ** np.minimum(sizes, 2) - 1)
    for place in range(min(2, left.tokens.shape[1])):
        left.tokens[alone, place] = number[alone] >> place & 1

    operator = repeated(_OPERATOR, np.where(alone, 0, 1))
    inputs = joined(left, operator, right)
    return inputs, _whole_numbers(left), _whole_numbers(right)


def _random_positive(keys: np.ndarray, lengths: np.ndarray) -> Strings:
    """Bits that are not all 0, every such row as likely; what is of length 0 is left alone."""
    symbols = np.zeros((len(lengths), lengths.max(initial=0)), np.int32)
    missing, attempt = np.flatnonzero(lengths), 0
    while missing.size:
        bits = random_strings(words(keys[missing], attempt), lengths[missing], 2).tokens
        symbols[missing, : bits.shape[1]] = bits
        missing = missing[~bits.any(axis=1)]
        attempt += 1
    return Strings(symbols, lengths)


def _terminated(inputs: Strings, results: Iterable[int], lengths: np.ndarray) -> Pairs:
    """Pairs whose answers are the results, a terminator, and zeros up to the lengths."""
    results = list(results)
    answers = _digits(results, lengths.max(initial=0))
    # A 0 has a digit, too, if there is room for one.
    digits = np.array([max(number.bit_length(), 1) for number in results], np.int64)
    digits = np.minimum(digits, lengths - 1)
    answers[np.arange(len(lengths)), digits] = _TERMINATOR
    return pairs(inputs, cut(answers, lengths), counted=digits + 1)


def _whole_numbers(rows: Strings) -> list[int]:
    """The number that each row of bits stands for, the least significant bit first."""
    packed = np.packbits(rows.tokens.astype(np.uint8), axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def _digits(numbers: Iterable[int], width: int) -> np.ndarray:
    """Numbers as rows of that many bits, the least significant first."""
    width_in_bytes = (int(width) + 7) // 8
    packed = b"".join(number.to_bytes(width_in_bytes, "little") for number in numbers)
    packed = np.frombuffer(packed, np.uint8).reshape(-1, width_in_bytes)
    return np.unpackbits(packed, axis=1, count=width, bitorder="little")
