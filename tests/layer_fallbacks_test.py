"""Tests of when StackRNN and ListRNN fall back to the cell's loop, and of what they refuse."""

import inspect
import json
from typing import Any

import keras
import numpy as np
import pytest
import test_case
from keras import ops
from test_case import IS_TENSORFLOW, each_kind, raises, raises_only, random, randomise, to_numpy

import keras_stackrnn
from keras_stackrnn import (
    EditorRNN,
    ListRNN,
    MemoryRNN,
    QueueRNN,
    StackCell,
    StackRNN,
    TapeRNN,
)
from keras_stackrnn.layers import layer_of

FEATURES = 3


def swish_of_mine(x):
    return x * ops.sigmoid(x)


FALLBACKS = {
    "unroll": ({"unroll": True}, {}),
    "activation": ({"activation": "softplus"}, {}),
    "function": ({"activation": swish_of_mine}, {}),
}
REASONS = {
    "unroll": "unroll=True asks for a loop in Python",
    "activation": (
        "the activation is 'softplus', and expected is one of ('sigmoid', 'tanh', 'relu', 'linear')"
    ),
    "function": (
        "the activation is 'swish_of_mine', and expected is one of "
        "('sigmoid', 'tanh', 'relu', 'linear')"
    ),
}


def layer_and_loop(kind, capacity, unroll=False, use_fused="auto", **options):
    """A layer, and its cell with the same weights and enough capacity in Keras' loop."""
    sequences = {"return_sequences": True, "unroll": unroll}
    layer = kind.rnn(4, memories=2, capacity=capacity, use_fused=use_fused, **sequences, **options)
    loop = keras.layers.RNN(kind(4, memories=2, capacity=capacity or 12, **options), **sequences)
    for rnn in (layer, loop):
        rnn.build((2, 4, FEATURES))
        randomise(rnn)
    return layer, loop


@each_kind
@pytest.mark.parametrize("capacity", [3, None])
@pytest.mark.parametrize("name", FALLBACKS)
def test_falls_back_by_itself(kind, capacity, name):
    options, call_options = FALLBACKS[name]
    layer, loop = layer_and_loop(kind, capacity, **options)
    inputs = random(2, 4, FEATURES)

    if IS_TENSORFLOW:
        with pytest.warns(UserWarning, match="runs its cell in a loop, .* as its fused kernels: "):
            layer(inputs, **call_options)
    # And no more than once.
    np.testing.assert_allclose(
        to_numpy(layer(inputs, **call_options)), to_numpy(loop(inputs, **call_options)), atol=1e-6
    )


@each_kind
@pytest.mark.parametrize("capacity", [3, None])
@pytest.mark.parametrize("use_fused", ["auto", False])
@pytest.mark.parametrize("rounding", [False, True])
def test_gives_the_cells_results(kind, capacity, use_fused, rounding):
    layer, loop = layer_and_loop(kind, capacity, use_fused=use_fused, rounding=rounding)
    inputs = random(2, 4, FEATURES)

    np.testing.assert_allclose(to_numpy(layer(inputs)), to_numpy(loop(inputs)), atol=1e-6)


@pytest.mark.skipif(not IS_TENSORFLOW, reason="other backends have a reason of their own")
@each_kind
@pytest.mark.parametrize("name", FALLBACKS)
def test_use_fused_raises_where_it_cannot(kind, name):
    options, call_options = FALLBACKS[name]
    layer, _ = layer_and_loop(kind, 3, use_fused=True, **options)

    with raises(f"{kind.layer.__name__} cannot run with use_fused=True: {REASONS[name]}."):
        layer(random(2, 4, FEATURES), **call_options)


@pytest.mark.skipif(IS_TENSORFLOW, reason="TensorFlow has fused kernels")
@each_kind
def test_use_fused_raises_on_other_backends(kind):
    backend = keras.backend.backend()
    with raises(
        f"{kind.layer.__name__} cannot run with use_fused=True: the backend is {backend}, and only "
        "TensorFlow has fused kernels."
    ):
        kind.rnn(4, use_fused=True)(random(2, 4, FEATURES))


@each_kind
@pytest.mark.parametrize("value", ["always", None, 2])
def test_use_fused_must_be_a_known_value(kind, value):
    with raises_only(
        "Received an invalid value for argument `use_fused`: expected 'auto', True or False, "
        f"got {value!r}."
    ):
        kind.rnn(4, use_fused=value)


@each_kind
def test_arguments_are_checked_by_the_cell(kind):
    with raises_only(
        "Received an invalid value for argument `capacity`: expected a positive integer, got 0."
    ):
        kind.rnn(4, capacity=0)
    with raises_only(
        "Argument `read_depth` cannot be above `capacity`: expected at most 3, got 4."
    ):
        kind.rnn(4, capacity=3, read_depth=4)


@each_kind
def test_token_ids_are_refused(kind):
    with raises(
        f"{kind.cell.__name__} expects floating-point inputs, got dtype int32: "
        "one-hot encode or embed token ids first."
    ):
        kind.rnn(4)(np.ones((2, 5, FEATURES), "int32"))


@each_kind
@pytest.mark.parametrize("options", [{}, {"use_fused": False}, {"rounding": True}])
def test_sequences_must_have_steps(kind, options):
    with raises(
        f"{kind.layer.__name__} expects sequences of at least one step, got shape (2, 0, 3)."
    ):
        kind.rnn(4, **options)(random(2, 0, FEATURES))


@each_kind
def test_number_of_features_must_not_change(kind):
    layer = kind.rnn(4)
    layer(random(2, 5, FEATURES))

    with raises(
        f"{kind.cell.__name__} was built for 3 input features, got 4 (inputs of shape (2, 5, 4))."
    ):
        layer(random(2, 5, FEATURES + 1))


