"""Binary addition: two numbers, and their sum with the least significant digit first."""

import re
from collections.abc import Iterator

import numpy as np

from keras_stackrnn.tasks.draws import Draw, Draws, scale, words
from keras_stackrnn.tasks.next_symbol import next_symbol
from keras_stackrnn.tasks.pattern import Batch

_ALPHABET = "01+=."
_PLUS, _EQUALS, _STOP = (_ALPHABET.index(symbol) for symbol in "+=.")
_OPERANDS = re.compile(r"([01]*)(?:\+([01]*))?")


def _left_length(n, shorter, below):
    """A length for the left operand with no more than `shorter` digits in the shorter operand.

    All such lengths are as likely; without a limit that is all from 1 to n - 1. Numbers or arrays.
    """
    lengths = np.minimum(2 * np.minimum(shorter, n), n - 1)
    place = below(lengths)
    return np.where(place < shorter, 1 + place, n - lengths + place)


def _add_batch(n: np.ndarray, keys: np.ndarray, shorter: np.ndarray | None = None) -> Batch:
    left_length = _left_length(n, n if shorter is None else shorter, Draws(keys).below)
    right_length = n - left_length
    digits = _operand_digits(n, left_length, keys)
    sums = _add_columns(digits, left_length, right_length)
    longer = np.maximum(left_length, right_length)
    carried_out = sums[np.arange(len(n)), longer]
    sum_length = longer + carried_out
    lengths = n + sum_length + 3

    place = np.arange(lengths.max())
    plus, equals = left_length[:, None], n[:, None] + 1
    operand_place = np.minimum(place - (place > plus), digits.shape[1] - 1)
    sum_place = np.clip(place - equals - 1, 0, sums.shape[1] - 1)
    tokens = np.where(
        place < equals,
        np.take_along_axis(digits, operand_place, axis=1),
        np.take_along_axis(sums, sum_place, axis=1),
    )
    rows = np.arange(len(n))
    tokens[rows, left_length] = _PLUS
    tokens[rows, n + 1] = _EQUALS
    tokens[rows, lengths - 1] = _STOP
    written = place < lengths[:, None]
    deterministic = np.broadcast_to(place > equals, written.shape)
    return Batch(tokens[written].astype(np.int32), deterministic[written], lengths)


def _operand_digits(n: np.ndarray, left_length: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """[sequences, largest n]: the left operand's digits, then the right one's, each led by a 1."""
    place = np.arange(n.max())
    left = left_length[:, None]
    # Word 0 was the left operand's length; the two leading digits take none.
    digits = scale(words(keys[:, None], place - (place > left)), 2)
    digits[(place == 0) | (place == left)] = 1
    return digits.astype(np.int8)


def _add_columns(digits: np.ndarray, left_length: np.ndarray, right_length: np.ndarray):
    """[sequences, longest operand + 1]: the sum's digits, least significant first."""
    longest = max(left_length.max(), right_length.max())
    sums = np.zeros((len(digits), longest + 1), np.int8)
    rows = np.arange(len(digits))
    n = left_length + right_length
    carry = np.zeros(len(digits), np.int8)
    for column in range(longest):
        left = digits[rows, left_length - 1 - column] * (column < left_length)
        right = digits[rows, n - 1 - column] * (column < right_length)
        total = left + right + carry
        sums[:, column] = total & 1
        carry = total >> 1
    sums[:, longest] = carry
    return sums


def _recover(text: str, start: int) -> Iterator[tuple[int, list[int]]]:
    left, right = _OPERANDS.match(text, start).groups()
    # Of a text that ends before the second number, no more can be told than is there.
    right = right or "1"
    yield len(left) + len(right), [len(left) - 1, *map(int, left[1:] + right[1:])]


@next_symbol(
    "binary_addition",
    alphabet=_ALPHABET,
    smallest_n=2,
    n_means="number of digits of both operands together",
    example="101+1=[011.]",
    generate_batch=_add_batch,
    limit_means="number of digits of the shorter operand",
    recover=_recover,
)
def binary_addition(n: int, draw: Draw, shorter: int | None = None) -> tuple[str, str]:
    left_length = int(_left_length(n, shorter or n, lambda lengths: draw.below(int(lengths))))
    left, right = (
        "1" + "".join(draw.choice("01") for _ in range(length - 1))
        for length in (left_length, n - left_length)
    )
    least_significant_first = f"{int(left, 2) + int(right, 2):b}"[::-1]
    return f"{left}+{right}=", f"{least_significant_first}."
