"""Tests that bounds hold for float32 sums in any order, and for TensorFlow's activations."""

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

if keras.backend.backend() != "tensorflow":
    pytest.skip("tables are certified for TensorFlow's kernels", allow_module_level=True)

import tensorflow as tf

from keras_stackrnn.extract import intervals

SEEDS = st.integers(0, 2**32 - 1)
ROWS = 3


def in_some_order(numbers, weights, generator, fused):
    """A sum of products in float32, in an order and with brackets that are drawn."""
    numbers, weights = numbers.astype("float32"), weights.astype("float32")
    order = generator.permutation(len(numbers))
    if fused:
        total = np.float32(0)
        for i in order:  # exact in float64: one rounding for product and sum
            total = np.float32(np.float64(numbers[i]) * np.float64(weights[i]) + np.float64(total))
        return total
    terms = [numbers[i] * weights[i] for i in order]
    while len(terms) > 1:
        i = generator.integers(len(terms) - 1)
        terms[i : i + 2] = [terms[i] + terms[i + 1]]
    return terms[0]


def draw(seed):
    generator = np.random.default_rng(seed)
    terms = int(generator.integers(1, 40))
    scale = 10.0 ** generator.integers(-30, 4)
    weights = (generator.normal(size=(terms, 2)) * scale).astype("float32").astype("float64")
    low = generator.normal(size=(ROWS, terms))
    high = low + abs(generator.normal(size=(ROWS, terms))) * generator.choice([0, 1e-6, 0.1])
    low = low.astype("float32").astype("float64")
    return generator, low, np.maximum(high.astype("float32").astype("float64"), low), weights


def within(low, high, generator):
    """A float32 point of a box, often a corner."""
    share = generator.choice([0.0, 1.0, generator.random()], size=low.shape)
    point = (low + share * (high - low)).astype("float32")
    return np.clip(point, low.astype("float32"), high.astype("float32"))


@settings(max_examples=150, deadline=None)
@given(SEEDS, st.booleans())
def test_sums_of_products_in_any_order_stay_within_their_bounds(seed, fused):
    generator, low, high, weights = draw(seed)

    below, above = intervals.products(low, high, weights)

    assert (below <= above).all()
    for row in range(ROWS):
        point = within(low[row], high[row], generator)
        for column in range(weights.shape[1]):
            found = in_some_order(point, weights[:, column], generator, fused)
            assert below[row, column] <= found <= above[row, column]


@settings(max_examples=150, deadline=None)
@given(SEEDS, st.booleans())
def test_what_leads_for_certain_leads_in_float32(seed, fused):
    generator, low, high, weights = draw(seed)
    first = generator.integers(0, 2, size=ROWS)

    lead = intervals.leads(low, high, weights, first)

    for row in np.flatnonzero(lead > 0):
        point = within(low[row], high[row], generator)
        sums = [in_some_order(point, weights[:, i], generator, fused) for i in (0, 1)]
        assert sums[first[row]] > sums[1 - first[row]]


def test_bounds_are_not_much_wider_than_what_can_be():
    low = high = np.full((1, 40), 0.5)
    below, above = intervals.products(low, high, np.ones((40, 1)))

    assert above - below < 1e-3
    assert below < 20 < above


def test_sums_that_overflow_have_no_bounds():
    low = high = np.full((1, 4), 1e38)

    below, above = intervals.products(low, high, np.ones((4, 1)))

    assert np.isinf(below).all()
    assert np.isinf(above).all()


@pytest.mark.parametrize("name", ["sigmoid", "tanh", "relu"])
@pytest.mark.parametrize("jit_compile", [False, True])
def test_activations_err_by_far_less_than_is_allowed_for(name, jit_compile):
    points = np.linspace(-100, 100, 200_001).astype("float32")
    function, _ = intervals.ACTIVATIONS[name]
    kernel = tf.function(keras.activations.get(name), jit_compile=jit_compile)

    for found in (kernel(points).numpy(), keras.activations.get(name)(points).numpy()):
        error = abs(found - function(points.astype("float64")))
        assert error.max() <= intervals.ACTIVATION_ERROR / 8
