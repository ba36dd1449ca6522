"""Tests of StackCell and ListCell inside `keras.layers.RNN`, for every backend of Keras."""

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
    each_kind,
    memory_of,
    needs_float64,
    random,
    randomise,
    reference_run,
    to_numpy,
)

import keras_stackrnn

FEATURES = 3


def assert_follows_reference(kind, cell, sequences, outputs, hidden=None, memory=None, atol=1e-5):
    for row, sequence in enumerate(sequences):
        expected, last, slots = reference_run(kind, cell, sequence.tolist())
        np.testing.assert_allclose(to_numpy(outputs)[row], expected, rtol=0, atol=atol)
        if hidden is not None:
            np.testing.assert_allclose(to_numpy(hidden)[row], last, rtol=0, atol=atol)
        if memory is not None:
            np.testing.assert_allclose(memory_of(cell, memory)[row], slots, rtol=0, atol=atol)


@each_kind
@settings(max_examples=settings().max_examples // 2)
@given(data=st.data())
def test_cell_is_the_papers(kind, data):
    draw = data.draw
    capacity = draw(st.integers(1, 6))
    cell = kind(
        units=draw(st.integers(1, 4)),
        memories=draw(st.integers(1, 3)),
        capacity=capacity,
        read_depth=draw(st.integers(1, capacity)),
        no_op=draw(st.booleans()),
        use_recurrent_kernel=draw(st.booleans()),
        use_bias=draw(st.booleans()),
        rounding=draw(st.booleans()),
        dtype="float64",
    )
    batch, time, seed = draw(st.integers(1, 2)), draw(st.integers(1, 8)), draw(st.integers(0, 99))
    inputs = random(batch, time, FEATURES, seed=seed).astype("float64")
    rnn = keras.layers.RNN(cell, return_sequences=True, return_state=True, dtype="float64")
    built(rnn, inputs, seed=seed, scale=2.0)

    assert_follows_reference(kind, cell, inputs, *rnn(inputs), atol=FLOAT64_ERROR)


@needs_float64
@each_kind
def test_gradients_match_finite_differences(kind):
    inputs = random(1, 3, FEATURES).astype("float64")
    cell = kind(2, memories=2, capacity=3, no_op=True, use_bias=True, dtype="float64")
    rnn = keras.layers.RNN(cell, return_state=True, unroll=True, dtype="float64")
    built(rnn, inputs)
    values = [to_numpy(weight) for weight in rnn.weights]
    importance = [random(*shape).astype("float64") for shape in ((1, 2), (1, 6))]

    @test_case.in_a_graph
    def loss(sequences, weights):
        (_, *states), _ = rnn.stateless_call(weights, [], sequences)
        return sum(ops.sum(s * i) for s, i in zip(states, importance, strict=True))

    def loss_of_weight(index):
        return lambda moved: loss(inputs, [*values[:index], moved, *values[index + 1 :]])

    functions = [loss_of_weight(index) for index in range(len(values))]
    for function, point in [
        *zip(functions, values, strict=True),
        (lambda moved: loss(moved, values), inputs),
    ]:
        np.testing.assert_allclose(
            test_case.gradient(function, point),
            test_case.finite_differences(function, point),
            rtol=1e-5,
            atol=1e-8,
        )


@each_kind
@pytest.mark.parametrize("unroll", [False, True])
@pytest.mark.parametrize("go_backwards", [False, True])
def test_ways_to_run_over_time(kind, unroll, go_backwards):
    inputs = random(2, 5, FEATURES)
    cell = kind(4, memories=2, capacity=4)
    options = {"unroll": unroll, "go_backwards": go_backwards}
    every = built(keras.layers.RNN(cell, return_sequences=True, **options), inputs)
    last = keras.layers.RNN(cell, return_state=True, **options)

    outputs = to_numpy(every(inputs))
    output, hidden, memory = last(inputs)

    order = inputs[:, ::-1] if go_backwards else inputs
    assert_follows_reference(kind, cell, order, outputs, hidden, memory)
    np.testing.assert_array_equal(to_numpy(output), outputs[:, -1])
    np.testing.assert_array_equal(to_numpy(hidden), outputs[:, -1])
    assert hidden.shape == (2, 4)
    assert memory.shape == (2, 2 * 4)


@each_kind
@pytest.mark.parametrize("unroll", [False, True])
def test_masked_steps_leave_everything_as_it_is(kind, unroll):
    inputs = random(4, 5, FEATURES)
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [0, 0, 1, 1, 1], [1, 0, 1, 0, 1]], bool)
    cell = kind(4, memories=2, capacity=4, no_op=True)
    rnn = keras.layers.RNN(cell, return_state=True, unroll=unroll)
    built(rnn, inputs)

    _, hidden, memory = rnn(inputs, mask=mask)

    for row in range(4):
        _, last, slots = reference_run(kind, cell, inputs[row][mask[row]].tolist())
        np.testing.assert_allclose(to_numpy(hidden)[row], last, rtol=0, atol=1e-5)
        np.testing.assert_allclose(memory_of(cell, memory)[row], slots, rtol=0, atol=1e-5)


