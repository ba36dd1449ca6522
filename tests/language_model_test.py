"""Tests of language models in training: what they read, what they learn from, what is measured."""

import dataclasses
import json
import math

import keras
import numpy as np
import pytest
import tensorflow as tf
from language_case import finish, tiny_config, tiny_text, training_of
from test_case import raises_only, randomise
from training_case import assert_same_arrays

from keras_stackrnn.explicit_state import ExplicitStateLayers
from keras_stackrnn.models import NextSymbolModel, has_memory, kinds
from keras_stackrnn.perplexity import PerplexityMeter, perplexity
from keras_stackrnn.training.blockwise_cross_entropy import blockwise_cross_entropy
from keras_stackrnn.training.language_config import LanguageModelConfig
from keras_stackrnn.training.language_recipes import RECIPES, TASKS
from keras_stackrnn.training.language_step import LanguageStep
from keras_stackrnn.training.text_windows import TextWindows

pytestmark = pytest.mark.usefixtures("one_block_of_steps")

each_kind = pytest.mark.parametrize("kind", kinds())


@pytest.fixture
def eagerly():
    """Nothing is compiled: for a few updates that takes far longer than they do."""
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


def model_of(kind, **options):
    options = {"memories": 2, "capacity": 3, "use_recurrent_kernel": True, **options}
    model = NextSymbolModel(
        kind, "abcde", units=4, embedding_size=3, use_bias=True, context_units=3, **options
    )
    randomise(model)
    return model


def test_lanes_read_the_text_side_by_side_in_its_order():
    lanes = TextWindows(np.arange(1, 61), 0, lanes=3, window=5, seed=0)
    assert lanes.windows == 4
    windows = [lanes.window(0, number) for number in range(4)]
    inputs, targets = (np.concatenate(each, axis=1) for each in zip(*windows, strict=True))
    np.testing.assert_array_equal(targets, np.arange(1, 61).reshape(3, 20))
    np.testing.assert_array_equal(inputs, targets - 1)


def test_what_lanes_leave_over_is_not_always_the_same():
    lanes = TextWindows(np.arange(1, 66), 0, lanes=3, window=5, seed=0)
    firsts = [lanes.window(epoch, 0)[1][0, 0] for epoch in range(40)]
    assert set(firsts) == {1, 2, 3, 4, 5, 6}
    again = TextWindows(np.arange(1, 66), 0, lanes=3, window=5, seed=0)
    assert firsts == [again.window(epoch, 0)[1][0, 0] for epoch in range(40)]


def test_a_text_shorter_than_a_window():
    with raises_only(
        "A text of 14 symbols is too short for 3 lanes with windows of 5 symbols: expected 15 or "
        "more, fewer lanes, or a shorter window."
    ):
        TextWindows(np.arange(14), 0, lanes=3, window=5, seed=0)


@pytest.mark.parametrize("logits_a_block", [1, 14, 35, 70, 1000])
def test_the_softmax_in_blocks_is_the_softmax(logits_a_block):
    rng = np.random.default_rng(0)
    tensors = [tf.constant(rng.normal(size=s)) for s in ((10, 4), (4, 7), (7,))]
    targets = tf.constant(rng.integers(0, 7, 10), tf.int32)

    def plain(outputs, kernel, bias):
        logits = outputs @ kernel + bias
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits))

    def in_blocks(outputs, kernel, bias):
        return blockwise_cross_entropy(outputs, kernel, bias, targets, logits_a_block)

    results = []
    for function in (plain, in_blocks):
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            entropy = 3 * function(*tensors)
        results.append([entropy, *tape.gradient(entropy, tensors)])
    for expected, actual in zip(*results, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-15)


@each_kind
def test_windows_with_their_states_carried_are_the_whole_sequence(kind):
    model = model_of(kind, layers=2)
    layers = ExplicitStateLayers(model)
    tokens = np.random.default_rng(0).integers(0, 5, (2, 12))
    sequences, states, outputs = model.embed(tokens), layers.initial_states(2), []
    for window in (slice(0, 5), slice(5, 6), slice(6, 12)):
        output, states = layers.read(sequences[:, window], states, training=True)
        outputs.append(output)
    logits = model.output_layer(tf.concat(outputs, axis=1))
    np.testing.assert_allclose(logits, model(tokens), rtol=0, atol=1e-5)


