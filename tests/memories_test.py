"""What holds for every kind of memory, with every way to run it: one reference, written in words.

The reference is `reference.py`. A kind that a user registers is among them.
"""

import functools
import itertools

import keras
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from test_case import random, randomise

if keras.backend.backend() != "tensorflow":
    pytest.skip("most ways to run a memory are TensorFlow's", allow_module_level=True)

import tensorflow as tf

from keras_stackrnn import MemoryCell, NextSymbolModel, layers, memories
from keras_stackrnn.export.reader import Reader
from keras_stackrnn.memories import NO_OP, STAYS, Action, Zipper, registry
from keras_stackrnn.memories.stack import POP, PUSH
from keras_stackrnn.trace.replay import replay

BATCH, FEATURES = 2, 3
COPYING = Zipper("copying_stack", (PUSH, POP, Action("DUPLICATE", +1, 0, STAYS), NO_OP))
EVERY = (*memories.names(), COPYING.name)
each_kind = pytest.mark.parametrize("name", EVERY)
# Of each kind with and without NO-OP, elements of one number and of several.
each_form = pytest.mark.parametrize(
    ("name", "no_op", "element_size"),
    [(name, *form) for name in EVERY for form in ((True, 1), (False, 3))],
)


@pytest.fixture(scope="module", autouse=True)
def _copying_stacks_are_known():
    """While these tests run, and not to others."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_KINDS", dict(registry._KINDS))
        memories.register(COPYING)
        yield


@st.composite
def cells(draw):
    read_depth = draw(st.integers(1, 3))
    return {
        "kind": draw(st.sampled_from(EVERY)),
        "units": draw(st.integers(1, 3)),
        "num_memories": draw(st.integers(1, 2)),
        "capacity": draw(st.none() | st.integers(read_depth, 5)),
        "read_depth": read_depth,
        "no_op": draw(st.booleans()),
        "use_recurrent_kernel": draw(st.booleans()),
        "use_bias": draw(st.booleans()),
        "element_size": draw(st.sampled_from((1, 3))),
        "rounding": draw(st.booleans()),
    }


def layer_of(name="stack", seed=0, **options):
    """A layer with random weights, which returns everything it can."""
    every = {"return_sequences": True, "return_state": True, "dtype": "float64"}
    options = {"units": 3, "num_memories": 2, **every, **options}
    layer = named_layer(name)(options.pop("units"), options.pop("num_memories"), **options)
    layer.build((BATCH, None, FEATURES))
    randomise(layer, seed=seed)
    return layer


def named_layer(name):
    return layers.layer_of(name)


def expected_of(layer, inputs, rows):
    """What the reference says of every sequence: outputs, memories' state, elements lost."""
    cell = layer.cell
    weights = {weight.name: weight.numpy().astype(float).tolist() for weight in cell.weights}
    runs = [reference.run(cell, weights, each.tolist(), rows) for each in inputs]
    outputs = np.array([hidden for hidden, _, _ in runs])
    # [batch, memories, rows, numbers] as the state has it: rows, numbers, memories.
    states = np.array([slots for _, slots, _ in runs]).transpose(0, 2, 3, 1)
    return outputs, states.reshape(len(inputs), -1), sum(lost for *_, lost in runs)


def rows_of(cell, steps):
    """As many rows as the memory has in the end, where none is left out."""
    kind = cell.kind
    return cell.capacity or kind.grown(cell.read_depth, steps)


def same_rows(state, cell, rows):
    """A growing memory's state, with the empty rows that were trimmed."""
    slots = state.numpy().reshape(BATCH, -1, cell.row_size)
    before = cell.kind.head(rows) - cell.kind.head(slots.shape[1])
    after = rows - slots.shape[1] - before
    cut = slots[:, max(0, -before) : slots.shape[1] - max(0, -after)]
    edges = [(0, 0), (max(0, before), max(0, after)), (0, 0)]
    return np.pad(cut, edges, constant_values=-1).reshape(BATCH, -1)