@each_kind
def test_mask_of_an_embedding_reaches_the_cell(kind):
    tokens = np.array([[1, 2, 3, 0, 0], [3, 2, 1, 1, 2]])
    embedding = keras.layers.Embedding(4, FEATURES, mask_zero=True)
    rnn = keras.layers.RNN(kind(4, capacity=4))
    padded = keras.Sequential([embedding, rnn])
    padded.build((None, None))
    randomise(padded)

    np.testing.assert_allclose(
        to_numpy(padded(tokens))[0], to_numpy(padded(tokens[:1, :3]))[0], atol=1e-6
    )


@each_kind
def test_initial_state_is_where_a_run_goes_on(kind):
    inputs = random(2, 6, FEATURES)
    rnn = built(keras.layers.RNN(kind(4, capacity=4), return_state=True), inputs)

    whole = rnn(inputs)
    _, *half = rnn(inputs[:, :3])
    rest = rnn(inputs[:, 3:], initial_state=half)

    for one, other in zip(whole, rest, strict=True):
        np.testing.assert_allclose(to_numpy(one), to_numpy(other), rtol=0, atol=1e-6)


@each_kind
def test_stateful_goes_on_and_resets_to_an_empty_memory(kind):
    inputs = random(2, 6, FEATURES)
    cell = kind(4, memories=2, capacity=4)
    plain = built(keras.layers.RNN(cell, return_sequences=True), inputs)
    rnn = keras.layers.RNN(cell, return_sequences=True, stateful=True)

    for _ in range(2):
        halves = [to_numpy(rnn(inputs[:, :3])), to_numpy(rnn(inputs[:, 3:]))]
        np.testing.assert_allclose(
            np.concatenate(halves, axis=1), to_numpy(plain(inputs)), rtol=0, atol=1e-6
        )
        assert to_numpy(rnn.states[1]).max() > -1
        rnn.reset_state()
        assert np.all(to_numpy(rnn.states[0]) == 0)
        assert np.all(to_numpy(rnn.states[1]) == -1)


def stateful_layers():
    def stack(units=4, **kwargs):
        return keras_stackrnn.StackCell(units, capacity=4, **kwargs)

    def list_(units=3, **kwargs):
        return keras_stackrnn.ListCell(units, capacity=4, **kwargs)

    yield "bidirectional", keras.layers.Bidirectional(keras.layers.RNN(stack(), stateful=True))
    yield "two", keras.layers.RNN([stack(), list_()], stateful=True)
    yield "with LSTM", keras.layers.RNN([keras.layers.LSTMCell(2), list_()], stateful=True)
    both = keras.layers.RNN([list_(), stack()], stateful=True)
    yield "bidirectional of two", keras.layers.Bidirectional(both)


@pytest.mark.parametrize("name", [name for name, _ in stateful_layers()])
def test_reset_empties_the_memories_of(name):
    layer = dict(stateful_layers())[name]
    inputs = random(2, 5, FEATURES)

    first = to_numpy(layer(inputs))
    second = to_numpy(layer(inputs))
    layer.reset_state()
    again = to_numpy(layer(inputs))

    assert np.abs(second - first).max() > 1e-4
    np.testing.assert_array_equal(again, first)


def test_reset_of_other_layers_is_still_keras_own():
    layer = keras.layers.LSTM(4, stateful=True)
    inputs = random(2, 5, FEATURES)
    first = to_numpy(layer(inputs))
    layer.reset_state()

    assert all(np.all(to_numpy(state) == 0) for state in layer.states)
    np.testing.assert_array_equal(to_numpy(layer(inputs)), first)


