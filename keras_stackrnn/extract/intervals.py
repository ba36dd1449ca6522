"""Bounds on what float32 arithmetic can give: sums of products in any order, and activations.

A sum of n products of float32 numbers, taken in any order, with fused multiply-adds or without, is
within gamma(n) times the sum of the products' sizes of the exact one. Here the exact one is bounded
in float64, whose own rounding is a part of gamma. What is too small for float32 may count as 0.
"""

import numpy as np

# Half the distance from 1 to the next float32, and the smallest normal float32.
_UNIT, _TINY = 2.0**-24, 2.0**-126
_LARGEST = 2.0**127
# How far an activation may be from its exact value: 64 units in the last place of 1. Kernels of
# TensorFlow and XLA were seen to err by less than 5.
ACTIVATION_ERROR = 2.0**-18
# By how much the best of several numbers has to lead, beyond all bounds, to lead for certain: a
# softmax of them may come before they are compared.
CLEAR_LEAD = 2.0**-16

ACTIVATIONS = {
    "sigmoid": (lambda x: 0.5 * (1 + np.tanh(0.5 * x)), ACTIVATION_ERROR),
    "tanh": (np.tanh, ACTIVATION_ERROR),
    "relu": (lambda x: np.maximum(x, 0.0), 0.0),
    "linear": (lambda x: x, 0.0),
}


def products(low: np.ndarray, high: np.ndarray, weights: np.ndarray):
    """Bounds on `x @ weights` in float32, for every x from `low` to `high`.

    Args:
        low: `[rows, terms]`.
        high: `[rows, terms]`.
        weights: `[terms, columns]`, float32 numbers.

    Returns:
        The lower and the upper bounds, `[rows, columns]`.
    """
    below, above = _exact(low, high, weights)
    error = _error(np.maximum(abs(low), abs(high)), weights)
    return _down(below - error), _up(above + error)


def leads(low: np.ndarray, high: np.ndarray, weights: np.ndarray, first: np.ndarray) -> np.ndarray:
    """By how much, at least, one of several sums leads all others in float32.

    Args:
        low: `[rows, terms]`.
        high: `[rows, terms]`.
        weights: `[terms, rivals]`, float32 numbers.
        first: `[rows]`, which of the rivals is to lead.

    Returns:
        `[rows]`, not above 0 where it may not lead.
    """
    sizes = np.maximum(abs(low), abs(high))
    errors = _error(sizes, weights)
    lead = np.full(len(low), np.inf)
    for leader in np.unique(first):
        rows = np.flatnonzero(first == leader)
        for rival in range(weights.shape[1]):
            if rival == leader:
                continue
            # One product with the difference: what both have in common moves neither ahead.
            difference = weights[:, [leader]] - weights[:, [rival]]
            below, _ = _exact(low[rows], high[rows], difference)
            sure = below[:, 0] - errors[rows, leader] - errors[rows, rival] - CLEAR_LEAD
            lead[rows] = np.minimum(lead[rows], _down(sure))
    return lead


def activated(low: np.ndarray, high: np.ndarray, activation: str):
    """Bounds on an activation, which rises, of every x from `low` to `high`."""
    function, error = ACTIVATIONS[activation]
    # The error of float64 functions is far below what is allowed for those of float32.
    return _down(function(low) - error), _up(function(high) + error)


def _exact(low, high, weights):
    """Bounds without any rounding but float64's, which `_error` covers."""
    raising, lowering = np.maximum(weights, 0.0), np.minimum(weights, 0.0)
    return low @ raising + high @ lowering, high @ raising + low @ lowering


def _error(sizes, weights):
    """How far a float32 sum of products may be from `_exact`'s bounds."""
    terms = len(weights) + 2
    gamma = terms * _UNIT / (1 - terms * _UNIT) + 4 * (terms + 4) * 2.0**-53
    total = sizes @ abs(weights)
    largest = 2 + sizes.max(axis=1, keepdims=True) + abs(weights).max()
    error = _up(_up(gamma * total) * (1 + 2.0**-40) + terms * _TINY * largest)
    return np.where(total < _LARGEST, error, np.inf)


def _down(numbers):
    return np.nextafter(numbers, -np.inf)


def _up(numbers):
    return np.nextafter(numbers, np.inf)