@settings(max_examples=60)
@given(case=cells(), steps=st.integers(1, 5), use_fused=st.booleans())
def test_layers_are_the_reference(case, steps, use_fused):
    """The fused kernels, the cell in a loop and, rounded and fused, pointers; run eagerly."""
    layer = layer_of(case.pop("kind"), use_fused=use_fused, **case)
    inputs = random(BATCH, steps, FEATURES)

    outputs, _, state = layer(inputs)

    rows = rows_of(layer.cell, steps)
    expected, slots, lost = expected_of(layer, inputs, rows)
    np.testing.assert_allclose(outputs, expected, atol=1e-10)
    np.testing.assert_allclose(same_rows(state, layer.cell, rows), slots, atol=1e-10)
    if layer.cell.capacity is not None:
        np.testing.assert_allclose(layer.lost_elements.result(), lost, atol=1e-6)


@each_form
@pytest.mark.parametrize("use_fused", [True, False])
def test_compiled_layers_are_the_reference(name, no_op, element_size, use_fused):
    """In float32, as XLA miscompiles some float64; a graph without XLA gives the same."""
    options = {"no_op": no_op, "element_size": element_size, "capacity": 4, "read_depth": 3}
    layer = layer_of(name, use_fused=use_fused, dtype="float32", **options)
    inputs = random(BATCH, 7, FEATURES)
    expected, slots, _ = expected_of(layer, inputs, 4)

    for jit_compile in (True, False):
        outputs, _, state = tf.function(layer, jit_compile=jit_compile, autograph=False)(inputs)

        np.testing.assert_allclose(outputs, expected, atol=2e-5)
        np.testing.assert_allclose(state, slots, atol=2e-5)


@each_form
@pytest.mark.parametrize("use_fused", [True, False])
def test_gradients_are_finite_differences_of_the_reference(name, no_op, element_size, use_fused):
    options = {"no_op": no_op, "element_size": element_size, "capacity": 3, "use_bias": True}
    layer = layer_of(name, units=2, num_memories=1, use_fused=use_fused, **options)
    inputs = random(BATCH, 4, FEATURES)
    factors = [random(BATCH, 4, 2, seed=5), random(BATCH, 3 * layer.cell.row_size, seed=6)]

    def loss(results):
        return sum((factor * each).sum() for factor, each in zip(factors, results, strict=True))

    with tf.GradientTape() as tape:
        outputs, _, state = layer(inputs, training=True)
        total = tf.reduce_sum(outputs * factors[0]) + tf.reduce_sum(state * factors[1])
    gradients = tape.gradient(total, layer.trainable_variables)

    for variable, gradient in zip(layer.trainable_variables, gradients, strict=True):
        value = variable.numpy()
        for place in itertools.islice(np.ndindex(value.shape), 0, None, 3):
            slopes = []
            for step in (1e-6, -1e-6):
                moved = value.copy()
                moved[place] += step
                variable.assign(moved)
                slopes.append(loss(expected_of(layer, inputs, 3)[:2]))
            variable.assign(value)
            slope = (slopes[0] - slopes[1]) / 2e-6
            np.testing.assert_allclose(gradient[place], slope, rtol=1e-5, atol=1e-8)


@each_form
def test_compiled_training_gives_the_gradients_of_the_cells_loop(name, no_op, element_size):
    """Over several blocks of steps, each on just the rows that can still matter."""
    options = {"no_op": no_op, "element_size": element_size, "dtype": "float32", "seed": 3}
    gradients = []
    for use_fused in (True, False):
        layer = layer_of(name, use_fused=use_fused, capacity=20, return_state=False, **options)

        def gradient(inputs, layer=layer):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(layer(inputs, training=True) ** 2)
            return tape.gradient(loss, layer.trainable_variables)

        compiled = tf.function(gradient, jit_compile=True, autograph=False)
        gradients.append(compiled(tf.constant(random(BATCH, 17, FEATURES))))

    for fused, loop in zip(*gradients, strict=True):
        np.testing.assert_allclose(fused, loop, rtol=1e-3, atol=1e-4)


