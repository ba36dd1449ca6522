"""Tests that rounded memories kept as real stacks are those of the cell, at a constant cost."""

import math
import re

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_case import LIST, STACK, each_kind, obey, orders, random

if keras.backend.backend() != "tensorflow":
    pytest.skip("pointers need TensorFlow", allow_module_level=True)

import tensorflow as tf
from layer_case import FEATURES, fused_and_loop, in_rows, states_of

from keras_stackrnn.kernels import pointer_scan


@st.composite
def cases(draw):
    read_depth = draw(st.integers(1, 3))
    options = {
        "units": draw(st.integers(1, 4)),
        "memories": draw(st.integers(1, 3)),
        "capacity": draw(st.none() | st.integers(read_depth, 6)),
        "read_depth": read_depth,
    }
    for name in ("no_op", "use_recurrent_kernel", "use_bias", "go_backwards"):
        options[name] = draw(st.booleans())
    start = draw(st.none() | st.integers(read_depth, 6))
    return options, draw(st.integers(1, 3)), draw(st.integers(1, 14)), start


def with_unknown_steps(layer):
    """In a graph that has to be ready for any number of them."""

    @tf.function
    def run(inputs, initial_state):
        return layer(inputs, initial_state=initial_state)

    def call(inputs, initial_state):
        shape = tf.TensorSpec([None, None, FEATURES], tf.float64)
        return run.get_concrete_function(shape, initial_state)(inputs, *(initial_state or []))

    return call


WAYS = {
    "steps known": (1024, lambda layer: layer),
    "chunks": (4, lambda layer: layer),
    "chunks in a graph": (4, with_unknown_steps),
}


@each_kind
@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=6)
@given(case=cases())
def test_results_are_those_of_the_rounded_cell(kind, way, case):
    options, batch, time, start = case
    rows = (start or options["read_depth"]) + 2 * time + 2
    every = {"rounding": True, "return_sequences": True, "return_state": True}
    layer, loop = fused_and_loop(kind, {**options, **every}, ample=rows)
    inputs = tf.constant(random(batch, time, FEATURES), tf.float64)
    states = expected_states = None
    if start:
        depth = options["capacity"] or start
        states = states_of(batch, options["units"], options["memories"], depth)
        deep = in_rows(kind, states[1], options["memories"], loop.cell.capacity)
        expected_states = [states[0], deep]

    chunk, run = WAYS[way]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pointer_scan, "CHUNK", chunk)
        outputs, hidden, slots = run(layer)(inputs, initial_state=states)

    expected = loop(inputs, initial_state=expected_states)
    slots = in_rows(kind, slots, options["memories"], loop.cell.capacity)
    for one, other in zip((outputs, hidden, slots), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def witness(kind, **options):
    """A layer that obeys, with a unit more that says whether there was an element to read."""
    units = {STACK: 3, LIST: 4}[kind]
    layer = kind.rnn(
        units, rounding=True, use_recurrent_kernel=False, return_sequences=True, **options
    )
    obey(layer)
    return layer


def in_and_out(layer, count):
    """`count` elements written, as many taken back, and one too many."""
    write, back, *_ = layer.cell.actions
    once = [orders(layer.cell, name) for name in (write, back)]
    return tf.constant(np.repeat(np.concatenate(once, axis=1), [count, count + 1], axis=1))


@each_kind
def test_a_million_symbols(kind):
    count = 500_000
    layer = witness(kind)

    outputs = layer(in_and_out(layer, count))

    there_is_an_element = outputs[0, :, -1]
    assert there_is_an_element[0] == 0
    assert np.all(there_is_an_element[1:-1] == 1)
    assert there_is_an_element[-1] == 0


@each_kind
def test_arrays_grow_by_doubling(kind, monkeypatch):
    monkeypatch.setattr(pointer_scan, "CHUNK", 64)
    calls = []

    def take_steps(cell, projected, states, pointers, *more):
        stack = pointers.stack if kind is STACK else pointers.sides["left"]
        calls.append((projected.shape[0], int(stack.size)))
        return take_steps_compiled(cell, projected, states, pointers, *more)

    take_steps_compiled = pointer_scan._take_steps_compiled
    monkeypatch.setattr(pointer_scan, "_take_steps_compiled", take_steps)
    layer = witness(kind)

    layer(in_and_out(layer, 1000))

    lengths, sizes = zip(*calls, strict=True)
    assert lengths == (64,) * 31 + (17,)
    assert max(sizes) <= 2 * (1000 + 64)
    assert len(set(sizes)) <= 2 + math.log2(max(sizes) / 64)
    assert list(sizes) == sorted(sizes)


@each_kind
def test_a_compiled_step_copies_no_array(kind):
    layer = witness(kind)
    layer.build((1, None, len(layer.cell.actions)))
    empty = tf.fill([1, 3], -1.0)
    pointers = pointer_scan._pointers_of(layer.cell, empty).grown_for(54_321)
    projected = tf.zeros([32, 1, layer.cell.units])
    states = {"hidden": tf.zeros([1, layer.cell.units])}

    program = pointer_scan._take_steps_compiled.experimental_get_compiler_ir(
        layer.cell, projected, states, pointers, {}, None
    )(stage="optimized_hlo")

    in_loop, entry = re.split(r"^ENTRY ", program, flags=re.MULTILINE)
    assert "f32[54321]" in entry
    assert "dynamic-update-slice" in in_loop
    assert not re.findall(r"f32\[54321\]\S* copy\(", in_loop)


@each_kind
def test_a_step_in_a_graph_copies_no_array(kind):
    layer = witness(kind)
    graph = tf.function(layer).get_concrete_function(
        tf.TensorSpec([None, None, len(layer.cell.actions)])
    )

    operations = {
        node.op
        for function in graph.graph.as_graph_def().library.function
        for node in function.node_def
    }
    assert "InplaceUpdate" in operations
    assert "TensorScatterUpdate" not in operations


@each_kind
def test_a_graph_runs_again_and_again(kind):
    """Arrays that are written in place are the run's own."""
    layer = witness(kind, return_state=True)
    graph = tf.function(
        layer, input_signature=[tf.TensorSpec([None, None, len(layer.cell.actions)])]
    )
    inputs = in_and_out(layer, 20)

    runs = [graph(inputs[:, :steps]) for steps in (20, 30, 41, 20)]

    for one, other in zip(runs[0], runs[3], strict=True):
        np.testing.assert_array_equal(one, other)
    assert np.sum(runs[0][2] == 0.5) == 20
    assert np.sum(runs[1][2] == 0.5) == {STACK: 10, LIST: 20}[kind]


@pytest.mark.parametrize("capacity", [1, 2])
def test_a_side_without_room_is_compiled_too(capacity):
    """XLA cannot reverse rows of nothing, which the right of so small a list has."""
    layer = LIST.rnn(4, 2, capacity=capacity, read_depth=1, rounding=True, return_sequences=True)
    layer.build((2, None, FEATURES))
    inputs, states = random(2, 5, FEATURES), states_of(2, 4, 2, capacity, dtype="float32")

    compiled = tf.function(layer, jit_compile=True)(inputs, initial_state=states)

    np.testing.assert_allclose(compiled, layer(inputs, initial_state=states), atol=1e-6)