BAD_STATES = [
    (3, [(2, 5), (2, 6)], "expects a hidden state of shape (batch, 4), got shape (2, 5)."),
    (3, [(2, 4), (2, 9)], "expects a memory state of shape (batch, 6), got shape (2, 9)."),
    (3, [(2, 4)], "expects two states, [hidden, memory], got 1."),
    (None, [(2, 5), (2, 6)], "expects a hidden state of shape (batch, 4), got shape (2, 5)."),
    (
        None,
        [(2, 4), (2, 9)],
        "expects a memory state of shape (batch, rows * 2) with at least 2 rows, got shape (2, 9).",
    ),
    (
        None,
        [(2, 4), (2, 2)],
        "expects a memory state of shape (batch, rows * 2) with at least 2 rows, got shape (2, 2).",
    ),
]


@each_kind
@pytest.mark.parametrize(("capacity", "shapes", "message"), BAD_STATES)
def test_bad_states(kind, capacity, shapes, message):
    layer = kind.rnn(4, memories=2, capacity=capacity)

    with raises(f"{kind.cell.__name__} {message}"):
        layer(random(2, 5, FEATURES), initial_state=[ops.zeros(shape) for shape in shapes])


@each_kind
def test_config_round_trip(kind):
    layer = kind.rnn(
        np.int64(4),
        memories=2,
        capacity=5,
        read_depth=3,
        no_op=True,
        use_recurrent_kernel=False,
        use_bias=True,
        rounding=True,
        activation="tanh",
        kernel_initializer="ones",
        memory_constraint="non_neg",
        action_regularizer="l2",
        use_fused=False,
        return_sequences=True,
        return_state=True,
        go_backwards=True,
        stateful=True,
        unroll=True,
        name="mine",
        dtype="mixed_float16",
    )

    config = json.loads(json.dumps(keras.saving.serialize_keras_object(layer)))
    twin = keras.saving.deserialize_keras_object(config)

    assert type(twin) is kind.layer
    assert twin.get_config() == layer.get_config()
    assert twin.cell.get_config() == layer.cell.get_config()
    assert [twin.use_fused, twin.name, twin.dtype_policy.name] == [False, "mine", "mixed_float16"]
    assert twin.return_sequences
    assert twin.return_state
    assert twin.go_backwards
    assert twin.stateful
    assert twin.unroll


@each_kind
def test_defaults_are_the_cells_with_a_memory_without_bounds(kind):
    layer, cell = kind.rnn(4), kind(4, capacity=None, name="cell")

    assert layer.cell.get_config() == cell.get_config()
    assert kind.layer.from_config(layer.get_config()).get_config() == layer.get_config()
    assert layer.use_fused == "auto"


@test_case.starts_other_backends
@test_case.other_backends
def test_all_of_this_on_another_backend(backend):
    test_case.run_on_backend(backend, __file__)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: StackRNN(4, num_stack=3),
            "StackRNN has no argument `num_stack`: did you mean `num_stacks`?",
        ),
        (
            lambda: StackCell(4, capcity=3),
            "StackCell has no argument `capcity`: did you mean `capacity`?",
        ),
        (
            lambda: ListRNN(4, insert_initialiser="zeros"),
            "ListRNN has no argument `insert_initialiser`: did you mean `insert_initializer`?",
        ),
        (lambda: StackRNN(4, wibble=1), "StackRNN has no argument `wibble`."),
        (
            lambda: StackRNN(4, num_memories=3),
            "StackRNN has no argument `num_memories`: did you mean `num_stacks`?",
        ),
        (
            lambda: StackCell(4, write_initializer="zeros"),
            "StackCell has no argument `write_initializer`: did you mean `push_initializer`?",
        ),
        (
            lambda: StackRNN(4, kind="list"),
            "StackCell has no argument `kind`: its memories are stacks, and those of `MemoryCell` "
            "are of any kind.",
        ),
    ],
)
def test_an_argument_that_there_is_not_is_named_with_the_one_meant(make, sentence):
    with raises_only(sentence):
        make()


@pytest.mark.parametrize("name", ["stack", "list", "queue"])
def test_the_memory_in_a_layers_states(name):
    layer = layer_of(name)(3, 2, capacity=4, element_size=5, return_state=True)

    *_, state = states = layer(random(2, 6, FEATURES))[1:]

    memory = to_numpy(layer.memory_of(states))
    assert memory.shape == (2, 4, 2, 5)
    rows = to_numpy(state).reshape(2, 4, -1, 2)
    np.testing.assert_array_equal(memory[0, 1, 1], rows[0, 1, :5, 1])


def test_what_can_be_called_shows_its_arguments():
    assert "model" in inspect.signature(keras_stackrnn.trace).parameters
    assert keras_stackrnn.__version__


LAYERS = [StackRNN, ListRNN, TapeRNN, EditorRNN, QueueRNN, MemoryRNN]
SWITCHES = {"use_fused", "return_sequences", "return_state", "go_backwards", "stateful", "unroll"}


@pytest.mark.parametrize("cls", LAYERS)
def test_every_argument_is_shown_with_its_type_and_its_default(cls):
    layer, cell = (dict(inspect.signature(each).parameters) for each in (cls, cls.CELL))

    for shown in (layer, cell):
        assert shown.pop("kwargs").annotation is Any
        assert all(argument.annotation is not argument.empty for argument in shown.values())
    own = {name: layer.pop(name).default for name in (*SWITCHES, "zero_output_for_mask")}
    assert own == {"use_fused": "auto"} | {name: False for name in own if name != "use_fused"}
    defaults = {name: argument.default for name, argument in cell.items()}
    assert {name: each.default for name, each in layer.items()} == {**defaults, "capacity": None}
    assert cell.keys() >= set(cls.CELL.weight_options())
