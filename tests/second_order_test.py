"""Tests of the second-order controller: its equation, its gradient, what it writes, its search."""

import dataclasses

import keras
import numpy as np
import pytest
from test_case import raises_only, random, randomise

if keras.backend.backend() != "tensorflow":
    pytest.skip("the kernels are TensorFlow's", allow_module_level=True)

import tensorflow as tf
from training_case import tiny_config

from keras_stackrnn import ControllerCell, StackCell, StackRNN, controllers, memories
from keras_stackrnn.kernels.scan import Scan, Steps, scan
from keras_stackrnn.memories.layout import MemoryLayout
from keras_stackrnn.models import NextSymbolModel
from keras_stackrnn.training.data import TrainingData
from keras_stackrnn.training.search import Search

BATCH, STEPS, FEATURES, UNITS = 2, 5, 3, 4


def softmax(logits):
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


def test_large_weights_are_the_table_of_an_automaton():
    """Counts modulo 3: the first symbol leaves the state as it is, the second adds 1."""
    cell = ControllerCell(3, controller="second_order")
    cell.build((None, 2))
    kernel = np.zeros((2, 4, 3), "float32")
    for symbol in range(2):
        for state in range(3):
            kernel[symbol, state, (state + symbol) % 3] = 30
        kernel[symbol, 3, symbol] = 10  # without a state yet
    cell.kernel.assign(kernel)
    tokens = np.random.default_rng(0).integers(2, size=(4, 20))

    outputs = keras.layers.RNN(cell, return_sequences=True)(np.eye(2, dtype="float32")[tokens])

    np.testing.assert_array_equal(np.argmax(outputs, axis=-1), np.cumsum(tokens, axis=1) % 3)
    assert np.min(np.max(outputs, axis=-1)) > 0.999


@pytest.mark.parametrize("writes_hidden", [False, True])
def test_a_step_follows_the_equation(writes_hidden):
    size = UNITS if writes_hidden else 2
    cell = StackCell(
        UNITS,
        2,
        capacity=3,
        read_depth=2,
        element_size=size,
        controller="second_order",
        writes_hidden=writes_hidden,
        use_bias=True,
    )
    cell.build((BATCH, FEATURES))
    randomise(cell)
    inputs, hidden = random(BATCH, FEATURES, seed=1), random(BATCH, UNITS, seed=2)
    memory = random(BATCH, 3 * 2 * size, seed=3)

    after, [_, memory_after] = cell(inputs, [hidden, memory])

    for row in range(BATCH):
        rows = memory[row].reshape(3, size, 2)
        pairs = np.outer([*hidden[row], 1], [*rows[:2].ravel(), 1]).ravel()

        def decided(name, row=row, pairs=pairs):
            kernel = getattr(cell, f"{name}_kernel" if name else "kernel").numpy()
            bias = getattr(cell, f"{name}_bias" if name else "bias").numpy()
            return np.einsum("f,u,fuz->z", inputs[row], pairs, kernel) + bias

        np.testing.assert_allclose(after[row], softmax(decided("")), rtol=1e-4, atol=1e-6)
        actions = decided("action").reshape(2, 2)  # [actions, memories]
        if writes_hidden:
            pushed = np.repeat(hidden[row][:, None], 2, axis=1)
        else:
            pushed = 1 / (1 + np.exp(-decided("push").reshape(size, 2)))
        for stack in range(2):
            push, pop = softmax(actions[:, stack])
            elements = np.pad(rows[:, :, stack], [(1, 1), (0, 0)], constant_values=-1)
            elements[0] = pushed[:, stack]
            expected = push * elements[:3] + pop * elements[2:][[0, 1, 2]]
            found = np.reshape(memory_after[row], (3, size, 2))[:, :, stack]
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "memories_", "size", "writes_hidden"),
    [("stack", 0, 1, False), ("list", 2, 2, False), ("stack", 2, UNITS, True)],
)
@pytest.mark.parametrize("marked", [False, True])
def test_gradients_are_those_of_finite_differences(kind, memories_, size, writes_hidden, marked):
    layout = MemoryLayout(memories.get(kind).using(True), 2, size)
    controller = controllers.get("second_order", writes_hidden=writes_hidden)
    logits = UNITS + memories_ * (layout.controls - size * writes_hidden)
    pairs = (UNITS + 1) * (2 * size * memories_ + 1)
    rng = np.random.default_rng(0)

    def normal(*shape):
        return tf.constant(rng.normal(size=shape))

    def marks(share):
        return tf.constant(rng.random((STEPS, 1, 1, BATCH)) < share)

    values = {
        "projected": normal(STEPS, 1, FEATURES, BATCH),
        "hidden": normal(1, UNITS, BATCH),
        "memory": normal(1, 5, layout.numbers * memories_ * BATCH),
        "kernel": normal(1, FEATURES * logits, pairs),
        "bias": normal(1, logits, 1),
    }
    options = Scan(layout, controller, last_memory=True, differentiate_memory=True)
    steps = Steps(noise=normal(STEPS, 1, logits, BATCH))
    if marked:
        steps = steps._replace(
            counts=marks(0.7),
            resets=marks(0.2),
            hidden_mask=normal(1, UNITS, BATCH),
            read_mask=normal(1, 2 * size * memories_, BATCH),
        )

    def loss(values):
        weights = {name: values[name] for name in ("kernel", "bias")}
        states = {"hidden": values["hidden"]}
        done = scan(options, values["projected"], states, values["memory"], weights, steps)
        spread = tf.cast(tf.range(UNITS), tf.float64)[:, None]
        return tf.reduce_sum(tf.sin(3 * done.hiddens + spread)) + tf.reduce_sum(
            tf.sin(2 * done.memory)
        )

    with tf.GradientTape() as tape:
        tape.watch(values)
        whole = loss(values)
    gradients = tape.gradient(whole, values)

    for name, value in values.items():
        way, step = normal(*value.shape), 1e-6
        ahead, behind = (loss({**values, name: value + by * way}) for by in (step, -step))
        np.testing.assert_allclose(
            tf.reduce_sum(gradients[name] * way),
            (ahead - behind) / (2 * step),
            rtol=1e-5,
            atol=1e-6,
        )


