"""The exam at the end of a restart's life: does it have the algorithm, or just the sequences?

Right on all validation sequences may still be luck. Two things tell more, on short sequences alone.
A rule that is not quite the right one shows on a rare sequence: there are far more of them here,
and the model has to be sure of all their symbols. And what stands on the brink stands no change:
weights that give the right answers only just, give wrong ones when they are moved a little at
random (flat minima, Hochreiter & Schmidhuber 1997).
"""

import dataclasses

import numpy as np
import tensorflow as tf

from keras_stackrnn.tasks.rows import Rows

_ROWS_A_CALL = 256
# Shares by which weights change: from what hardly shows to what few sequences survive.
_CHANGES = (0.1, 0.2, 0.3, 0.4)
_DRAWS_A_CHANGE = 12


@dataclasses.dataclass(frozen=True)
class Grade:
    """What an exam finds of one replica, soft or rounded, whichever is worse.

    Attributes:
        passed: Whether every sequence was right and every symbol sure enough.
        confidence: The smallest probability that a deterministic symbol got.
        steadiness: Share of the longest sequences that are right though the weights are changed.
    """

    passed: bool
    confidence: float
    steadiness: float

    def rank(self) -> tuple[bool, float]:
        """Higher is better: of those who pass the steadiest, of the others the surest."""
        return self.passed, self.steadiness if self.passed else self.confidence


UNGRADED = Grade(passed=False, confidence=0.0, steadiness=0.0)


class Exam:
    """Grades all replicas of a population.

    Args:
        validate: The `validate` of the population's `Trainer`.
        rows: Sequences, the longest last.
        least_confidence: How sure a replica has to be of every symbol.
        valid: Which symbols may come after those of the rows, where several may.
        ways: Whether actions are rounded: the ways in which each sequence is read.

    Attributes:
        size: The number of sequences.
    """

    def __init__(
        self,
        validate,
        rows: Rows,
        least_confidence: float,
        valid: np.ndarray | None = None,
        ways: tuple[bool, ...] = (False, True),
    ):
        self._ways = ways
        self._validate = validate
        self._least_confidence = least_confidence
        # Rows of zeros, which score nothing, make all calls of one size: that is one program.
        self.size = len(rows.tokens)
        arrays = (rows.tokens, rows.targets, rows.scored, *([] if valid is None else [valid]))
        calls = [tf.constant(_in_calls(array)) for array in arrays]
        self._calls = list(zip(*calls, strict=True))
        self._longest = min(self.size, _ROWS_A_CALL)

    def grade(self, weights: dict[str, np.ndarray]) -> list[Grade]:
        """The grade of each replica with these weights."""
        weights = {name: tf.constant(weight) for name, weight in weights.items()}
        right, confidence = self._right_and_sure(weights)
        passed = right & (confidence >= self._least_confidence)
        columns = (passed, confidence, self._steadiness(weights))
        return [Grade(*values) for values in zip(*(c.tolist() for c in columns), strict=True)]

    def _right_and_sure(self, weights) -> tuple[np.ndarray, np.ndarray]:
        """Whether each replica is right on every row, and how sure it is at least."""
        scores = [score for rows in self._calls for score in self._all_ways(weights, rows)]
        right = np.min([score.right for score in scores], axis=0) == _ROWS_A_CALL
        return right, np.min([score.confidence for score in scores], axis=0)

    def _steadiness(self, weights) -> np.ndarray:
        shares = []
        for change in _CHANGES:
            for draw in range(_DRAWS_A_CHANGE):
                scores = self._all_ways(_changed(weights, change, draw), self._calls[-1])
                wrong = _ROWS_A_CALL - np.min([score.right for score in scores], axis=0)
                shares.append(1 - wrong / self._longest)
        return np.mean(shares, axis=0)

    def _all_ways(self, weights, rows) -> list:
        return [self._validate(weights, *rows, rounding=rounding) for rounding in self._ways]


def _in_calls(array: np.ndarray) -> np.ndarray:
    filled = np.pad(array, [(-len(array) % _ROWS_A_CALL, 0)] + [(0, 0)] * (array.ndim - 1))
    return filled.reshape(-1, _ROWS_A_CALL, *array.shape[1:])


def _changed(weights, change: float, draw: int) -> dict[str, tf.Tensor]:
    """The weights of all replicas, changed at random by a share of each, all in the same way."""
    return {
        name: weight * (1 + change * tf.random.stateless_normal(weight.shape[1:], [draw, number]))
        for number, (name, weight) in enumerate(weights.items())
    }
