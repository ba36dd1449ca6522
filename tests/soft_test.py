"""Tests of the memories' arithmetic on rows, for every backend of Keras."""

import keras
import numpy as np
import pytest
import reference
import test_case
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from keras import ops
from test_case import to_numpy

from keras_stackrnn import memories
from keras_stackrnn.memories.layout import MemoryLayout
from keras_stackrnn.memories.soft import EMPTY, action_weights

FLOATS = ("float16", "bfloat16", "float32", "float64")


def arrays(*shape, low=-1.0, high=1.0):
    return hnp.arrays("float64", shape, elements=st.floats(low, high, width=32))


@st.composite
def situations(draw):
    """A layout, rows, action logits and elements to write, of any sizes."""
    kind = memories.get(draw(st.sampled_from(memories.names()))).using(draw(st.booleans()))
    batch, rows, count = (draw(st.integers(1, most)) for most in (3, 7, 3))
    layout = MemoryLayout(kind, draw(st.integers(1, rows)), draw(st.sampled_from((1, 2))))
    return (
        layout,
        draw(arrays(batch, rows, layout.numbers * count)),
        # Adding 0 leaves no -0.0, which is equal to 0.0 yet the lesser one to Keras' argmax.
        draw(arrays(batch, len(layout.actions), count, low=-9, high=9)) + 0.0,
        draw(arrays(batch, layout.element_size * count, low=0)),
    )


def tensor(array, dtype="float64"):
    return ops.cast(ops.convert_to_tensor(np.asarray(array, "float64")), dtype)


def update(layout, slots, weights, value):
    each = [weights[:, i : i + 1] for i in range(weights.shape[1])]
    return layout.act(each, value[:, None], slots, layout.head(slots.shape[1]))


@settings(max_examples=60)
@given(situation=situations(), rounding=st.booleans())
def test_updates_and_reads_are_the_reference(situation, rounding):
    layout, slots, logits, value = situation
    count = logits.shape[2]

    weights = action_weights(tensor(logits), rounding=rounding)
    updated = to_numpy(update(layout, tensor(slots), weights, tensor(value)))
    read = to_numpy(layout.read(tensor(slots), layout.head(slots.shape[1])))

    name = layout.kind.name
    places = reference.places(name, slots.shape[1], layout.read_depth)
    elements = layout.element_size * count
    np.testing.assert_array_equal(read, slots[:, places, :elements])
    for b in range(len(slots)):
        for m in range(count):
            chosen = test_case.softmax(logits[b, :, m].tolist())
            if rounding:
                chosen = test_case.round_to_best(logits[b, :, m].tolist())
            actions = dict(zip(layout.actions, chosen, strict=True))
            rows = [tuple(row) for row in slots[b, :, m::count].tolist()]
            after = reference.step(name, rows, actions, tuple(value[b, m::count].tolist()))
            np.testing.assert_allclose(updated[b, :, m::count], after, rtol=0, atol=1e-14)


@pytest.mark.parametrize("dtype", FLOATS)
@given(logits=arrays(2, 4, 3, low=-30, high=30), actions=st.integers(2, 4), rounding=st.booleans())
def test_weights_add_up_to_exactly_one_for_each_memory(dtype, logits, actions, rounding):
    weights = action_weights(tensor(logits[:, :actions], dtype), rounding=rounding)

    total = weights[:, 0]
    for action in range(1, actions):
        total = total + weights[:, action]
    assert keras.backend.standardize_dtype(weights.dtype) == dtype
    assert np.all(to_numpy(ops.cast(total, "float64")) == 1)


@given(logits=arrays(3, 3, 4, low=-9, high=9), row=st.integers(0, 2), m=st.integers(0, 3))
def test_each_row_and_memory_has_a_softmax_of_its_own(logits, row, m):
    changed = logits.copy()
    changed[row, :, m] = changed[row, ::-1, m] + 1

    before, after = (to_numpy(action_weights(tensor(x))) for x in (logits, changed))

    others = np.ones((3, 4), bool)
    others[row, m] = False
    moved = np.swapaxes(before, 1, 2)[others], np.swapaxes(after, 1, 2)[others]
    np.testing.assert_array_equal(*moved)
    expected = test_case.softmax(logits[row, ::-1, m].tolist())
    np.testing.assert_allclose(after[row, :, m], expected, atol=1e-14)


@pytest.mark.parametrize("dtype", FLOATS)
@settings(max_examples=40)
@given(situation=situations())
def test_writing_empty_into_an_empty_memory_leaves_its_elements_empty(dtype, situation):
    layout, slots, logits, value = situation
    empty = tensor(np.full_like(slots, EMPTY), dtype)
    weights = action_weights(tensor(logits, dtype))

    updated = update(layout, empty, weights, tensor(np.full_like(value, EMPTY), dtype))

    elements = to_numpy(ops.cast(layout.elements(updated), "float64"))
    assert np.all(elements == EMPTY)


def test_rounding_takes_the_first_of_equal_actions():
    weights = action_weights(tensor([[[2.0], [2.0], [1.0]]]), rounding=True)

    assert to_numpy(weights).tolist() == [[[1.0], [0.0], [0.0]]]


@test_case.starts_other_backends
@test_case.other_backends
def test_all_of_this_on_another_backend(backend):
    test_case.run_on_backend(backend, __file__)
