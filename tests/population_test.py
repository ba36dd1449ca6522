"""Tests of the population's noise: what it is added to, and how it is drawn."""

import numpy as np
import pytest
import tensorflow as tf

from keras_stackrnn.training import population

REPLICAS, LANES, STEPS = 2, 3, 6
ARCHITECTURE = population.Architecture(
    kind="stack",
    symbols=4,
    units=5,
    memories=2,
    no_op=True,
    use_recurrent_kernel=True,
    read_depth=2,
    capacity=8,
)
SEED = tf.constant([7, 0])


def trainer(**values) -> population.Trainer:
    options = {"optimizer": "adam", "clip_norm": 1.0, "clip_value": None}
    values = {"noise": 0.0, "hidden_noise": 0.0, **options, **values}
    return population.Trainer(ARCHITECTURE, only_deterministic=False, **values)


def predicted(state, weights, noise=None):
    tokens = tf.random.stateless_uniform([REPLICAS, LANES, STEPS], SEED, 0, 4, tf.int32)
    return population.forward(
        ARCHITECTURE, weights, state.hidden, state.memory, tokens, noise=noise
    )[0].numpy()


@pytest.fixture(name="state", scope="module")
def fixture_state() -> population.State:
    return population.new_state(ARCHITECTURE, list(range(REPLICAS)), LANES, 1.0)


def test_noise_on_hidden_units_is_a_bias_of_each_lane(state):
    noise = trainer(hidden_noise=0.7)._noise(SEED, STEPS, REPLICAS, LANES)
    noisy = predicted(state, state.weights, noise)

    for lane in range(LANES):
        biases = noise.hidden[0, :, None, :, lane]
        shifted = {**state.weights, "kernel": state.weights["kernel"] + biases}
        expected = predicted(state, shifted)
        np.testing.assert_allclose(noisy[..., lane], expected[..., lane], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("part", ["controls", "hidden"])
def test_noise_has_its_standard_deviation_and_is_drawn_anew_with_every_seed(part):
    noise_of = trainer(noise=1.5, hidden_noise=0.5)._noise
    first, again = (getattr(noise_of(SEED, 50, 16, 8), part).numpy() for _ in range(2))
    other = getattr(noise_of(tf.constant([7, 1]), 50, 16, 8), part).numpy()

    np.testing.assert_array_equal(first, again)
    assert np.std(first) == pytest.approx({"controls": 1.5, "hidden": 0.5}[part], rel=0.1)
    assert abs(np.corrcoef(first.ravel(), other.ravel())[0, 1]) < 0.2


def test_both_noises_are_drawn_independently():
    noise = trainer(noise=1.0, hidden_noise=1.0)._noise(SEED, 1, 16, 8)
    size = min(tf.size(noise.controls), tf.size(noise.hidden))
    ravelled = [tf.reshape(part, [-1])[:size] for part in noise]

    assert abs(np.corrcoef(*ravelled)[0, 1]) < 0.2
