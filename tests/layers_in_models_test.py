"""Tests of models with StackRNN and ListRNN on TensorFlow: trained, saved, loaded."""

import keras
import numpy as np
import pytest
from test_case import LIST, STACK, built, each_kind, random, randomise, to_numpy

if keras.backend.backend() != "tensorflow":
    pytest.skip("these tests train with TensorFlow", allow_module_level=True)

FEATURES = 3


def examples(count=16, time=6):
    labels = np.random.default_rng(1).integers(0, 2, (count, time))
    return random(count, time, FEATURES), labels


def model_of(*layers, time=6, batch=None):
    model = keras.Sequential([keras.Input((time, FEATURES), batch), *layers])
    model.add(keras.layers.Dense(2, activation="softmax"))
    randomise(model)
    return model


def trained(model, epochs=1, **compile_options):
    """The model's weights and losses after training on a few examples."""
    model.compile(keras.optimizers.SGD(0.1), "sparse_categorical_crossentropy", **compile_options)
    logs = model.fit(*examples(), batch_size=8, shuffle=False, epochs=epochs, verbose=0).history
    return model.get_weights(), logs


@each_kind
@pytest.mark.parametrize(
    ("capacity", "time", "jit_compile"), [(4, 6, True), (None, 6, False), (4, None, False)]
)
def test_fit_fused_is_fit_of_the_cell_in_a_loop(kind, capacity, time, jit_compile):
    def layer(use_fused):
        return kind.rnn(
            4, memories=2, capacity=capacity, use_fused=use_fused, return_sequences=True
        )

    looping, fused = model_of(layer(use_fused=False)), model_of(layer(use_fused=True), time=time)
    before = looping.get_weights()
    expected, _ = trained(looping, run_eagerly=True)
    weights, _ = trained(fused, jit_compile=jit_compile)

    for start, one, other in zip(before, weights, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
        assert np.any(one != start)


@each_kind
def test_stateful_training_compiled(kind):
    def train(layer, **compile_options):
        model = model_of(layer, batch=8)
        weights, _ = trained(model, **compile_options)
        return [*weights, *(to_numpy(state) for state in layer.states)]

    options = {"stateful": True, "return_sequences": True}
    fused = kind.rnn(4, memories=2, capacity=5, use_fused=True, **options)
    loop = keras.layers.RNN(kind(4, memories=2, capacity=5), **options)

    for one, other in zip(
        train(fused, jit_compile=True), train(loop, run_eagerly=True), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-5)


@each_kind
@pytest.mark.parametrize("policy", ["mixed_float16", "float64"])
def test_fit_in_other_precisions(kind, policy):
    keras.config.set_dtype_policy(policy)
    layer = kind.rnn(4, memories=2, capacity=6, use_fused=True, return_sequences=True)

    weights, logs = trained(model_of(layer), epochs=6, jit_compile=False)

    assert logs["loss"][-1] < logs["loss"][0] - 0.01
    assert {weight.dtype.name for weight in weights} == {
        "float64" if policy == "float64" else "float32"
    }


@each_kind
@pytest.mark.parametrize("rounding", [False, True])
def test_half_precision_is_close_to_full(kind, rounding):
    inputs = random(2, 6, FEATURES)
    options = {"memories": 2, "capacity": None, "rounding": rounding, "return_state": True}
    half, full = (
        built(kind.rnn(4, use_fused=True, dtype=dtype, **options), inputs, scale=0.5)
        for dtype in ("mixed_float16", "float32")
    )

    for one, other in zip(half(inputs), full(inputs), strict=True):
        assert one.dtype == "float16"
        np.testing.assert_allclose(to_numpy(one), to_numpy(other), rtol=0, atol=2e-2)


@each_kind
def test_bidirectional(kind):
    inputs = random(2, 5, FEATURES)
    layer = kind.rnn(4, memories=2, use_fused=True, return_sequences=True)
    both = built(keras.layers.Bidirectional(layer), inputs)

    outputs = to_numpy(both(inputs))

    for part, outputs_of_part, order in (
        (both.forward_layer, outputs[..., :4], 1),
        (both.backward_layer, outputs[:, ::-1, 4:], -1),
    ):
        cell = kind(4, memories=2, capacity=12)
        loop = keras.layers.RNN(cell, return_sequences=True)
        loop.build(inputs.shape)
        loop.set_weights(part.get_weights())
        np.testing.assert_allclose(outputs_of_part, loop(inputs[:, ::order]), atol=1e-6)


def layer_and_rnn(kind, capacity):
    """Two models of the same structure, so that files of weights name them the same."""
    inputs = random(2, 5, FEATURES)
    layers = [
        kind.rnn(4, memories=2, capacity=capacity, use_bias=True),
        keras.layers.RNN(kind(4, memories=2, capacity=capacity or 20, use_bias=True)),
    ]
    models = [keras.Sequential([keras.layers.Bidirectional(layer)]) for layer in layers]
    for seed, model in enumerate(models):
        built(model, inputs, seed=seed)
    return *models, inputs


@each_kind
@pytest.mark.parametrize("capacity", [6, None])
@pytest.mark.parametrize("direction", [1, -1], ids=["from the layer", "from the cell"])
def test_weights_of_layer_and_cell_are_interchangeable(kind, capacity, direction, tmp_path):
    source, target, inputs = layer_and_rnn(kind, capacity)
    source, target = (source, target)[::direction]
    outputs = to_numpy(source(inputs))
    assert np.abs(outputs - to_numpy(target(inputs))).max() > 1e-3

    assert [w.name for w in source.weights] == [w.name for w in target.weights]
    source.save_weights(tmp_path / "model.weights.h5")
    target.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_allclose(to_numpy(target(inputs)), outputs, atol=1e-6)

    randomise(target)
    target.set_weights(source.get_weights())
    np.testing.assert_allclose(to_numpy(target(inputs)), outputs, atol=1e-6)


@each_kind
def test_a_stateful_model_is_saved_and_loaded(kind, tmp_path):
    layer = kind.rnn(4, memories=2, stateful=True, return_sequences=True)
    model = model_of(layer, batch=2)
    inputs = random(2, 6, FEATURES)
    first = model.predict(inputs, verbose=0)
    second = model.predict(inputs, verbose=0)
    assert np.abs(first - second).max() > 1e-4

    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")

    np.testing.assert_allclose(loaded.predict(inputs, verbose=0), first, atol=1e-6)


@pytest.mark.parametrize(("kind", "depth"), [(STACK, 2 + 6), (LIST, 2 + 2 * 6)])
def test_shapes_are_known_before_the_run(kind, depth):
    inputs = keras.Input((6, FEATURES))
    outputs = kind.rnn(4, memories=2, return_sequences=True, return_state=True)(inputs)
    model = keras.Model(inputs, outputs)

    assert [tuple(output.shape) for output in outputs] == [(None, 6, 4), (None, 4), (None, None)]
    run = model.predict(random(3, 6, FEATURES), verbose=0)
    assert [result.shape for result in run] == [(3, 6, 4), (3, 4), (3, 2 * depth)]
