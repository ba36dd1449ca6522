"""Tests of SRCNCell inside `keras.layers.RNN` against a slow reference, for every backend."""

import json

import keras
import numpy as np
import pytest
import test_case
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops
from test_case import (
    FLOAT64_ERROR,
    built,
    needs_float64,
    plus,
    raises,
    raises_only,
    random,
    sigmoid,
    times,
    to_numpy,
)

from keras_stackrnn.layers.srcn_cell import SRCNCell

FEATURES = 3


def reference_run(cell, sequence):
    """The equations of Mikolov et al. (2014) with Python lists: every output, and the states."""
    weights = {weight.name: to_numpy(weight).astype(float).tolist() for weight in cell.weights}
    hidden, context, outputs = [0.0] * cell.units, [0.0] * cell.context_units, []
    for inputs in sequence:
        slow = times(inputs, weights["slow_kernel"])
        kept = cell.self_connection
        context = [(1 - kept) * new + kept * old for new, old in zip(slow, context, strict=True)]
        before = plus(
            times(context, weights["context_kernel"]),
            times(inputs, weights["kernel"]),
            times(hidden, weights["recurrent_kernel"]),
        )
        if cell.use_bias:
            before = plus(before, weights["bias"])
        hidden = [sigmoid(x) for x in before]
        outputs.append([*hidden, *context])
    return outputs, hidden, context


def assert_follows_reference(cell, sequences, outputs, hidden=None, context=None, atol=1e-5):
    for row, sequence in enumerate(sequences):
        expected = reference_run(cell, sequence.tolist())
        for actual, wanted in zip((outputs, hidden, context), expected, strict=True):
            if actual is not None:
                np.testing.assert_allclose(to_numpy(actual)[row], wanted, rtol=0, atol=atol)


@settings(max_examples=settings().max_examples // 2)
@given(data=st.data())
def test_cell_is_the_papers(data):
    draw = data.draw
    cell = SRCNCell(
        draw(st.integers(1, 4)),
        context_units=draw(st.integers(1, 3)),
        self_connection=draw(st.sampled_from([0.0, 0.5, 0.95, 1.0])),
        use_bias=draw(st.booleans()),
        dtype="float64",
    )
    seed = draw(st.integers(0, 99))
    inputs = random(draw(st.integers(1, 2)), draw(st.integers(1, 8)), FEATURES, seed=seed)
    inputs = inputs.astype("float64")
    rnn = keras.layers.RNN(cell, return_sequences=True, return_state=True, dtype="float64")
    built(rnn, inputs, seed=seed, scale=2.0)
    assert_follows_reference(cell, inputs, *rnn(inputs), atol=FLOAT64_ERROR)


@needs_float64
def test_gradients_match_finite_differences():
    inputs = random(1, 3, FEATURES).astype("float64")
    cell = SRCNCell(2, context_units=2, use_bias=True, dtype="float64")
    rnn = built(keras.layers.RNN(cell, unroll=True, dtype="float64"), inputs)
    values = [to_numpy(weight) for weight in rnn.weights]
    importance = random(1, 4).astype("float64")

    @test_case.in_a_graph
    def loss(weights):
        outputs, _ = rnn.stateless_call(weights, [], inputs)
        return ops.sum(outputs * importance)

    def loss_of_weight(index):
        return lambda moved: loss([*values[:index], moved, *values[index + 1 :]])

    for index, value in enumerate(values):
        function = loss_of_weight(index)
        np.testing.assert_allclose(
            test_case.gradient(function, value),
            test_case.finite_differences(function, value),
            rtol=1e-5,
            atol=1e-8,
        )


@pytest.mark.parametrize("unroll", [False, True])
def test_masked_steps_leave_the_states_as_they_are(unroll):
    if keras.backend.backend() == "jax" and not unroll:
        pytest.skip("Keras' masked loop on JAX takes an output to be as large as the first state")
    inputs = random(3, 5, FEATURES)
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 1, 0, 1]], bool)
    cell = SRCNCell(4, context_units=2)
    rnn = built(keras.layers.RNN(cell, return_state=True, unroll=unroll), inputs)
    _, hidden, context = rnn(inputs, mask=mask)
    for row in range(3):
        _, *expected = reference_run(cell, inputs[row][mask[row]].tolist())
        for actual, wanted in zip((hidden, context), expected, strict=True):
            np.testing.assert_allclose(to_numpy(actual)[row], wanted, rtol=0, atol=1e-5)


