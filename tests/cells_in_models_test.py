"""Tests of models with StackCell and ListCell on TensorFlow: compiled, trained, saved, loaded."""

import keras
import numpy as np
import pytest
import test_case
from keras.regularizers import L2
from test_case import each_kind, random, randomise

if keras.backend.backend() != "tensorflow":
    pytest.skip("these tests train with TensorFlow", allow_module_level=True)

import tensorflow as tf

from keras_stackrnn import ListCell, StackCell

FEATURES = 3


def model_of(*cells):
    model = keras.Sequential(
        [
            keras.Input((None, FEATURES)),
            keras.layers.RNN(cells, return_sequences=True),
            keras.layers.Dense(2, activation="softmax"),
        ]
    )
    randomise(model)
    return model


def stack_and_list():
    return model_of(StackCell(4, capacity=6), ListCell(4, capacity=6))


def examples(count=16, time=5):
    labels = np.random.default_rng(1).integers(0, 2, (count, time))
    return random(count, time, FEATURES), labels


@each_kind
def test_eager_graph_and_jit_agree(kind):
    inputs = random(2, 5, FEATURES)
    cell = kind(4, memories=2, capacity=6, no_op=True, dtype="float64")
    rnn = keras.layers.RNN(cell, return_sequences=True, return_state=True, dtype="float64")
    rnn.build(inputs.shape)
    randomise(rnn)

    def step(sequences):
        with tf.GradientTape() as tape:
            results = rnn(sequences)
            loss = sum(tf.reduce_sum(result**3) for result in results)
        return [*results, *tape.gradient(loss, rnn.trainable_weights)]

    eager, graph, jit = (
        compiled(tf.constant(inputs))
        for compiled in (step, tf.function(step), tf.function(step, jit_compile=True))
    )

    assert len(eager) == 3 + len(rnn.weights)
    for compiled in (graph, jit):
        for one, other in zip(eager, compiled, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


@each_kind
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_jit_keeps_empty_slots_exactly_empty(kind, dtype):
    time, capacity = 4, 16
    # Keras' default initialiser of the recurrent kernel knows no bfloat16.
    options = {"use_recurrent_kernel": False, "dtype": dtype}
    cell = kind(4, memories=3, capacity=capacity, no_op=True, **options)
    rnn = keras.layers.RNN(cell, return_state=True, dtype=dtype)
    inputs = random(8, time, FEATURES)
    rnn.build(inputs.shape)
    randomise(rnn, scale=2.0)

    _, _, memory = tf.function(rnn, jit_compile=True)(tf.constant(inputs))

    slots = test_case.memory_of(cell, tf.cast(memory, "float64"))
    written = 0 if kind is test_case.STACK else capacity // 2
    reached = [i for i in range(capacity) if abs(i - written) < time]
    assert np.all(np.delete(slots, reached, axis=2) == -1)
    assert np.any(slots[:, :, written] > -0.5)


OPTIMIZERS = {
    "SGD": {"momentum": 0.9, "nesterov": True},
    "Adam": {},
    "AdamW": {},
    "RMSprop": {},
    "Adagrad": {},
    "Nadam": {"clipnorm": 1.0},
    "Lion": {"learning_rate": 0.003},
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_fit_lowers_the_loss_with(name):
    optimizer = getattr(keras.optimizers, name)(**{"learning_rate": 0.03, **OPTIMIZERS[name]})
    model = stack_and_list()
    before = model.get_weights()
    model.compile(optimizer, "sparse_categorical_crossentropy", run_eagerly=True)

    history = model.fit(*examples(time=3), epochs=4, verbose=0).history["loss"]

    assert history[-1] < history[0] - 0.005
    assert all(np.any(one != other) for one, other in zip(before, model.get_weights(), strict=True))


def test_fit_compiled_is_fit_not_compiled():
    """With a length that is not known beforehand, so that XLA differentiates a real loop."""

    def train(jit_compile):
        model = stack_and_list()
        model.compile("sgd", "sparse_categorical_crossentropy", jit_compile=jit_compile)
        model.fit(*examples(), batch_size=8, shuffle=False, verbose=0)
        return model.get_weights()

    before = stack_and_list().get_weights()
    for start, plain, compiled in zip(before, train(False), train(True), strict=True):
        assert np.any(plain != start)
        np.testing.assert_allclose(plain, compiled, atol=1e-5)


@pytest.mark.parametrize("policy", ["mixed_float16", "float64"])
def test_fit_in_other_precisions(policy):
    keras.config.set_dtype_policy(policy)
    model = stack_and_list()
    model.compile(keras.optimizers.Adam(0.03), "sparse_categorical_crossentropy")

    history = model.fit(*examples(), epochs=6, batch_size=8, verbose=0).history["loss"]

    assert history[-1] < history[0] - 0.01


def test_two_trainings_with_one_seed_give_the_same_weights():
    def train():
        keras.utils.set_random_seed(1)
        cells = [StackCell(4, capacity=6), ListCell(4, capacity=6)]
        model = keras.Sequential([keras.Input((5, FEATURES)), keras.layers.RNN(cells)])
        start = model.get_weights()
        model.compile("adam", "mse")
        model.fit(random(16, 5, FEATURES), random(16, 4), epochs=2, batch_size=4, verbose=0)
        return start, model.get_weights()

    (start, first), (_, again) = train(), train()

    for before, one, same in zip(start, first, again, strict=True):
        np.testing.assert_array_equal(one, same)
        assert np.any(one != before)


@each_kind
def test_constraints_and_regularizers_act_in_fit(kind):
    cell = kind(4, capacity=6, memory_constraint="non_neg", action_regularizer=L2(10.0))
    model = model_of(cell)
    size = np.abs(cell.action_kernel.numpy()).sum()
    model.compile(keras.optimizers.SGD(0.01), "sparse_categorical_crossentropy", run_eagerly=True)

    assert cell.memory_kernel.numpy().min() < 0
    model.fit(*examples(), epochs=3, verbose=0)

    assert cell.memory_kernel.numpy().min() >= 0
    assert np.abs(cell.action_kernel.numpy()).sum() < size / 1.5


def test_weights_alone_can_be_saved_and_loaded(tmp_path):
    model, twin = stack_and_list(), stack_and_list()
    randomise(model, seed=5)
    inputs = random(2, 5, FEATURES)
    assert np.any(model.predict(inputs, verbose=0) != twin.predict(inputs, verbose=0))

    model.save_weights(tmp_path / "model.weights.h5")
    twin.load_weights(tmp_path / "model.weights.h5")

    np.testing.assert_array_equal(twin.predict(inputs, verbose=0), model.predict(inputs, verbose=0))
