"""Next-symbol models: what they compute, what they carry along, their twins."""

import keras
import numpy as np
import pytest
from test_case import raises, randomise, run_python

from keras_stackrnn import ListRNN, StackRNN
from keras_stackrnn.models import NextSymbolModel, kinds

TOKENS = np.array([[0, 0, 1, 2, 1], [2, 1, 0, 0, 0]], "int32")

each_kind = pytest.mark.parametrize("kind", kinds())


def model_of(kind, **options):
    model = NextSymbolModel(kind, "ab=", units=6, task="memorize", **options)
    randomise(model)
    return model


@each_kind
def test_gives_logits_of_every_next_symbol(kind):
    assert model_of(kind)(TOKENS).shape == (2, 5, 3)


def test_is_the_layers_one_after_the_other():
    model = model_of("list", memories=2, layers=2)
    layers = [ListRNN(6, 2, return_sequences=True, use_recurrent_kernel=False) for _ in range(2)]
    network = keras.Sequential(
        [keras.Input((None, 3)), *layers, keras.layers.Dense(3, use_bias=False)]
    )
    network.set_weights(model.get_weights())
    one_hot = np.eye(3, dtype="float32")[TOKENS]
    np.testing.assert_allclose(model(TOKENS), network(one_hot), rtol=1e-6)


@each_kind
def test_symbols_before_decide_and_symbols_after_do_not(kind):
    model = model_of(kind)
    changed = TOKENS.copy()
    changed[:, 3] = 0
    before, after = np.array(model(TOKENS)), np.array(model(changed))
    np.testing.assert_array_equal(before[:, :3], after[:, :3])
    assert np.abs(before[:, 3:] - after[:, 3:]).max() > 1e-4


def test_an_embedding_takes_the_place_of_one_hot_symbols():
    model = model_of("stack", embedding_size=4)
    assert model.embed(TOKENS).shape == (2, 5, 4)
    assert model.recurrent[0].cell.kernel.shape == (4, 6)
    assert model(TOKENS).shape == (2, 5, 3)


@each_kind
def test_a_loaded_model_knows_its_symbols(kind, tmp_path):
    options = {"rounding": True, "no_op": True} if kind in ("stack", "list") else {"layers": 2}
    model = model_of(kind, use_bias=True, **options)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert (loaded.kind, loaded.vocabulary, loaded.task) == (kind, ["a", "b", "="], "memorize")
    assert loaded.get_config() == model.get_config()
    np.testing.assert_array_equal(loaded(TOKENS), model(TOKENS))


def test_loads_in_a_fresh_process(tmp_path):
    path = tmp_path / "model.keras"
    model_of("stack").save(path)
    printed = run_python(
        "-c",
        "import keras, sys, keras_stackrnn.models\n"
        "print(''.join(keras.models.load_model(sys.argv[1]).vocabulary))",
        str(path),
    )
    assert printed == "ab=\n"


def test_a_twin_has_the_weights_and_the_changes():
    model = model_of("stack", capacity=4)
    twin = model.twin(rounding=True, capacity=None)
    rounded = StackRNN(6, rounding=True, return_sequences=True, use_recurrent_kernel=False)
    rounded.build((2, 5, 3))
    rounded.set_weights(model.get_weights()[:-1])
    expected = rounded(np.eye(3, dtype="float32")[TOKENS]) @ model.get_weights()[-1]
    assert (twin.rounding, twin.capacity, model.rounding, model.capacity) == (True, None, False, 4)
    np.testing.assert_allclose(twin(TOKENS), expected, rtol=1e-5)


def test_trains_with_fit():
    model = model_of("stack")
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.05), loss)
    targets = np.roll(TOKENS, -1, axis=1)
    losses = model.fit(TOKENS, targets, epochs=8, verbose=0).history["loss"]
    assert losses[-1] < losses[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"kind": "elman", "vocabulary": "ab"},
            "Received an invalid value for argument `kind`: expected one of "
            "('stack', 'list', 'tape', 'editor', 'queue', 'rnn', 'gru', 'lstm', 'second_order', "
            "'srcn'), got 'elman'.",
        ),
        (
            {"kind": "lstm", "vocabulary": "ab", "rounding": True},
            "Argument `rounding` rounds the actions on a memory, which only the kinds "
            "('stack', 'list', 'tape', 'editor', 'queue') have, got rounding=True with kind "
            "'lstm'.",
        ),
        (
            {"kind": "rnn", "vocabulary": "aa"},
            "Received an invalid value for argument `vocabulary`: expected distinct symbols, "
            "got ['a', 'a'].",
        ),
        (
            {"kind": "rnn", "vocabulary": "ab", "layers": 0},
            "Received an invalid value for argument `layers`: expected a positive integer, got 0.",
        ),
    ],
)
def test_bad_arguments(arguments, message):
    with raises(message):
        NextSymbolModel(units=4, **arguments)
