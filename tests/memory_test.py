"""Tests of the memories' arithmetic, for every backend of Keras."""

import keras
import numpy as np
import pytest
import test_case
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from keras import ops
from test_case import each_kind, to_numpy

from keras_stackrnn import memories as kinds
from keras_stackrnn.memories.layout import MemoryLayout
from keras_stackrnn.memories.soft import action_weights

FLOATS = ("float16", "bfloat16", "float32", "float64")


def arrays(*shape, low=-1.0, high=1.0):
    return hnp.arrays("float64", shape, elements=st.floats(low, high, width=32))


@st.composite
def situations(draw, kind):
    """The names of the actions, a memory, action logits and values to write, of any sizes."""
    batch, capacity, memories = (draw(st.integers(1, most)) for most in (3, 7, 3))
    names = kind.actions if draw(st.booleans()) else kind.actions[:-1]
    return (
        names,
        draw(arrays(batch, capacity, memories)),
        # Adding 0 leaves no -0.0, which is equal to 0.0 yet the lesser one to Keras' argmax.
        draw(arrays(batch, len(names), memories, low=-9, high=9)) + 0.0,
        draw(arrays(batch, memories, low=0)),
    )


def update(kind, slots, actions, value):
    """The memories after a step; `actions` `[batch, actions, memories]`."""
    each = [actions[:, i : i + 1] for i in range(actions.shape[1])]
    layout = MemoryLayout(kinds.get(kind.name).using(len(each) == len(kind.actions)), 1)
    return layout.act(each, value[:, None], slots, layout.head(slots.shape[1]))


def tensor(array, dtype="float64"):
    return ops.cast(ops.convert_to_tensor(np.asarray(array, "float64")), dtype)


@each_kind
@given(data=st.data(), rounding=st.booleans())
def test_update_is_the_papers(kind, data, rounding):
    names, slots, logits, value = data.draw(situations(kind))

    weights = action_weights(tensor(logits), rounding=rounding)
    updated = to_numpy(update(kind, tensor(slots), weights, tensor(value)))

    for row in range(len(slots)):
        for m in range(slots.shape[2]):
            expected = test_case.softmax(logits[row, :, m].tolist())
            if rounding:
                expected = test_case.round_to_best(logits[row, :, m].tolist())
            actions = dict(zip(names, expected, strict=True))
            after = kind.step(slots[row, :, m].tolist(), actions, float(value[row, m]))
            np.testing.assert_allclose(updated[row, :, m], after, rtol=0, atol=1e-14)


@each_kind
@given(data=st.data(), capacity=st.integers(1, 9), memories=st.integers(1, 3))
def test_read_is_the_nearest_elements_in_order(kind, data, capacity, memories):
    read_depth = data.draw(st.integers(1, capacity))
    slots = data.draw(arrays(2, capacity, memories))

    layout = MemoryLayout(kinds.get(kind.name), read_depth)
    read = to_numpy(layout.read(tensor(slots), layout.head(capacity)))

    for row in range(2):
        for m in range(memories):
            expected = kind.view(slots[row, :, m].tolist(), read_depth)
            assert read[row, :, m].tolist() == expected


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
@each_kind
@given(data=st.data())
def test_empty_slots_out_of_reach_stay_exactly_empty(kind, dtype, data):
    """Under any mixture a slot whose neighbours are empty, and the edge is, stays exactly -1."""
    _, slots, logits, value = data.draw(situations(kind))
    empty = tensor(np.full_like(slots, test_case.EMPTY), dtype)
    weights = action_weights(tensor(logits, dtype))

    updated = to_numpy(ops.cast(update(kind, empty, weights, tensor(value, dtype)), "float64"))

    written = 0 if kind.name == "stack" else slots.shape[1] // 2
    assert np.all(np.delete(updated, written, axis=1) == test_case.EMPTY)


@pytest.mark.parametrize("dtype", FLOATS)
@each_kind
@given(data=st.data())
def test_writing_empty_into_an_empty_memory_changes_nothing(kind, dtype, data):
    _, slots, logits, value = data.draw(situations(kind))
    empty = tensor(np.full_like(slots, test_case.EMPTY), dtype)
    nothing = tensor(np.full_like(value, test_case.EMPTY), dtype)
    weights = action_weights(tensor(logits, dtype))

    updated = update(kind, empty, weights, nothing)

    assert np.all(to_numpy(ops.cast(updated, "float64")) == test_case.EMPTY)


