"""Tests that no element of StackRNN's and ListRNN's memories is lost, or that it is counted."""

import os

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_case import LIST, STACK, built, each_kind, obey, orders, random, to_numpy

if keras.backend.backend() != "tensorflow":
    pytest.skip("memories grow with TensorFlow", allow_module_level=True)

import tensorflow as tf

FEATURES = 3
each_path = pytest.mark.parametrize("use_fused", [True, False], ids=["fused", "loop"])
each_rounding = pytest.mark.parametrize("rounding", [False, True], ids=["soft", "rounded"])


UNITS = {STACK: 2, LIST: 3}


def obedient(kind, memories=2, batch=1, **options):
    layer = kind.rnn(UNITS[kind], memories=memories, use_recurrent_kernel=False, **options)
    obey(layer, batch)
    return layer


def depth_of(layer, slots):
    return tf.shape(slots)[1] / layer.cell.num_memories


# What the orders leave of a memory without bounds, and of one of capacity 3 how much is lost.
SESSIONS = [
    (STACK, "PUSH " * 3, [0.5] * 3, 0),
    (STACK, "PUSH " * 5 + "POP " * 3, [0.5] * 2, 2),
    (STACK, "POP " * 2 + "PUSH " * 4 + "POP " * 6 + "PUSH " * 4, [0.5] * 4, 2),
    (LIST, "INSERT " * 2, [0.5, 0.5, -1], 0),
    (LIST, "INSERT " * 3 + "LEFT", [0.5] * 3, 1),
    (LIST, "INSERT " * 2 + "LEFT " * 3, [-1] * 5 + [0.5] * 2, 2),
    (LIST, "LEFT RIGHT " + "INSERT " * 2 + "RIGHT " * 2, [0.5] * 2 + [-1] * 5, 2),
]
each_session = pytest.mark.parametrize(
    ("kind", "names", "left", "lost"),
    SESSIONS,
    ids=[f"{s[0].name}{i}" for i, s in enumerate(SESSIONS)],
)


@each_session
@each_path
@each_rounding
def test_a_memory_without_bounds_is_as_deep_as_its_elements(
    kind, names, left, lost, use_fused, rounding
):
    layer = obedient(kind, use_fused=use_fused, rounding=rounding, return_state=True)

    _, _, slots = layer(orders(layer.cell, names, batch=2))

    expected = np.repeat(left, 2)
    np.testing.assert_array_equal(to_numpy(slots), [expected, expected])


@each_session
@pytest.mark.parametrize(
    # Every pair of them.
    ("use_fused", "rounding", "stateful"),
    [(True, False, False), (True, True, True), (False, False, True), (False, True, False)],
)
def test_lost_elements_are_counted(kind, names, left, lost, use_fused, rounding, stateful):
    batch, memories = 3, 2
    options = {"use_fused": use_fused, "rounding": rounding, "stateful": stateful}
    layer = obedient(kind, memories, batch, capacity=3, **options)

    layer(orders(layer.cell, names, batch))

    assert float(layer.lost_elements.result()) == lost * batch * memories


@each_kind
@each_path
@each_rounding
@pytest.mark.parametrize("return_state", [False, True])
def test_elements_of_the_initial_state_are_counted_too(kind, use_fused, rounding, return_state):
    capacity, steps = 9, 3
    options = {"capacity": capacity, "rounding": rounding, "return_state": return_state}
    layer = obedient(kind, memories=1, use_fused=use_fused, **options)
    full = [np.zeros((2, UNITS[kind])), np.full((2, capacity), 0.25)]

    layer(orders(layer.cell, f"{layer.cell.actions[0]} " * steps, batch=2), initial_state=full)

    assert float(layer.lost_elements.result()) == steps * 2


@each_kind
@settings(max_examples=8)
@given(time=st.integers(1, 5), capacity=st.integers(2, 5), stateful=st.booleans())
def test_both_paths_lose_as_much(kind, time, capacity, stateful):
    inputs = random(2, time, FEATURES)
    lost = []
    for use_fused in (True, False):
        layer = kind.rnn(
            4, memories=2, capacity=capacity, no_op=True, use_fused=use_fused, stateful=stateful
        )
        built(layer, inputs)
        for _ in range(2):
            layer(inputs, training=True)
        lost.append(float(layer.lost_elements.result()))

    assert lost[0] == pytest.approx(lost[1], rel=1e-4, abs=1e-5)
    reach = capacity if kind is STACK else capacity // 2 + 1
    if time * (1 + stateful) < reach:
        assert lost == [0, 0]


@each_kind
def test_losses_show_up_in_the_logs(kind):
    layer = obedient(kind, memories=1, capacity=5)
    model = keras.Sequential([layer])
    model.compile("sgd", "mse")
    write, *_ = layer.cell.actions
    inputs = orders(layer.cell, f"{write} " * 9, batch=4)
    targets = np.zeros((4, UNITS[kind]))
    a_sequence = 4 if kind is STACK else 6

    logs = model.fit(inputs, targets, epochs=2, batch_size=2, verbose=0).history
    evaluated = model.evaluate(inputs, targets, verbose=0, return_dict=True)

    assert logs["lost_elements"] == [4 * a_sequence] * 2
    assert evaluated["lost_elements"] == 4 * a_sequence