@each_kind
def test_perplexity_is_that_of_every_token_one_by_one(kind):
    model = model_of(kind)
    tokens = np.random.default_rng(1).integers(0, 5, 17).astype(np.int32)
    expected = []
    cells = keras.layers.RNN(model.recurrent[0].cell, return_state=True)
    states = cells.get_initial_state(1)
    for before, token in zip([4, *tokens], tokens, strict=False):
        output, *states = cells(model.embed(np.array([[before]])), initial_state=states)
        logits = np.array(model.output_layer(output))[0].astype(float)
        powers = np.exp(logits - logits.max())
        expected.append(math.log(powers[token] / powers.sum()))
    meter = PerplexityMeter(model, tokens_a_call=5)
    assert meter.entropy(tokens, first=4) == pytest.approx(-np.mean(expected), rel=1e-5)
    assert meter.measure(tokens, first=4) == pytest.approx(math.exp(-np.mean(expected)), rel=1e-4)


def test_perplexity_of_nothing_and_of_everything():
    with raises_only("There are no tokens to measure."):
        PerplexityMeter(model_of("rnn")).measure(np.array([], int), first=0)
    assert perplexity(1e4) == math.inf
    assert math.isnan(perplexity(math.nan))


def test_a_memory_without_a_capacity_cannot_be_carried():
    with raises_only(
        "States that are carried in one compiled program have one size: expected a model with an "
        "integer `capacity`, got None."
    ):
        ExplicitStateLayers(model_of("stack", capacity=None))


def test_an_update_goes_down_the_clipped_gradient():
    config = tiny_config("lstm", optimizer="sgd", learning_rate=2.0, clip_norm=0.01)
    text = tiny_text()
    model = NextSymbolModel("lstm", text.vocabulary, 5, embedding_size=4, use_bias=True)
    inputs, targets = TextWindows(text.train, text.first, 3, 10, 0).window(0, 0)
    with tf.GradientTape() as tape:
        entropies = tf.nn.sparse_softmax_cross_entropy_with_logits(targets, model(inputs))
        entropy = tf.reduce_mean(entropies)
    gradients = [tf.convert_to_tensor(g) for g in tape.gradient(entropy, model.weights)]
    norm = tf.linalg.global_norm(gradients)
    assert norm > 0.01
    pairs = zip(model.get_weights(), gradients, strict=True)
    expected = [weight - 2.0 * 0.01 * gradient / norm for weight, gradient in pairs]

    returned = LanguageStep(model, config).update(inputs, targets, 0)

    np.testing.assert_allclose(returned, entropy, rtol=1e-5)
    for actual, wanted in zip(model.get_weights(), expected, strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=0, atol=1e-6)


@pytest.mark.usefixtures("eagerly")
def test_averaged_weights_follow_the_weights():
    text = tiny_text()
    model = NextSymbolModel("rnn", text.vocabulary, 5, embedding_size=4, use_bias=True)
    step = LanguageStep(model, tiny_config("rnn", averaging=0.5))
    lanes = TextWindows(text.train, text.first, 3, 10, 0)
    average = model.get_weights()
    for number in range(12):
        step.update(*lanes.window(0, number % lanes.windows), number)
        kept = min(0.5, (1 + number) / (10 + number))
        average = [
            kept * a + (1 - kept) * w for a, w in zip(average, model.get_weights(), strict=True)
        ]
    for actual, wanted in zip(step.weights(), average, strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=0, atol=1e-6)


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("place", ["dropout", "input_dropout"])
def test_dropout_follows_from_the_seed_and_the_update(place):
    text = tiny_text()
    model = NextSymbolModel("rnn", text.vocabulary, 5, embedding_size=4, use_bias=True)
    window = TextWindows(text.train, text.first, 3, 10, 0).window(0, 0)
    config = tiny_config("rnn", optimizer="sgd", learning_rate=1e-30, **{place: 0.5})

    def entropies(**changes):
        step = LanguageStep(model, dataclasses.replace(config, **changes))
        found = []
        for number in (0, 1):
            step.begin_epoch()
            found.append(float(step.update(*window, number)))
        return found

    first = entropies()
    assert first == entropies()
    assert len({*first, *entropies(seed=2), *entropies(**{place: 0.0})}) == 5


@pytest.fixture(scope="module")
def trained():
    return finish(training_of("rnn", epochs=10, learning_rate=0.05))


