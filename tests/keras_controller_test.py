"""Tests of Keras cells as controllers, and of discrete states in traces."""

import keras
import numpy as np
import pytest
from test_case import raises_only, random, randomise

if keras.backend.backend() != "tensorflow":
    pytest.skip("what is not fused is said on TensorFlow", allow_module_level=True)

from keras_stackrnn import ControllerCell, NextSymbolModel, StackRNN, trace

BATCH, STEPS, FEATURES, UNITS = 2, 5, 3, 4


@keras.saving.register_keras_serializable(package="tests")
class LeakyCell(keras.layers.Layer):
    """A cell as users write one: its hidden units leak."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = self.state_size = units

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1], self.units), name="kernel")

    def call(self, inputs, states):
        hidden = 0.5 * states[0] + keras.ops.tanh(keras.ops.matmul(inputs, self.kernel))
        return hidden, [hidden]

    def get_config(self):
        return {**super().get_config(), "units": self.units}


def layer_with(cell, **options):
    every = {"capacity": 6, "use_fused": False, "return_sequences": True, **options}
    layer = StackRNN(UNITS, 2, controller=cell, **every)
    layer.build((BATCH, None, FEATURES))
    randomise(layer)
    return layer


def test_what_does_not_see_the_memory_is_keras_own():
    layer, theirs = layer_with(keras.layers.LSTMCell(UNITS)), keras.layers.LSTM(UNITS)
    inputs = random(BATCH, STEPS, FEATURES)
    theirs.build(inputs.shape)
    ours = layer.cell.controller_cell
    kernel = ours.kernel.numpy()
    kernel[FEATURES:] = 0  # of what is read
    ours.kernel.assign(kernel)
    for name, weight in (
        ("kernel", kernel[:FEATURES]),
        ("recurrent_kernel", ours.recurrent_kernel),
        ("bias", ours.bias),
    ):
        getattr(theirs.cell, name).assign(weight)

    np.testing.assert_allclose(layer(inputs)[:, -1], theirs(inputs), atol=1e-6)


@pytest.mark.parametrize(
    "make", [keras.layers.LSTMCell, keras.layers.GRUCell, LeakyCell], ids=["lstm", "gru", "own"]
)
def test_it_is_saved_with_its_weights_and_learns(make, tmp_path):
    inputs = keras.Input((STEPS, FEATURES))
    layer = StackRNN(UNITS, 2, controller=make(UNITS), use_fused=False)
    model = keras.Model(inputs, keras.layers.Dense(1)(layer(inputs)))
    model.compile(keras.optimizers.Adam(0.05), "mse")
    before = [weight.numpy() for weight in layer.cell.controller_cell.weights]
    model.fit(random(8, STEPS, FEATURES), random(8, 1), epochs=2, verbose=0)
    changed = zip(before, layer.cell.controller_cell.weights, strict=True)
    assert all(np.any(old != new) for old, new in changed)
    model.save(tmp_path / "model.keras")

    again = keras.models.load_model(tmp_path / "model.keras")

    given = random(BATCH, STEPS, FEATURES)
    np.testing.assert_allclose(again(given), model(given), atol=1e-6)
    assert type(again.layers[1].cell.controller_cell) is make


def test_states_are_the_cells_and_then_the_memorys():
    layer = layer_with(keras.layers.LSTMCell(UNITS), return_state=True)
    inputs = random(BATCH, STEPS, FEATURES)

    _, *states = layer(inputs[:, :3])
    outputs, *_ = layer(inputs[:, 3:], initial_state=states)

    assert [state.shape for state in states] == [(BATCH, UNITS), (BATCH, UNITS), (BATCH, 12)]
    np.testing.assert_allclose(outputs, layer(inputs)[0][:, 3:], atol=1e-6)


def test_it_is_not_fused_and_that_is_said():
    reason = "the controller is a Keras cell, LSTMCell, of which only Keras knows the gradient"
    with pytest.raises(ValueError, match=f"use_fused=True: {reason}"):
        layer_with(keras.layers.LSTMCell(UNITS), use_fused=True)(random(BATCH, STEPS, FEATURES))
    with pytest.warns(UserWarning, match=reason):
        layer_with(keras.layers.LSTMCell(UNITS), use_fused="auto")(random(BATCH, STEPS, FEATURES))


@pytest.mark.parametrize(
    ("controller", "options", "message"),
    [
        (
            keras.layers.Dense,
            {},
            "Received an invalid value for argument `controller`: expected the name of one, or a "
            "Keras cell, got <Dense name=cell, built=False>.",
        ),
        (
            keras.layers.LSTMCell,
            {"units": 5},
            "The hidden units are what the controller gives: expected units=4, as LSTMCell has, "
            "got 5.",
        ),
        (
            keras.layers.GRUCell,
            {"recurrent_dropout": 0.5},
            "The state of a Keras cell is its own: expected recurrent_dropout=0, got 0.5.",
        ),
        (
            keras.layers.GRUCell,
            {"activation": "relu"},
            "A Keras cell decides by itself: expected activation='auto', got 'relu'.",
        ),
    ],
)
def test_what_it_cannot_be_is_said(controller, options, message):
    with raises_only(message):
        StackRNN(**{"units": UNITS, "controller": controller(UNITS, name="cell"), **options})


def test_a_trace_shows_what_its_memories_did():
    tokens = keras.Input((None,), dtype="int32")
    layer = StackRNN(UNITS, 2, controller=LeakyCell(UNITS), use_fused=False, return_sequences=True)
    hidden = layer(keras.layers.Embedding(2, FEATURES)(tokens))
    model = keras.Model(tokens, keras.layers.Dense(2)(hidden))

    traced = trace(model, "abba", vocabulary="ab")

    assert [memory.name for memory in traced.memories] == ["stack1", "stack2"]
    assert traced.memories[0].weights.shape == (4, 2)
    assert not traced.states


def test_a_trace_shows_discrete_states():
    model = NextSymbolModel("second_order", "ab", 3)
    kernel = np.zeros((2, 4, 3), "float32")
    for symbol in range(2):  # counts the second symbol modulo 3
        for state in range(3):
            kernel[symbol, state, (state + symbol) % 3] = 30
        kernel[symbol, 3, symbol] = 10
    model.recurrent[0].cell.kernel.assign(kernel)

    traced = trace(model, "abbab")

    assert traced.states[0].name == "state1"
    assert traced.states[0].taken == [0, 1, 2, 2, 0]
    np.testing.assert_allclose(traced.states[0].probabilities.sum(axis=1), 1, rtol=1e-5)
    assert not traced.memories
    rows = traced.rows()
    assert [row["state1"] for row in rows] == [0, 1, 2, 2, 0]
    assert min(row["state1.probability"] for row in rows) > 0.9
    header, _, *lines = traced.to_text().splitlines()[2:]
    column = header.split().index("state1") - len(header.split())
    assert [line.split()[column] for line in lines[:5]] == ["0", "1", "2", "2", "0"]


def test_states_are_shown_beside_memories_and_where_only_the_last_is_asked_for():
    tokens = keras.Input((4,), dtype="int32")
    embedded = keras.layers.Embedding(2, FEATURES)(tokens)
    both = StackRNN(UNITS, 1, controller="second_order", return_sequences=True)(embedded)
    last = keras.layers.RNN(ControllerCell(3, "second_order"))(both)
    model = keras.Model(tokens, keras.layers.Dense(2)(last))

    traced = trace(model, "abba", vocabulary="ab")

    assert [states.probabilities.shape for states in traced.states] == [(4, UNITS), (4, 3)]
    assert "A state with a question mark has a probability below 0.9." in traced.to_text()
    assert "state2" in traced.to_csv().splitlines()[0]
