"""Tests that a population's function gives the same in groups as in one piece."""

import keras
import numpy as np
import pytest
from test_case import random

if keras.backend.backend() != "tensorflow":
    pytest.skip("groups of replicas are TensorFlow's", allow_module_level=True)

import tensorflow as tf

from keras_stackrnn.kernels.replica_groups import GROUPS, replica_groups


def update(state, noise, is_first):
    """Something of each replica, `[R, …]`, with noise `[T, R]`."""
    weights = tf.where(is_first, 0.0, state["weights"])
    total = tf.reduce_sum(weights, axis=1) + tf.reduce_sum(noise, axis=0)
    return {"weights": weights + state["age"][:, None], "age": state["age"] + 1}, total


def arguments(replicas):
    state = {"weights": random(replicas, 3, seed=1), "age": random(replicas, seed=2)}
    state = {name: tf.constant(value, tf.float32) for name, value in state.items()}
    return state, tf.constant(random(5, replicas, seed=3), tf.float32)


@pytest.mark.parametrize("replicas", [1, 3, GROUPS, GROUPS + 2, 3 * GROUPS])
@pytest.mark.parametrize("is_first", [False, True])
def test_groups_give_what_all_replicas_give_at_once(replicas, is_first):
    inputs = (*arguments(replicas), tf.constant(is_first))

    results = replica_groups(update, axes=(0, 1, None))(*inputs)

    expected = update(*inputs)
    tf.nest.assert_same_structure(results, expected)
    for one, other in zip(tf.nest.flatten(results), tf.nest.flatten(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_all_groups_are_one_program():
    shapes = []

    def traced(state, noise):
        shapes.append((state["weights"].shape[0], noise.shape[1]))
        return update(state, noise, tf.constant(False))

    replica_groups(traced, axes=(0, 1))(*arguments(3 * GROUPS))

    assert shapes == [(3, 3)]


def test_something_must_have_replicas():
    with pytest.raises(ValueError, match="replica axis"):
        replica_groups(tf.identity, axes=(None,))(tf.zeros(3))
