"""Tests of controllers: Keras' equations, fused as in the cell's loop, rounded, served."""

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_case import raises_only, random, randomise

if keras.backend.backend() != "tensorflow":
    pytest.skip("the kernels are TensorFlow's", allow_module_level=True)

import tensorflow as tf

from keras_stackrnn import ListRNN, StackCell, StackRNN
from keras_stackrnn.layers import layer_of

BATCH, STEPS, FEATURES, UNITS = 2, 6, 3, 4
NAMES = ("simple", "gru", "lstm", "second_order")
each_controller = pytest.mark.parametrize("controller", NAMES)


def fused_and_loop(kind="stack", **options):
    """A layer that is fused, and the same one with its cell in a loop."""
    every = {"return_sequences": True, "return_state": True, "dtype": "float64", **options}
    pair = [layer_of(kind)(UNITS, 2, use_fused=use_fused, **every) for use_fused in (True, False)]
    for layer in pair:
        layer.build((BATCH, None, FEATURES))
        randomise(layer, seed=4)
    return pair


def results_and_gradients(layer, inputs, **call):
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        results = layer(inputs, training=True, **call)
        results = results if isinstance(results, (list, tuple)) else [results]
        loss = tf.add_n([tf.reduce_sum(tf.sin(2 * each)) for each in results])
    return results, tape.gradient(loss, [inputs, *layer.trainable_variables])


def assert_same(one, other, inputs, atol=1e-9, **call):
    for ours, theirs in zip(
        results_and_gradients(one, inputs, **call),
        results_and_gradients(other, inputs, **call),
        strict=True,
    ):
        for mine, yours in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(mine, yours, rtol=1e-7, atol=atol)


def double(*shape, seed=0):
    return tf.constant(random(*shape, seed=seed), tf.float64)


@pytest.mark.parametrize(
    ("controller", "theirs"), [("gru", keras.layers.GRUCell), ("lstm", keras.layers.LSTMCell)]
)
@pytest.mark.parametrize("use_bias", [True, False])
def test_without_what_is_read_a_cell_is_keras_own(controller, theirs, use_bias):
    theirs = theirs(UNITS, use_bias=use_bias)
    ours = StackCell(UNITS, 2, controller=controller, use_bias=use_bias)
    inputs = random(BATCH, STEPS, FEATURES)
    loops = [keras.layers.RNN(cell, return_sequences=True) for cell in (theirs, ours)]
    for loop in loops:
        loop.build(inputs.shape)
        randomise(loop)
    ours.memory_kernel.assign(tf.zeros_like(ours.memory_kernel))
    for name in ("kernel", "recurrent_kernel", *(["bias"] if use_bias else [])):
        getattr(ours, name).assign(getattr(theirs, name))

    np.testing.assert_allclose(loops[1](inputs), loops[0](inputs), atol=1e-6)


def test_an_lstms_forget_gate_begins_open_as_keras_own():
    ours, theirs = StackCell(UNITS, controller="lstm", use_bias=True), keras.layers.LSTMCell(UNITS)
    for cell in (ours, theirs):
        cell.build((None, FEATURES))

    np.testing.assert_array_equal(ours.bias, theirs.bias)


@settings(max_examples=30)
@given(
    controller=st.sampled_from(NAMES),
    kind=st.sampled_from(("stack", "list", "queue")),
    capacity=st.none() | st.integers(2, 5),
    steps=st.integers(1, 5),
    flags=st.tuples(*[st.booleans()] * 3),
)
def test_fused_is_the_cells_loop(controller, kind, capacity, steps, flags):
    names = ("use_bias", "use_recurrent_kernel", "rounding")
    options = dict(zip(names, flags, strict=True))
    # It looks its next state up by its last one.
    options["use_recurrent_kernel"] |= controller == "second_order"
    pair = fused_and_loop(kind, controller=controller, capacity=capacity, **options)

    assert_same(*pair, double(BATCH, steps, FEATURES))