def test_learns_the_text(trained):
    first, *_, last = trained.epochs()
    # There are 24 words, and a sentence has 12 ways to begin and 6 to end.
    assert first["validation_perplexity"] > 8
    assert last["validation_perplexity"] < 4
    assert last["train_perplexity"] < first["train_perplexity"]


def test_status_says_where_it_stands(trained):
    status, epochs = trained.status(), trained.epochs()
    assert (status.epoch, status.updates) == (10, trained.planned_updates)
    assert status.symbols == status.updates * 3 * 8
    assert status.validation_perplexity == epochs[-1]["validation_perplexity"]
    assert status.best_perplexity == min(e["validation_perplexity"] for e in epochs)


def test_the_best_model_is_the_one_that_was_measured(trained):
    text = tiny_text()
    measured = PerplexityMeter(trained.best_model()).measure(text.validation, text.first)
    assert measured == pytest.approx(trained.status().best_perplexity, rel=1e-6)


@pytest.mark.usefixtures("eagerly")
def test_the_learning_rate_rises_and_then_falls_to_nothing():
    short = {"lanes": 2, "window": 1, "epochs": 1, "updates_a_round": 1}
    training = training_of("rnn", learning_rate=0.5, **short)
    rates = []
    while not training.done:
        rates.append(training.status().learning_rate)
        training.advance()
    assert len(rates) == 278
    fall = 0.5 * (1 - np.arange(278) / 278)
    np.testing.assert_allclose(rates, [fall[0] / 2.78, fall[1] * 2 / 2.78, *fall[2:]])
    assert training.status().learning_rate == 0


def test_ends_when_it_has_diverged_with_the_best_weights():
    training = training_of("rnn", optimizer="sgd", learning_rate=1e6, clip_norm=1e6, epochs=50)
    initial = training.best_model().get_weights()
    finish(training)
    assert len(training.epochs()) == 1
    assert not math.isfinite(training.epochs()[0]["validation_perplexity"])
    assert_same_arrays(training.best_model().get_weights(), initial)


@pytest.mark.parametrize("kind", ["stack", pytest.param("lstm", marks=pytest.mark.slow)])
def test_goes_on_exactly_from_a_state(kind):
    options = {"dropout": 0.2, "averaging": 0.9, "epochs": 2}
    whole = training_of(kind, **options)
    for _ in range(2):
        whole.advance()
    arrays, meta = whole.state()
    meta = json.loads(json.dumps(meta))
    finish(whole)
    resumed = training_of(kind, **options)
    resumed.restore(arrays, meta)
    finish(resumed)
    assert resumed.status() == whole.status()
    assert resumed.epochs() == whole.epochs()
    assert_same_arrays(resumed.best_model().get_weights(), whole.best_model().get_weights())


@pytest.mark.parametrize("kind", ["stack", "lstm"])
def test_initial_weights_are_scaled_all_but_biases_and_the_outputs(kind):
    plain, scaled = (training_of(kind, initial_scale=scale).best_model() for scale in (1.0, 4.0))
    for usual, weight in zip(plain.weights, scaled.weights, strict=True):
        stays = weight.name.endswith("bias") or weight is scaled.output_layer.kernel
        np.testing.assert_allclose(weight, (1 if stays else 4) * np.asarray(usual), rtol=1e-6)


@pytest.mark.parametrize("kind", ["stack", "list"])
def test_memories_hold_what_they_have_if_the_bias_of_no_op_is_high(kind):
    training = training_of(kind, no_op=True, no_op_bias=5.0, layers=2)
    for cell in (layer.cell for layer in training.best_model().recurrent):
        hidden, memory = (np.linspace(0, 1, size)[None] for size in cell.state_size)
        inputs = np.zeros((1, cell.kernel.shape[0]))
        _, (_, after) = cell(inputs, [hidden, memory])
        np.testing.assert_allclose(after, memory, atol=0.05)


@pytest.mark.usefixtures("eagerly")
def test_another_seed_is_another_training():
    one, other = (training_of("rnn", seed=seed) for seed in (1, 2))
    for training in (one, other):
        training.advance()
    assert one.status().train_perplexity != other.status().train_perplexity


@each_kind
@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("task", TASKS)
def test_there_is_a_recipe_for_every_kind(task, recipe, kind):
    config = LanguageModelConfig.from_recipe(task, kind, recipe)
    assert (config.memories > 0) == has_memory(kind)