@functools.cache
def served(name, no_op, element_size, rounding):
    """A model, its reader, and graphs of it that read tokens: over rows, and over stacks."""
    model = NextSymbolModel(
        name,
        "abc",
        units=4,
        memories=2,
        no_op=no_op,
        element_size=element_size,
        rounding=rounding,
        read_depth=3,
        use_bias=True,
    )
    randomise(model, seed=2)
    reader = Reader(model)

    def read(tokens, lengths, piled):
        states = reader.initial_state(tf.shape(tokens)[0])
        carried, records = reader._read(tokens, lengths, states, piled, stops=True, traced=False)
        return records[0][1:], reader.end(carried)

    return model, tf.function(read, autograph=False)


@each_form
@pytest.mark.parametrize(
    ("rounding", "piled"),
    [(False, False), (True, False), (True, True)],
    ids=["soft", "rows", "stacks"],
)
def test_served_graphs_are_the_reference(name, no_op, element_size, rounding, piled):
    model, read = served(name, no_op, element_size, rounding)
    tokens = np.random.default_rng(1).integers(0, 3, (BATCH, 9))
    layer, steps = model.recurrent[0], tokens.shape[1]
    rows = layer.cell.kind.grown(3, steps)

    hiddens, states = read(tf.constant(tokens, tf.int32), tf.constant([steps] * BATCH), piled)

    expected, slots, _ = expected_of(layer, np.eye(3)[tokens], rows)
    np.testing.assert_allclose(tf.transpose(hiddens, [1, 0, 2]), expected, atol=2e-5)
    np.testing.assert_allclose(same_rows(states["memory_0"], layer.cell, rows), slots, atol=2e-5)


@settings(max_examples=30)
@given(
    name=st.sampled_from(EVERY),
    capacity=st.none() | st.integers(1, 5),
    taken=st.lists(st.integers(0, 9), min_size=1, max_size=8),
    read_depth=st.integers(1, 4),
)
def test_replays_and_simulations_are_the_reference(name, capacity, taken, read_depth):
    """Hard actions: rows worked out again from a record, and memories in plain Python."""
    kind = memories.get(name)
    actions = [kind.action_names[each % len(kind.action_names)] for each in taken]
    values = np.linspace(0.1, 0.9, len(actions), dtype="float32")
    weights = np.array([[float(a == n) for n in kind.action_names] for a in actions], "float32")
    rows = capacity or kind.grown(max(read_depth, 1), len(actions))
    marks = (-1.0,) * kind.marks
    slots, lost, simulation = [(-1.0, *marks)] * rows, 0, kind.simulation(capacity)
    places = reference.places(name, rows, min(read_depth, rows))

    [replayed] = replay(kind, weights[:, :, None], values[:, None], capacity)

    for step, (action, value) in enumerate(zip(actions, values.tolist(), strict=True)):
        simulation.act(action, value)
        lost += reference.lost(name, slots, {action: 1.0})
        slots = reference.step(name, slots, {action: 1.0}, (value,))
        assert simulation.read(len(places)) == [slots[place][0] for place in places]
        head = kind.head(len(replayed.contents[step]))
        offset = kind.head(rows) - head
        for row, element in enumerate(replayed.contents[step]):
            expected = slots[row + offset][0] if 0 <= row + offset < rows else -1.0
            assert element == np.float32(expected)
    assert simulation.lost == replayed.lost == lost


@each_kind
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_slots_that_nothing_can_have_reached_stay_exactly_empty(name, dtype):
    cell = MemoryCell(4, 2, capacity=9, read_depth=1, no_op=True, kind=name, dtype=dtype)
    layer = keras.layers.RNN(cell, return_state=True, dtype=dtype)
    layer.build((BATCH, None, FEATURES))
    randomise(layer)

    _, _, state = layer(random(BATCH, 2, FEATURES).astype(dtype))

    slots = np.asarray(state).reshape(BATCH, 9, -1)
    reached = abs(np.arange(9) - cell.kind.head(9)) <= 2
    assert (slots[:, ~reached] == -1).all()
    assert (slots[:, reached] != -1).any()


@each_kind
def test_a_kind_goes_through_its_description(name):
    kind = memories.get(name)

    assert memories.get(name) is kind
    assert memories.get(kind.description()) == kind
    short = kind.using(no_op=False)
    assert short.action_names == kind.action_names[:-1]
    assert memories.get(short.description()).action_names in (
        short.action_names,
        kind.action_names,  # of a kind that is no table
    )