@each_kind
@given(data=st.data(), constant=st.floats(-1, 1))
def test_a_constant_memory_stays_constant_inside(kind, data, constant):
    _, slots, logits, value = data.draw(situations(kind))
    weights = action_weights(tensor(logits))

    filled = tensor(np.full_like(slots, constant))
    updated = to_numpy(update(kind, filled, weights, tensor(np.full_like(value, constant))))

    inside = updated[:, :-1] if kind.name == "stack" else updated[:, 1:-1]
    np.testing.assert_allclose(inside, constant, rtol=0, atol=1e-15)


def one_hot_actions(kind, *names):
    steps = [[[float(name == action)] for action in kind.actions] for name in names]
    return [tensor([step]) for step in steps]


def walk(kind, capacity, steps):
    """The memory after (action, value) pairs, each taken wholly."""
    slots = tensor(np.full((1, capacity, 1), test_case.EMPTY))
    for actions, (_, value) in zip(
        one_hot_actions(kind, *(a for a, _ in steps)), steps, strict=True
    ):
        slots = update(kind, slots, actions, tensor([[value]]))
    return to_numpy(slots)[0, :, 0].tolist()


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([("PUSH", 0.5)], [0.5, -1, -1]),
        ([("PUSH", 0.5), ("PUSH", 0.7)], [0.7, 0.5, -1]),
        ([("PUSH", 0.5), ("PUSH", 0.7), ("POP", 0)], [0.5, -1, -1]),
        ([("PUSH", 0.5), ("POP", 0), ("POP", 0)], [-1, -1, -1]),
        ([("PUSH", 0.5), ("NO-OP", 0)], [0.5, -1, -1]),
        ([("PUSH", x) for x in (0.1, 0.2, 0.3, 0.4)], [0.4, 0.3, 0.2]),
    ],
)
def test_whole_actions_make_a_stack(steps, expected):
    assert walk(test_case.STACK, 3, steps) == expected


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([("INSERT", 0.5)], [-1, -1, 0.5, -1, -1]),
        ([("INSERT", 0.5), ("INSERT", 0.7)], [-1, 0.5, 0.7, -1, -1]),
        ([("INSERT", 0.5), ("INSERT", 0.7), ("LEFT", 0)], [-1, -1, 0.5, 0.7, -1]),
        ([("INSERT", 0.5), ("INSERT", 0.7), ("RIGHT", 0)], [0.5, 0.7, -1, -1, -1]),
        ([("INSERT", 0.5), ("LEFT", 0), ("INSERT", 0.7)], [-1, -1, 0.7, 0.5, -1]),
        ([("INSERT", 0.5), ("NO-OP", 0)], [-1, -1, 0.5, -1, -1]),
        ([("INSERT", 0.5), *[("LEFT", 0)] * 3, *[("RIGHT", 0)] * 3], [-1, -1, -1, -1, -1]),
    ],
)
def test_whole_actions_make_a_list(steps, expected):
    assert walk(test_case.LIST, 5, steps) == expected


def test_rounding_takes_the_first_of_equal_actions():
    weights = action_weights(tensor([[[2.0], [2.0], [1.0]]]), rounding=True)

    assert to_numpy(weights).tolist() == [[[1.0], [0.0], [0.0]]]


@each_kind
@pytest.mark.parametrize("no_op", [False, True])
@pytest.mark.parametrize("part", ["memory", "logits", "value"])
def test_gradients_match_finite_differences(kind, part, no_op):
    actions = len(kind.actions) if no_op else len(kind.actions) - 1
    parts = {
        "memory": np.random.default_rng(1).uniform(-1, 1, (2, 4, 2)),
        "logits": np.random.default_rng(2).normal(size=(2, actions, 2)),
        "value": np.random.default_rng(3).uniform(0, 1, (2, 2)),
    }
    loss_weights = np.random.default_rng(4).normal(size=(2, 4, 2))

    def loss(moved):
        given = {**{name: tensor(array) for name, array in parts.items()}, part: moved}
        weights = action_weights(given["logits"])
        updated = update(kind, given["memory"], weights, given["value"])
        return ops.sum(updated * tensor(loss_weights))

    np.testing.assert_allclose(
        test_case.gradient(loss, parts[part]),
        test_case.finite_differences(loss, parts[part]),
        rtol=1e-6,
        atol=1e-9,
    )


@test_case.starts_other_backends
@test_case.other_backends
def test_all_of_this_on_another_backend(backend):
    test_case.run_on_backend(backend, __file__)