def test_several_cells_in_one_rnn():
    inputs = random(2, 5, FEATURES)
    stack = test_case.STACK(4, memories=2, capacity=5)
    list_ = test_case.LIST(3, capacity=4, use_bias=True)
    rnn = keras.layers.RNN([stack, list_], return_sequences=True, return_state=True)
    built(rnn, inputs)

    outputs, stack_states, list_states = rnn(inputs)

    between = np.array([reference_run(test_case.STACK, stack, row.tolist())[0] for row in inputs])
    assert_follows_reference(test_case.LIST, list_, between, outputs, *list_states)
    assert_follows_reference(test_case.STACK, stack, inputs, between, *stack_states)


@each_kind
def test_bidirectional(kind):
    inputs = random(2, 5, FEATURES)
    rnn = keras.layers.RNN(kind(4, memories=2, capacity=4), return_sequences=True)
    layer = built(keras.layers.Bidirectional(rnn), inputs)

    outputs = to_numpy(layer(inputs))

    forward, backward = layer.forward_layer.cell, layer.backward_layer.cell
    assert_follows_reference(kind, forward, inputs, outputs[..., :4])
    assert_follows_reference(kind, backward, inputs[:, ::-1], outputs[:, ::-1, 4:])


@each_kind
def test_rounding_acts_at_inference_only(kind):
    inputs = random(2, 6, FEATURES)
    soft, rounded = (kind(4, memories=2, capacity=4, rounding=rounding) for rounding in (0, 1))
    soft_rnn, rounded_rnn = (keras.layers.RNN(c, return_sequences=True) for c in (soft, rounded))
    for rnn in (soft_rnn, rounded_rnn):
        built(rnn, inputs)

    in_training = rounded_rnn(inputs, training=True)
    outputs = rounded_rnn(inputs)

    np.testing.assert_array_equal(to_numpy(in_training), to_numpy(soft_rnn(inputs)))
    np.testing.assert_array_equal(to_numpy(outputs), to_numpy(rounded_rnn(inputs, training=False)))
    assert np.abs(to_numpy(outputs) - to_numpy(in_training)).max() > 1e-3
    assert_follows_reference(kind, rounded, inputs, outputs)


@each_kind
@pytest.mark.parametrize("activation", ["tanh", "relu", None, keras.activations.softplus])
def test_activation_is_of_the_hidden_units_only(kind, activation):
    cell = kind(4, capacity=4, activation=activation)
    inputs = random(2, FEATURES)
    states = cell.get_initial_state(2)
    built(cell, inputs)

    outputs, (hidden, memory) = cell(inputs, states)

    before = inputs @ to_numpy(cell.kernel) - to_numpy(cell.memory_kernel).sum(axis=0)
    expected = keras.activations.get(activation)(ops.convert_to_tensor(before))
    np.testing.assert_allclose(to_numpy(outputs), to_numpy(expected), atol=1e-5)
    np.testing.assert_array_equal(to_numpy(hidden), to_numpy(outputs))
    assert to_numpy(memory).max() <= 1


@each_kind
def test_shapes_are_known_before_the_run(kind):
    cell = kind(4, memories=2, capacity=6)
    inputs = keras.Input((None, FEATURES))
    outputs, hidden, memory = keras.layers.RNN(cell, return_sequences=True, return_state=True)(
        inputs
    )
    model = keras.Model(inputs, [outputs, hidden, memory])

    assert cell.state_size == [4, 12]
    assert cell.output_size == 4
    assert [tuple(t.shape) for t in (outputs, hidden, memory)] == [
        (None, None, 4),
        (None, 4),
        (None, 12),
    ]
    for batch, time in ((2, 5), (3, 1)):
        run = model.predict(random(batch, time, FEATURES), verbose=0)
        assert [r.shape for r in run] == [(batch, time, 4), (batch, 4), (batch, 12)]


