"""Tests that StackRNN and ListRNN, fused, give what their cells give in `keras.layers.RNN`.

Outputs, states and all gradients, in float64, where an error cannot hide behind rounding; but
compiled in float32, since XLA (of TensorFlow 2.21) miscompiles lists of some sizes in float64.
"""

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_case import LIST, each_kind, random

if keras.backend.backend() != "tensorflow":
    pytest.skip("only TensorFlow has fused kernels", allow_module_level=True)

import tensorflow as tf
from layer_case import FEATURES, fused_and_loop, in_rows, states_of

from keras_stackrnn import EditorRNN, TapeRNN
from keras_stackrnn.kernels import scan

PRECISIONS = {
    "graph": ("float64", {"rtol": 1e-9, "atol": 1e-11}),
    "jit": ("float32", {"rtol": 1e-4, "atol": 1e-4}),
}


@pytest.fixture(autouse=True)
def several_blocks_of_steps(monkeypatch):
    """Also in short sequences; a first, a last and one in between, as XLA is slow with each."""
    monkeypatch.setattr(scan, "SHORTEST_BLOCK", 1)
    monkeypatch.setattr(scan, "BLOCKS", 3)


def results_and_gradients(kind, layer, inputs, states=None, training=False, rows=None):
    """The layer's results, and the gradients of all that it depends on."""
    states = states or []
    with tf.GradientTape() as tape:
        tape.watch([inputs, *states])
        first = states
        if rows and states:
            first = [states[0], in_rows(kind, states[1], layer.cell.num_memories, rows)]
        results = layer(inputs, initial_state=first or None, training=training)
        results = results if layer.return_state else [results]
        loss = sum(tf.reduce_sum(tf.sin(3 * result)) for result in results)
    sources = [weight.value for weight in layer.trainable_weights] + [inputs, *states]
    return results, tape.gradient(loss, sources, unconnected_gradients="zero")


def assert_agree(kind, layer, loop, ones, others, rtol=1e-9, atol=1e-11):
    (results, gradients), (expected, expected_gradients) = ones, others
    if layer.return_state and layer.cell.capacity is None:
        *results, slots = results
        memories, rows = layer.cell.num_memories, loop.cell.capacity
        results = [*results, in_rows(kind, slots, memories, rows)]
    for one, other in zip([*results, *gradients], [*expected, *expected_gradients], strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)


@st.composite
def cases(draw):
    read_depth = draw(st.integers(1, 3))
    options = {
        "units": draw(st.integers(1, 4)),
        "memories": draw(st.integers(1, 3)),
        "capacity": draw(st.none() | st.integers(read_depth, 10)),
        "read_depth": read_depth,
        "activation": draw(st.sampled_from(["sigmoid", "tanh", "relu", "linear"])),
    }
    for name in (
        *("no_op", "use_recurrent_kernel", "use_bias", "rounding"),
        *("return_sequences", "return_state", "go_backwards"),
    ):
        options[name] = draw(st.booleans())
    batch, time = draw(st.integers(1, 3)), draw(st.integers(1, 6))
    start = draw(st.none() | st.integers(read_depth, 6))
    return options, batch, time, start, draw(st.booleans())


@each_kind
@settings(max_examples=20)
@given(case=cases())
def test_results_and_gradients_are_the_cells(kind, case):
    options, batch, time, start, training = case
    deepest = (start or options["read_depth"]) + 2 * time + 2
    layer, loop = fused_and_loop(kind, options, ample=deepest)
    inputs = tf.constant(random(batch, time, FEATURES), tf.float64)
    states = None
    if start:
        rows = options["capacity"] or start
        states = states_of(batch, options["units"], options["memories"], rows)

    ones = results_and_gradients(kind, layer, inputs, states, training)
    others = results_and_gradients(kind, loop, inputs, states, training, loop.cell.capacity)

    if options["rounding"] and not training:
        # Rounded actions have no gradient, and nobody learns from the rest of it.
        ones, others = (ones[0], []), (others[0], [])
    assert_agree(kind, layer, loop, ones, others)


COMPILED = {
    "plain": {"capacity": 6},
    "deep": {"capacity": 40, "read_depth": 3, "no_op": True},
    "growing": {"capacity": None, "use_bias": True, "return_state": True},
    "all": {
        **{"capacity": 7, "no_op": True, "use_bias": True, "read_depth": 1, "activation": "tanh"},
        **{"return_state": True, "go_backwards": True, "use_recurrent_kernel": False},
    },
}


# XLA takes seconds for each: there, every option once, and no known sizes in a graph as well.
WAYS = [
    *((name, "unknown", "graph") for name in COMPILED),
    *(("plain", "known", "graph"), ("growing", "known", "graph")),
    *(("deep", "known", "jit"), ("all", "known", "jit"), ("growing", "unknown", "jit")),
]