@each_controller
def test_compiled_is_the_cells_loop(controller):
    options = {"capacity": 20, "dtype": "float32", "use_bias": True, "return_state": False}
    fused, loop = fused_and_loop(controller=controller, **options)
    inputs = tf.constant(random(BATCH, 17, FEATURES))

    compiled = [
        tf.function(lambda x, layer=layer: results_and_gradients(layer, x), jit_compile=True)(
            inputs
        )
        for layer in (fused, loop)
    ]

    for ours, theirs in zip(*map(tf.nest.flatten, compiled), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4)


@each_controller
def test_rounded_layers_take_the_pointers_and_give_the_same(controller):
    fused, loop = fused_and_loop(controller=controller, rounding=True, capacity=3)
    inputs = double(BATCH, STEPS, FEATURES)

    for ours, theirs in zip(fused(inputs), loop(inputs), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


@each_controller
def test_a_layer_with_it_round_trips(controller):
    activation = "softmax" if controller == "second_order" else "relu"
    layer = StackRNN(UNITS, 2, controller=controller, activation=activation, name="layer")

    again = StackRNN.from_config(layer.get_config())

    assert again.get_config() == layer.get_config()
    assert again.cell.controller == layer.cell.controller


def test_an_unknown_controller_is_named():
    with raises_only(
        "Received an invalid value for argument `controller`: expected one of 'simple', 'gru', "
        "'lstm', 'second_order', got 'elman'."
    ):
        StackRNN(4, controller="elman")


RIGHT, LEFT = [[1, 1, 1, 1, 0, 0], [1, 1, 0, 0, 0, 0]], [[0, 0, 1, 1, 1, 1], [0, 1, 1, 1, 1, 1]]
HOLES, NONE = [[0, 1, 0, 1, 1, 0], [1, 0, 0, 1, 0, 1]], [[0] * 6, [1] * 6]


@pytest.mark.parametrize("mask", [RIGHT, LEFT, HOLES, NONE], ids=["right", "left", "holes", "none"])
@pytest.mark.parametrize(
    "options",
    [
        {"capacity": 4},
        {"capacity": None, "zero_output_for_mask": True, "controller": "lstm"},
        {"capacity": 3, "go_backwards": True, "return_sequences": False, "controller": "gru"},
        {"capacity": 3, "use_recurrent_kernel": False, "no_op": True, "return_state": False},
        {"capacity": 4, "kind": "list", "use_recurrent_kernel": False, "controller": "lstm"},
        {"capacity": 4, "kind": "queue", "element_size": 2},
    ],
)
def test_masked_steps_are_fused_and_keras_own(mask, options):
    pair = fused_and_loop(**options)

    assert_same(*pair, double(BATCH, STEPS, FEATURES), mask=tf.constant(np.array(mask, bool)))


@pytest.mark.parametrize("capacity", [3, None])
@pytest.mark.parametrize("mask", [RIGHT, LEFT, HOLES], ids=["right", "left", "holes"])
@each_controller
def test_masked_steps_over_pointers(controller, mask, capacity):
    pair = fused_and_loop(controller=controller, rounding=True, capacity=capacity)
    inputs, mask = double(BATCH, STEPS, FEATURES), tf.constant(np.array(mask, bool))

    ours, theirs = (layer(inputs, mask=mask) for layer in pair)

    for mine, yours in zip(ours[:-1], theirs[:-1], strict=True):
        np.testing.assert_allclose(mine, yours, atol=1e-9)
    # A growing memory may be trimmed to other depths.
    depth = min(ours[-1].shape[1], theirs[-1].shape[1])
    np.testing.assert_allclose(ours[-1][:, :depth], theirs[-1][:, :depth], atol=1e-9)


def test_a_stateful_layer_and_an_initial_state_are_masked_alike():
    mask, inputs = tf.constant(np.array(LEFT, bool)), double(BATCH, STEPS, FEATURES)
    fused, loop = fused_and_loop(capacity=4, stateful=True)
    for layer in (fused, loop):
        layer.stateful and layer._create_state_variables(BATCH)
    for _ in range(2):
        for ours, theirs in zip(fused(inputs, mask=mask), loop(inputs, mask=mask), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_the_mask_of_an_embedding_keeps_the_layer_fused():
    model = keras.Sequential(
        [
            keras.layers.Embedding(5, 4, mask_zero=True),
            keras.layers.Bidirectional(StackRNN(3, 2, use_fused=True)),
            keras.layers.Dense(1),
        ]
    )
    tokens = np.array([[1, 2, 3, 0], [4, 1, 0, 0]])
    padded = np.pad(tokens, [(0, 0), (0, 3)])

    np.testing.assert_allclose(model(padded), model(tokens), atol=1e-6)


@pytest.mark.parametrize("use_fused", [True, False])
@pytest.mark.parametrize("rounding", [True, False])
@each_controller
def test_resets_begin_sequences_anew(use_fused, rounding, controller):
    options = {"controller": controller, "rounding": rounding, "use_bias": True}
    every = {"return_sequences": True, "dtype": "float64", "use_fused": use_fused}
    layer = ListRNN(UNITS, 2, **every, **options)
    layer.build((BATCH, None, FEATURES))
    randomise(layer)
    inputs = double(BATCH, STEPS, FEATURES)
    resets = tf.constant(np.array([[0, 0, 1, 0, 0, 0], [1, 0, 0, 0, 1, 1]], bool))

    outputs = layer(inputs, resets=resets)

    parts = [(0, 0, 2), (0, 2, 6), (1, 0, 4), (1, 4, 5), (1, 5, 6)]
    for row, begin, end in parts:
        alone = layer(inputs[row : row + 1, begin:end])
        np.testing.assert_allclose(outputs[row : row + 1, begin:end], alone, atol=1e-9)


@each_controller
def test_gradients_stop_at_resets_and_are_the_cells_loops(controller):
    pair = fused_and_loop(controller=controller, capacity=3, use_bias=True)
    resets = tf.constant(np.array([[0, 0, 1, 0, 0, 0], [1, 0, 0, 0, 1, 1]], bool))
    mask = tf.constant(np.array(HOLES, bool))

    assert_same(*pair, double(BATCH, STEPS, FEATURES), resets=resets)
    assert_same(*pair, double(BATCH, STEPS, FEATURES), resets=resets, mask=mask)


DROPOUTS = {"dropout": 0.4, "recurrent_dropout": 0.3, "memory_dropout": 0.5}


@each_controller
@pytest.mark.parametrize(
    "names", [DROPOUTS, ["dropout"], ["recurrent_dropout"], ["memory_dropout"]]
)
def test_what_is_dropped_is_the_same_fused_and_in_the_loop(controller, names):
    options = {name: DROPOUTS[name] for name in names}
    pair = fused_and_loop(controller=controller, capacity=4, seed=5, use_bias=True, **options)

    assert_same(*pair, double(BATCH, STEPS, FEATURES))


@pytest.mark.parametrize("name", DROPOUTS)
def test_dropout_acts_in_training_alone_and_anew_for_each_batch(name):
    layer = StackRNN(UNITS, 2, seed=1, **{name: 0.5})
    inputs = random(BATCH, STEPS, FEATURES)

    first, second = layer(inputs, training=True), layer(inputs, training=True)
    still, again = layer(inputs), layer(inputs)

    np.testing.assert_array_equal(still, again)
    assert np.abs(first - second).max() > 1e-4
    assert np.abs(first - still).max() > 1e-4


def test_inputs_are_dropped_as_keras_own_lstm_drops_them():
    ours = StackRNN(UNITS, 1, controller="lstm", use_bias=True, dropout=0.5, seed=3)
    theirs = keras.layers.LSTM(UNITS, dropout=0.5, seed=3)
    inputs = random(BATCH, STEPS, FEATURES)
    for layer in (ours, theirs):
        layer.build(inputs.shape)
    ours.cell.memory_kernel.assign(tf.zeros_like(ours.cell.memory_kernel))
    for name in ("kernel", "recurrent_kernel", "bias"):
        getattr(ours.cell, name).assign(getattr(theirs.cell, name))

    np.testing.assert_allclose(
        ours(inputs, training=True), theirs(inputs, training=True), atol=1e-6
    )


@pytest.mark.parametrize("value", [1, -0.1, "much"])
def test_a_rate_is_from_0_to_below_1(value):
    with raises_only(
        "Received an invalid value for argument `memory_dropout`: expected a number from 0 to "
        f"below 1, got {value!r}."
    ):
        StackRNN(4, memory_dropout=value)