@each_kind
@pytest.mark.parametrize(
    ("policy", "compute", "atol"),
    [
        ("mixed_float16", "float16", 1e-2),
        ("mixed_bfloat16", "bfloat16", 1e-1),
        pytest.param("float64", "float64", FLOAT64_ERROR, marks=needs_float64),
    ],
)
def test_precisions(kind, policy, compute, atol):
    inputs = random(2, 6, FEATURES)
    keras.config.set_dtype_policy(policy)
    cell = kind(4, memories=2, capacity=16)
    rnn = keras.layers.RNN(cell, return_sequences=True, return_state=True)
    built(rnn, inputs, scale=0.5)

    outputs, hidden, memory = rnn(inputs)

    assert {weight.dtype for weight in rnn.weights} == {
        "float64" if policy == "float64" else "float32"
    }
    for tensor in (outputs, hidden, memory, *cell.get_initial_state(2)):
        assert keras.backend.standardize_dtype(tensor.dtype) == compute
    wide = [ops.cast(tensor, "float64") for tensor in (outputs, hidden, memory)]
    assert_follows_reference(kind, cell, inputs, *wide, atol=atol)
    written = slice(0, 6) if kind is test_case.STACK else slice(16 // 2 - 6, 16 // 2 + 6)
    beyond = np.delete(memory_of(cell, wide[2]), written, axis=2)
    assert np.all(beyond == -1)


@each_kind
def test_initial_state_is_empty(kind):
    hidden, memory = kind(4, memories=2, capacity=3).get_initial_state(batch_size=5)

    np.testing.assert_array_equal(to_numpy(hidden), np.zeros((5, 4)))
    np.testing.assert_array_equal(to_numpy(memory), np.full((5, 6), -1))


def weight_options(kind):
    """A different initializer, regularizer and constraint for every one of the cell's weights."""
    prefixes = ["kernel", "recurrent", "memory", "action", kind.write, "bias"]
    for i, prefix in enumerate(prefixes, start=1):
        yield f"{prefix}_initializer", keras.initializers.Constant(0.1 * i)
        yield f"{prefix}_regularizer", keras.regularizers.L1(0.01 * i)
        yield f"{prefix}_constraint", keras.constraints.MaxNorm(1.0 * i)


def option_prefix(weight):
    return "bias" if "bias" in weight.name else weight.name.removesuffix("_kernel")


@each_kind
def test_every_weight_has_its_own_initializer_regularizer_and_constraint(kind):
    options = dict(weight_options(kind))
    cell = kind(4, memories=2, capacity=3, use_bias=True, **options)
    cell.build((None, FEATURES))

    biases = {"bias", "action_bias", f"{kind.write}_bias"}
    kernels = {f"{p}_kernel" for p in ("recurrent", "memory", "action", kind.write)} | {"kernel"}
    assert {weight.name for weight in cell.weights} == kernels | biases
    penalty = 0
    for weight in cell.weights:
        prefix = option_prefix(weight)
        value = options[f"{prefix}_initializer"].value
        np.testing.assert_allclose(to_numpy(weight), np.full(weight.shape, value), rtol=1e-6)
        assert weight.constraint is options[f"{prefix}_constraint"]
        penalty += float(options[f"{prefix}_regularizer"].l1) * value * np.prod(weight.shape)
    assert sum(to_numpy(loss) for loss in cell.losses) == pytest.approx(penalty, rel=1e-5)


@each_kind
def test_config_round_trip(kind):
    cell = kind(
        np.int64(4),
        memories=np.int32(2),
        capacity=np.array(5),
        read_depth=3,
        no_op=True,
        use_recurrent_kernel=False,
        use_bias=True,
        rounding=True,
        activation="tanh",
        name="mine",
        dtype="mixed_float16",
        **dict(weight_options(kind)),
    )

    config = json.loads(json.dumps(cell.get_config()))
    twin = kind.cell.from_config(config)

    assert twin.get_config() == cell.get_config()
    assert [twin.units, getattr(twin, kind.memories), twin.capacity, twin.read_depth] == [
        4,
        2,
        5,
        3,
    ]
    assert twin.no_op
    assert not twin.use_recurrent_kernel
    assert twin.use_bias
    assert twin.rounding
    assert twin.activation is keras.activations.tanh
    assert getattr(twin, f"{kind.write}_constraint").max_value == 5


@each_kind
def test_layer_around_a_cell_round_trips_without_custom_objects(kind):
    layer = keras.layers.RNN([kind(4, capacity=3), kind(2)], return_sequences=True)

    config = json.loads(json.dumps(keras.saving.serialize_keras_object(layer)))
    twin = keras.saving.deserialize_keras_object(config)

    assert [type(cell) for cell in twin.cell.cells] == [kind.cell] * 2
    assert twin.get_config() == layer.get_config()


@test_case.starts_other_backends
@test_case.other_backends
def test_all_of_this_on_another_backend(backend):
    test_case.run_on_backend(backend, __file__)
