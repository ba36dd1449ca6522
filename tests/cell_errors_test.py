"""Tests of what StackCell and ListCell answer to bad input: the exact sentence each time."""

import keras
import numpy as np
import pytest
import test_case
from keras import ops
from test_case import each_kind, raises, raises_only, random

FEATURES = 3

NOT_POSITIVE_INTEGERS = [0, -3, 2.5, True, "4", np.float32(4), [4]]


@each_kind
@pytest.mark.parametrize("value", NOT_POSITIVE_INTEGERS, ids=repr)
@pytest.mark.parametrize("argument", ["units", "memories", "capacity", "read_depth"])
def test_sizes_must_be_positive_integers(kind, argument, value):
    name = kind.memories if argument == "memories" else argument

    with raises_only(
        f"Received an invalid value for argument `{name}`: expected a positive integer, "
        f"got {value!r}."
    ):
        kind(**{"units": 4, argument: value})


BAD_ARGUMENTS = [
    (
        {"capacity": 3, "read_depth": 4},
        "Argument `read_depth` cannot be above `capacity`: expected at most 3, got 4.",
    ),
    (
        {"activation": "sigmoyd"},
        "Received an invalid value for argument `activation`: expected the name of a Keras "
        "activation or a callable, got 'sigmoyd'.",
    ),
    ({"depth": 3}, "{cell} has no argument `depth`: did you mean `read_depth`?"),
]


@each_kind
@pytest.mark.parametrize(("arguments", "message"), BAD_ARGUMENTS)
def test_bad_arguments(kind, arguments, message):
    with raises_only(message.format(cell=kind.cell.__name__)):
        kind(4, **arguments)


RANK = (
    "{cell} expects one-hot or embedded inputs of shape (batch, features) at each step, with the "
    "number of features known, got shape {shape}."
)
BAD_INPUTS = [
    ("token ids", np.ones((2, 5), "int32"), RANK.replace("{shape}", "(2,)")),
    ("rank 4", random(2, 5, FEATURES, 1), RANK.replace("{shape}", f"(2, {FEATURES}, 1)")),
    (
        "integers",
        np.ones((2, 5, FEATURES), "int32"),
        "{cell} expects floating-point inputs, got dtype int32: "
        "one-hot encode or embed token ids first.",
    ),
    (
        "truth values",
        np.ones((2, 5, FEATURES), bool),
        "{cell} expects floating-point inputs, got dtype bool: "
        "one-hot encode or embed token ids first.",
    ),
]


@each_kind
@pytest.mark.parametrize(
    ("inputs", "message"), [case[1:] for case in BAD_INPUTS], ids=[case[0] for case in BAD_INPUTS]
)
def test_bad_inputs(kind, inputs, message):
    with raises(message.format(cell=kind.cell.__name__)):
        keras.layers.RNN(kind(4))(inputs)


@each_kind
def test_number_of_features_must_be_known(kind):
    with raises(RANK.format(cell=kind.cell.__name__, shape=(None, None))):
        keras.layers.RNN(kind(4))(keras.Input((None, None)))


@each_kind
def test_number_of_features_must_not_change(kind):
    rnn = keras.layers.RNN(kind(4))
    rnn(random(2, 5, FEATURES))
    message = "was built for 3 input features, got 4 (inputs of shape (2, 4))."

    with raises(f"{kind.cell.__name__} {message}"):
        rnn(random(2, 5, FEATURES + 1))


@each_kind
def test_a_step_of_the_wrong_rank(kind):
    cell = kind(4, capacity=3)
    cell(random(2, FEATURES), cell.get_initial_state(2))

    with raises(RANK.format(cell=kind.cell.__name__, shape=(2, 5, FEATURES))):
        cell(random(2, 5, FEATURES), cell.get_initial_state(2))


@each_kind
@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(2, 5), (2, 6)], "expects a hidden state of shape (batch, 4), got shape (2, 5)."),
        ([(2, 4), (2, 9)], "expects a memory state of shape (batch, 6), got shape (2, 9)."),
        ([(2, 4), (2, 3, 6)], "expects a memory state of shape (batch, 6), got shape (2, 3, 6)."),
        ([(2, 4)], "expects two states, [hidden, memory], got 1."),
    ],
)
def test_bad_states(kind, shapes, message):
    cell = kind(4, memories=2, capacity=3)

    with raises(f"{kind.cell.__name__} {message}"):
        cell(random(2, FEATURES), [ops.zeros(shape) for shape in shapes])


@each_kind
def test_initial_state_of_the_wrong_size_through_an_rnn(kind):
    rnn = keras.layers.RNN(kind(4, memories=2, capacity=3))
    message = "expects a memory state of shape (batch, 6), got shape (2, 7)."

    with raises(f"{kind.cell.__name__} {message}"):
        rnn(random(2, 5, FEATURES), initial_state=[ops.zeros((2, 4)), ops.zeros((2, 7))])


@each_kind
def test_a_cell_in_a_plain_rnn_needs_a_capacity(kind):
    with raises(
        f"{kind.cell.__name__} needs a `capacity` to make its initial state: "
        "expected a positive integer, got None."
    ):
        keras.layers.RNN(kind(4, capacity=None))(random(2, 5, FEATURES))


@test_case.starts_other_backends
@test_case.other_backends
def test_all_of_this_on_another_backend(backend):
    test_case.run_on_backend(backend, __file__)
