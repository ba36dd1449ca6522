"""Rounded traces run over pointers: the same as step by step, at a constant cost a symbol."""

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_case import KINDS, each_kind, randomise
from trace_case import counter, one_hot_model

if keras.backend.backend() != "tensorflow":
    pytest.skip("pointers need TensorFlow", allow_module_level=True)

from keras_stackrnn import StackCell, memories, trace
from keras_stackrnn.kernels import pointer_scan
from keras_stackrnn.trace.record import MemoryTrace, nearest
from keras_stackrnn.trace.replay import replay

TEXT = "abcaacbbcaabbccabc"
REFUSAL = (
    r"^All that 1 {} may hold after each of 10,000,000 symbols would take about [\d,]+ GiB, and "
    r"this machine has [\d,]+ GiB: expected a shorter text, or a look at the tops alone, "
    r"as in a table\.$"
)


def actions_of(kind):
    return kind(1, no_op=True).actions


def stepping_nowhere(patch, kind):
    def update(*_):
        raise AssertionError("a cell was made to step")

    patch.setattr(kind, "update", update)


def records_of(kind, options, text, seed, depth, force):
    """The trace of a layer over pointers, and that of the same layer step by step."""
    records = []
    for use_fused in ("auto", False):
        every = {"rounding": True, "return_sequences": True, "use_fused": use_fused}
        model = one_hot_model(kind.rnn(4, 2, **every, **options), batch_size=2, seed=seed)
        records.append(trace(model, text, vocabulary="abc", depth=depth, force=force))
    return records


def assert_same(one, other):
    np.testing.assert_allclose(one.probabilities, other.probabilities, rtol=0, atol=1e-6)
    assert one.rounded
    assert other.rounded
    for mine, yours in zip(one.memories, other.memories, strict=True):
        assert (mine.name, mine.taken, mine.lost) == (yours.name, yours.taken, yours.lost)
        for part in ("weights", "values", "tops", "contents"):
            np.testing.assert_allclose(
                getattr(mine, part), getattr(yours, part), rtol=0, atol=1e-6, err_msg=part
            )


@settings(max_examples=12)
@given(
    kind=st.sampled_from(KINDS),
    capacity=st.none() | st.integers(2, 5),
    options=st.fixed_dictionaries(
        {name: st.booleans() for name in ("no_op", "use_bias", "go_backwards", "stateful")}
    ),
    depth=st.none() | st.integers(1, 5),
    text=st.text("abc", min_size=1, max_size=12),
    orders=st.dictionaries(st.integers(0, 11), st.integers(0, 3), max_size=4),
    seed=st.integers(0, 99),
)
def test_a_rounded_layer_is_traced_as_step_by_step(
    kind, capacity, options, depth, text, orders, seed
):
    actions = kind(4, no_op=options["no_op"]).actions
    force = {place: actions[action % len(actions)] for place, action in orders.items()}
    force = {place: action for place, action in force.items() if place < len(text)}

    one, other = records_of(
        kind, {**options, "capacity": capacity}, text, seed, depth, {f"{kind.name}2": force}
    )

    assert_same(one, other)
    for place, action in force.items():
        assert one.memories[1].taken[place] == action


@each_kind
def test_a_long_text_is_traced_in_compiled_chunks(kind, monkeypatch):
    monkeypatch.setattr(pointer_scan, "CHUNK", 8)
    force = {f"{kind.name}2": {9: "NO-OP"}}

    one, other = records_of(kind, {"no_op": True}, TEXT, seed=3, depth=3, force=force)

    assert_same(one, other)
    assert one.memories[1].taken[9] == "NO-OP"


@each_kind
def test_a_rounded_layer_takes_no_steps_of_its_own(kind, monkeypatch):
    layer = kind.rnn(4, 2, rounding=True, return_sequences=True)
    model = one_hot_model(layer)
    expected = keras.ops.convert_to_numpy(model(np.eye(3)[[["abc".index(s) for s in TEXT]]]))[0]
    stepping_nowhere(monkeypatch, type(layer.cell))

    record = trace(model, TEXT, vocabulary="abc")

    np.testing.assert_allclose(record.probabilities, expected, atol=1e-6)
    with pytest.raises(AssertionError, match="made to step"):
        trace(model, TEXT, vocabulary="abc", rounding=False)


def test_a_masked_layer_is_traced_step_by_step():
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(4, 3, mask_zero=True),
            KINDS[0].rnn(4, rounding=True, return_sequences=True),
            keras.layers.Dense(4, activation="softmax"),
        ]
    )
    randomise(model)
    record = trace(model, "abca", vocabulary=".abc")
    expected = keras.ops.convert_to_numpy(model(np.array([[1, 2, 3, 1]])))[0]
    np.testing.assert_allclose(record.probabilities, expected, atol=1e-6)


def test_a_very_long_text(monkeypatch):
    """Soft stacks of as many symbols would be moved, all of them, at every symbol."""
    stepping_nowhere(monkeypatch, StackCell)
    count = 20_000
    record = trace(counter(rounding=True), "a" * count + "b" * count + "a")
    [stack] = record.memories

    assert stack.taken == ["PUSH"] * count + ["POP"] * count + ["PUSH"]
    assert record.predictions[count : 2 * count] == ("b",) * (count - 1) + ("a",)
    assert record.deterministic[count : 2 * count].all()
    assert [stack.tops[at, 1] for at in (0, count - 1, 2 * count - 3)] == [-1, 0.5, 0.5]
    assert len(record.to_text().splitlines()) > 2 * count


@each_kind
def test_a_whole_memory_that_would_not_fit_is_refused(kind):
    names, steps = actions_of(kind), 10_000_000
    memory = MemoryTrace(
        "m",
        memories.get(kind.name),
        weights=np.broadcast_to(np.eye(len(names), dtype="float32")[0], (steps, len(names))),
        values=np.broadcast_to(np.float32(1), steps),
        tops=np.broadcast_to(np.float32(1), (steps, 1)),
    )
    with pytest.raises(ValueError, match=REFUSAL.format(kind.name)):
        memory.contents  # noqa: B018


@settings(max_examples=60)
@given(
    kind=st.sampled_from(KINDS),
    capacity=st.none() | st.integers(1, 5),
    actions=st.lists(st.integers(0, 3), min_size=1, max_size=20),
    depth=st.integers(1, 6),
)
def test_elements_and_losses_are_those_of_the_soft_memory(kind, capacity, actions, depth):
    """Of any rounded trace, also one that a server gives, whose tops are but one element deep."""
    names = actions_of(kind)
    weights = np.eye(len(names), dtype="float32")[[action % len(names) for action in actions]]
    values = np.linspace(0, 1, len(actions), dtype="float32")
    kind = memories.get(kind.name)
    memory = MemoryTrace("m", kind, weights, values, values[:, None], capacity)

    [expected] = replay(kind, weights[:, :, None], values[:, None], capacity)

    deeper = memory.with_depth(depth).tops
    np.testing.assert_array_equal(deeper, nearest(expected.contents, kind, depth))
    assert memory.lost == expected.lost