def test_stateful_goes_on_and_resets():
    inputs = random(2, 6, FEATURES)
    cell = SRCNCell(4, context_units=2)
    plain = built(keras.layers.RNN(cell, return_sequences=True), inputs)
    rnn = keras.layers.RNN(cell, return_sequences=True, stateful=True)
    for _ in range(2):
        halves = [to_numpy(rnn(inputs[:, :3])), to_numpy(rnn(inputs[:, 3:]))]
        whole = to_numpy(plain(inputs))
        np.testing.assert_allclose(np.concatenate(halves, axis=1), whole, rtol=0, atol=1e-6)
        rnn.reset_state()


def test_goes_on_from_an_initial_state():
    inputs = random(2, 6, FEATURES)
    rnn = built(keras.layers.RNN(SRCNCell(4), return_state=True), inputs)
    _, *half = rnn(inputs[:, :3])
    rest = rnn(inputs[:, 3:], initial_state=half)
    for one, other in zip(rnn(inputs), rest, strict=True):
        np.testing.assert_allclose(to_numpy(one), to_numpy(other), rtol=0, atol=1e-6)


def test_several_cells_in_one_rnn_and_both_directions():
    inputs = random(2, 5, FEATURES)
    cells = [SRCNCell(4, context_units=2), SRCNCell(3, context_units=1)]
    rnn = keras.layers.RNN(cells, return_sequences=True)
    layer = built(keras.layers.Bidirectional(rnn), inputs)
    outputs = to_numpy(layer(inputs))
    first, second = layer.forward_layer.cell.cells
    between = np.array([reference_run(first, row.tolist())[0] for row in inputs])
    assert_follows_reference(second, between, outputs[..., :4])
    assert outputs.shape == (2, 5, 8)


@pytest.mark.parametrize(
    ("policy", "compute", "atol"),
    [
        ("mixed_float16", "float16", 1e-2),
        ("mixed_bfloat16", "bfloat16", 1e-1),
        pytest.param("float64", "float64", FLOAT64_ERROR, marks=needs_float64),
    ],
)
def test_precisions(policy, compute, atol):
    inputs = random(2, 6, FEATURES)
    keras.config.set_dtype_policy(policy)
    cell = SRCNCell(4, context_units=2)
    rnn = keras.layers.RNN(cell, return_sequences=True, return_state=True)
    built(rnn, inputs, scale=0.5)
    run = rnn(inputs)
    for tensor in (*run, *cell.get_initial_state(2)):
        assert keras.backend.standardize_dtype(tensor.dtype) == compute
    assert_follows_reference(cell, inputs, *(ops.cast(t, "float64") for t in run), atol=atol)


def test_shapes_are_known_before_the_run():
    inputs = keras.Input((None, FEATURES))
    run = keras.layers.RNN(SRCNCell(4, 2), return_sequences=True, return_state=True)(inputs)
    assert [tuple(tensor.shape) for tensor in run] == [(None, None, 6), (None, 4), (None, 2)]


def weight_options():
    """A different initializer, regularizer and constraint for every one of the cell's weights."""
    for i, prefix in enumerate(["kernel", "recurrent", "slow", "context", "bias"], start=1):
        yield f"{prefix}_initializer", keras.initializers.Constant(0.1 * i)
        yield f"{prefix}_regularizer", keras.regularizers.L1(0.01 * i)
        yield f"{prefix}_constraint", keras.constraints.MaxNorm(1.0 * i)