@each_kind
@pytest.mark.parametrize(("name", "sizes", "way"), WAYS)
def test_compiled_with_known_and_unknown_sizes(kind, name, sizes, way):
    batch, time, start = 3, 6, 4
    dtype, tolerance = PRECISIONS[way]
    options = {"units": 4, "memories": 2, "return_sequences": True, **COMPILED[name]}
    layer, loop = fused_and_loop(kind, options, ample=start + 2 * time, dtype=dtype)
    inputs = tf.constant(random(batch, time, FEATURES), dtype)
    states = states_of(batch, 4, 2, options["capacity"] or start, dtype)

    def run(inputs, *states):
        return results_and_gradients(kind, layer, inputs, list(states), training=True)

    signature = [tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in (inputs, *states)]
    if sizes == "unknown":
        slots = None if options["capacity"] is None else options["capacity"] * 2
        shapes = [[None, None, FEATURES], [None, 4], [None, slots]]
        signature = [tf.TensorSpec(shape, dtype) for shape in shapes]
    compiled = tf.function(run, input_signature=signature, jit_compile=way == "jit")

    if (sizes, way) == ("unknown", "jit"):
        with pytest.warns(UserWarning, match="compiled for sequences of a length that is not"):
            results = compiled(inputs, *states)
    else:
        results = compiled(inputs, *states)

    expected = results_and_gradients(
        kind, loop, inputs, states, training=True, rows=loop.cell.capacity
    )
    assert_agree(kind, layer, loop, results, expected, **tolerance)


@each_kind
@pytest.mark.parametrize(("capacity", "way"), [(5, "graph"), (30, "graph"), (12, "jit")])
def test_stateful_over_several_windows(kind, capacity, way):
    dtype, tolerance = PRECISIONS[way]
    options = {"units": 4, "memories": 3, "capacity": capacity, "return_sequences": True}
    layer, loop = fused_and_loop(kind, {**options, "stateful": True}, dtype=dtype)

    def run(inputs):
        return results_and_gradients(kind, layer, inputs, training=True)

    compiled = tf.function(run, jit_compile=way == "jit")
    for window in range(3):
        inputs = tf.constant(random(2, 4, FEATURES, seed=window), dtype)
        expected = results_and_gradients(kind, loop, inputs, training=True)
        assert_agree(kind, layer, loop, compiled(inputs), expected, **tolerance)
        for one, other in zip(layer.states, loop.states, strict=True):
            np.testing.assert_allclose(one, other, **tolerance)


@each_kind
@settings(max_examples=6)
@given(windows=st.lists(st.integers(1, 4), min_size=2, max_size=4))
def test_stateful_memory_that_grows(kind, windows):
    options = {"units": 4, "memories": 2, "capacity": None, "return_sequences": True}
    ample = 2 * sum(windows) + 2
    layer, loop = fused_and_loop(kind, {**options, "stateful": True}, ample=ample)

    for window, time in enumerate(windows):
        inputs = tf.constant(random(2, time, FEATURES, seed=window), tf.float64)
        ones, others = (
            results_and_gradients(kind, rnn, inputs, training=True) for rnn in (layer, loop)
        )
        assert_agree(kind, layer, loop, ones, others)
        deepened = in_rows(kind, tf.convert_to_tensor(layer.states[1]), 2, ample)
        np.testing.assert_allclose(deepened, loop.states[1], rtol=1e-9, atol=1e-11)


@each_kind
def test_in_float32_up_to_its_rounding(kind):
    options = {"units": 16, "memories": 4, "capacity": 15, "no_op": True, "return_sequences": True}
    layer, loop = fused_and_loop(kind, options, dtype="float32")
    inputs = tf.constant(random(8, 20, FEATURES))

    compiled = tf.function(
        lambda: results_and_gradients(kind, layer, inputs, training=True), jit_compile=True
    )

    expected = results_and_gradients(kind, loop, inputs, training=True)
    assert_agree(kind, layer, loop, compiled(), expected, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("cls", [TapeRNN, EditorRNN])
def test_other_kinds_with_two_sides_are_left_to_the_loop_where_float64_is_compiled(cls):
    def is_fused_when_compiled(dtype):
        layer = cls(4, dtype=dtype)
        found = []
        tf.function(
            lambda: found.append(layer.is_fused()), jit_compile=True
        ).get_concrete_function()
        return [*found, layer.is_fused()]

    assert is_fused_when_compiled("float64") == [False, True]
    assert is_fused_when_compiled("float32") == [True, True]


def test_lists_in_float64_are_left_to_the_loop_where_they_are_compiled():
    """Of this size XLA's program of the kernels computes, and even writes, something else."""
    options = {"units": 4, "memories": 2, "capacity": 9, "return_sequences": True}
    fused_layer, loop = fused_and_loop(LIST, options)
    layer = LIST.layer.from_config({**fused_layer.get_config(), "use_fused": "auto"})
    layer.build((2, None, FEATURES))
    layer.set_weights(fused_layer.get_weights())
    inputs = tf.constant(random(2, 6, FEATURES), tf.float64)

    compiled = tf.function(
        lambda: results_and_gradients(LIST, layer, inputs, training=True), jit_compile=True
    )

    with pytest.warns(UserWarning, match="miscompiles lists of some sizes in float64"):
        results = compiled()

    expected = results_and_gradients(LIST, loop, inputs, training=True)
    assert_agree(LIST, layer, loop, results, expected)