def test_a_fused_layer_writes_its_states_as_the_cells_loop_does():
    options = {"writes_hidden": True, "element_size": UNITS, "controller": "second_order"}
    pair = [StackRNN(UNITS, 2, use_fused=fused, **options) for fused in (True, False)]
    inputs = random(BATCH, STEPS, FEATURES)
    results = []
    for layer in pair:
        layer.build(inputs.shape)
        randomise(layer)
        with tf.GradientTape() as tape:
            outputs = layer(inputs, training=True)
            loss = tf.reduce_sum(tf.sin(3 * outputs))
        results.append([outputs, *tape.gradient(loss, layer.trainable_variables)])

    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"use_recurrent_kernel": False},
            "controller='second_order' always sees its last state: expected "
            "use_recurrent_kernel=True, got False.",
        ),
        (
            {"activation": "tanh"},
            "The hidden units of controller='second_order' are the probabilities of states: "
            "expected activation='auto', got 'tanh'.",
        ),
        (
            {"writes_hidden": True},
            "With writes_hidden=True an element is as large as the hidden units: expected "
            "element_size=4, got 1.",
        ),
        (
            {"writes_hidden": True, "controller": "lstm"},
            "controller='lstm' decides what is written: expected writes_hidden=False, got True; "
            "'second_order' can write its hidden units.",
        ),
    ],
)
def test_what_it_cannot_be_is_said(given, message):
    with raises_only(message):
        StackRNN(UNITS, **{"controller": "second_order", **given})


def search_of(tmp_path, **values):
    config = tiny_config(tmp_path, **{"population": 3, "lifetime": 100, **values})
    return Search(config, TrainingData.of(config))


def test_noise_on_the_logits_of_states_reaches_training_alone(tmp_path, one_block_of_steps):
    quiet, noisy = (
        search_of(tmp_path, model="second_order", action_noise=noise) for noise in (0.0, 2.0)
    )
    assert quiet._scores(quiet._state.weights, quiet._validation) == noisy._scores(
        noisy._state.weights, noisy._validation
    )
    for search in (quiet, noisy):
        search.advance()

    assert np.any(quiet._state.weights["kernel"] != noisy._state.weights["kernel"])


def test_a_model_round_trips_through_its_file(tmp_path):
    model = NextSymbolModel("second_order", "ab", 4)
    randomise(model)
    model.save(tmp_path / "model.keras")

    again = keras.models.load_model(tmp_path / "model.keras")

    tokens = np.array([[0, 1, 1, 0]])
    np.testing.assert_array_equal(again(tokens), model(tokens))
    assert again.get_config() == model.get_config()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"use_recurrent_kernel": False},
            "A second-order controller looks its next state up by its last one, and has no "
            "sigmoids: use_recurrent_kernel must be True, got False.",
        ),
        (
            {"centred": True},
            "A second-order controller looks its next state up by its last one, and has no "
            "sigmoids: centred must be False, got True.",
        ),
        (
            {"listening": 0.5},
            "A second-order controller looks its next state up by its last one, and has no "
            "sigmoids: listening must be 0.0, got 0.5.",
        ),
        (
            {"model": "stack", "controller": "second_order", "writes_hidden": True},
            "With writes_hidden an element is as large as the hidden units: element_size must be "
            "4, got 1.",
        ),
    ],
)
def test_a_search_says_what_it_cannot_be(tmp_path, given, message):
    with raises_only(message):
        tiny_config(tmp_path, **{"model": "second_order", **given})


@pytest.mark.slow
def test_the_recipe_finds_a_cycle(tmp_path):
    """The fast twin is the population that learns, above."""
    from keras_stackrnn.evaluation import evaluate
    from keras_stackrnn.training import TrainingConfig

    config = TrainingConfig.from_recipe("chomsky/cycle_navigation", output_dir=str(tmp_path))
    search = Search(dataclasses.replace(config, wanted=1), TrainingData.of(config))
    while not search.done:
        search.advance()

    accuracy = evaluate(search.best_model(), config.learned_task(), [41, 200, 500], 32)
    assert accuracy.percent_n_correct == 100