def test_every_weight_has_its_own_initializer_regularizer_and_constraint():
    options = dict(weight_options())
    cell = SRCNCell(4, context_units=2, use_bias=True, **options)
    cell.build((None, FEATURES))
    shapes = {weight.name: tuple(weight.shape) for weight in cell.weights}
    assert shapes == {
        "kernel": (3, 4),
        "recurrent_kernel": (4, 4),
        "slow_kernel": (3, 2),
        "context_kernel": (2, 4),
        "bias": (4,),
    }
    penalty = 0
    for weight in cell.weights:
        prefix = weight.name.removesuffix("_kernel")
        value = options[f"{prefix}_initializer"].value
        np.testing.assert_allclose(to_numpy(weight), np.full(weight.shape, value), rtol=1e-6)
        assert weight.constraint is options[f"{prefix}_constraint"]
        penalty += float(options[f"{prefix}_regularizer"].l1) * value * np.prod(weight.shape)
    assert sum(to_numpy(loss) for loss in cell.losses) == pytest.approx(penalty, rel=1e-5)


def test_config_round_trip():
    cell = SRCNCell(
        np.int64(4),
        context_units=np.int32(2),
        self_connection=0.9,
        use_bias=True,
        activation="tanh",
        name="mine",
        dtype="mixed_float16",
        **dict(weight_options()),
    )
    twin = SRCNCell.from_config(json.loads(json.dumps(cell.get_config())))
    assert twin.get_config() == cell.get_config()
    assert (twin.units, twin.context_units, twin.self_connection) == (4, 2, 0.9)
    assert twin.activation is keras.activations.tanh
    assert twin.slow_constraint.max_value == 3


def test_a_saved_model_loads_in_a_fresh_process(tmp_path):
    inputs = random(2, 5, FEATURES)
    model = keras.Sequential([keras.Input((None, FEATURES)), keras.layers.RNN(SRCNCell(4))])
    test_case.assert_load_in_a_fresh_process({"srcn": model}, inputs, tmp_path)


def test_learns():
    """To tell, from the last symbol but eight, what the last one should be."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, 256)
    inputs = np.zeros((256, 9, 3), "float32")
    inputs[np.arange(256), 0, first] = 1
    inputs[:, 1:, 2] = 1
    model = keras.Sequential([keras.layers.RNN(SRCNCell(8, 4)), keras.layers.Dense(1, "sigmoid")])
    model.compile(keras.optimizers.Adam(0.05), "binary_crossentropy")
    losses = model.fit(inputs, first, epochs=20, batch_size=64, verbose=0).history["loss"]
    assert losses[-1] < 0.05


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"units": 0},
            "Received an invalid value for argument `units`: expected a positive integer, got 0.",
        ),
        (
            {"units": 4, "context_units": 2.5},
            "Received an invalid value for argument `context_units`: expected a positive integer, "
            "got 2.5.",
        ),
        *(
            (
                {"units": 4, "self_connection": value},
                "Received an invalid value for argument `self_connection`: expected a number from "
                f"0 to 1, got {value!r}.",
            )
            for value in (-0.1, 1.5, True, None, "much", float("nan"))
        ),
        (
            {"units": 4, "activation": "wobble"},
            "Received an invalid value for argument `activation`: expected the name of a Keras "
            "activation or a callable, got 'wobble'.",
        ),
    ],
)
def test_bad_arguments(arguments, message):
    with raises_only(message):
        SRCNCell(**arguments)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (
            np.ones((2, 5), "int32"),
            "SRCNCell expects one-hot or embedded inputs of shape (batch, features) at each step, "
            "with the number of features known, got shape (2,).",
        ),
        (
            np.ones((2, 5, FEATURES), "int32"),
            "SRCNCell expects floating-point inputs, got dtype int32: one-hot encode or embed "
            "token ids first.",
        ),
    ],
)
def test_bad_inputs(inputs, message):
    with raises(message):
        keras.layers.RNN(SRCNCell(4))(inputs)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(2, 5), (2, 3)], "expects a hidden state of shape (batch, 4), got shape (2, 5)."),
        ([(2, 4), (2, 4)], "expects a context state of shape (batch, 3), got shape (2, 4)."),
        ([(2, 4)], "expects two states, [hidden, context], got 1."),
    ],
)
def test_bad_states(shapes, message):
    with raises(f"SRCNCell {message}"):
        SRCNCell(4, 3)(random(2, FEATURES), [ops.zeros(shape) for shape in shapes])


@test_case.starts_other_backends
@test_case.other_backends
def test_all_of_this_on_another_backend(backend):
    test_case.run_on_backend(backend, __file__)