@each_kind
@each_path
@each_rounding
def test_a_long_session_does_not_grow_for_nothing(kind, use_fused, rounding):
    layer = obedient(kind, use_fused=use_fused, rounding=rounding, stateful=True)
    layer(orders(layer.cell, f"{layer.cell.actions[0]} " * 2))
    # Back and forth: a list has no way to drop an element.
    session = {STACK: "PUSH PUSH POP POP", LIST: "LEFT LEFT RIGHT RIGHT"}
    for _ in range(6):
        layer(orders(layer.cell, session[kind]))
        assert depth_of(layer, layer.states[1]) == {STACK: 2, LIST: 3}[kind]


@each_kind
@each_path
@each_rounding
def test_reset_empties_a_grown_memory(kind, use_fused, rounding):
    layer = obedient(
        kind, use_fused=use_fused, rounding=rounding, stateful=True, return_sequences=True
    )
    write = orders(layer.cell, f"{layer.cell.actions[0]} " * 6)

    layer(write)
    assert depth_of(layer, layer.states[1]) == {STACK: 6, LIST: 11}[kind]
    layer.reset_state()
    assert depth_of(layer, layer.states[1]) == 2
    np.testing.assert_array_equal(layer.states[1], np.full((1, 4), -1))
    layer(write)
    assert depth_of(layer, layer.states[1]) == {STACK: 6, LIST: 11}[kind]


@each_kind
@each_rounding
@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "jit"])
def test_compiled_states_are_deep_enough(kind, rounding, jit_compile):
    layer = obedient(kind, rounding=rounding, return_state=True)
    inputs = tf.constant(orders(layer.cell, f"{layer.cell.actions[0]} " * 6))

    _, _, slots = tf.function(layer, jit_compile=jit_compile)(inputs)

    assert np.sum(slots == 0.5) == 6 * 2


@each_kind
@each_rounding
def test_fit_carries_a_growing_memory(kind, rounding):
    layer = obedient(kind, memories=1, batch=2, rounding=rounding, stateful=True)
    model = keras.Sequential([keras.Input(batch_shape=(2, None, UNITS[kind])), layer])
    model.compile("sgd", "mse", jit_compile=False)
    inputs = orders(layer.cell, f"{layer.cell.actions[0]} " * 4, batch=6)

    logs = model.fit(inputs, np.zeros((6, UNITS[kind])), batch_size=2, shuffle=False, verbose=0)

    assert "lost_elements" not in logs.history
    assert depth_of(layer, layer.states[1]) == {STACK: 12, LIST: 23}[kind]


@each_kind
def test_compiling_a_growing_state_says_what_is_missing(kind):
    layer = obedient(kind, stateful=True)
    inputs = tf.constant(orders(layer.cell, f"{layer.cell.actions[0]} " * 6))

    assert not layer.supports_jit
    assert obedient(kind).supports_jit
    with pytest.raises(ValueError, match="cannot be compiled, as its state's size depends on"):
        tf.function(layer, jit_compile=True)(inputs)


MILLION = 1_000_000
BATCHES = {"known": 1, "unknown": None}


@each_kind
@each_path
@pytest.mark.parametrize("batch", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("capacity", [None, 200_000])
def test_a_million_soft_steps_are_refused(kind, use_fused, batch, capacity):
    layer = kind.rnn(4, memories=10, capacity=capacity, use_fused=use_fused)
    layer.build((batch, None, FEATURES))
    rows = capacity or (MILLION if kind is STACK else 2 * MILLION)
    needed = rows * 10 * MILLION * 4 / 2**30

    @tf.function(input_signature=[tf.TensorSpec([batch, MILLION, FEATURES])])
    def train(inputs):
        return layer(inputs, training=True)

    with pytest.raises(ValueError, match=rf"about {needed:,.0f} GiB for 1,000,000 steps"):
        train.get_concrete_function()


@each_kind
@pytest.mark.parametrize("return_state", [False, True])
def test_rows_out_of_reach_count_where_a_state_is_returned(kind, return_state, monkeypatch):
    machine = {"SC_PHYS_PAGES": 1_000, "SC_PAGE_SIZE": 4_096}
    monkeypatch.setattr(os, "sysconf", machine.__getitem__)
    # 8 MB for all rows of every step, and at most 1.7 MB for those that the steps can reach.
    layer = kind.rnn(4, memories=10, capacity=1_000, use_fused=True, return_state=return_state)
    inputs = tf.zeros((4, 50, FEATURES))

    if return_state:
        with pytest.raises(ValueError, match="would take about 0 GiB for 50 steps"):
            layer(inputs, training=True)
    else:
        assert layer(inputs, training=True).shape == (4, 4)
