"""Tests of centred training: the same network, with biases that the optimizer sees centred."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from language_case import tiny_config, tiny_text, training_of
from test_case import randomise

from keras_stackrnn.models import NextSymbolModel, kinds
from keras_stackrnn.training import centring
from keras_stackrnn.training.architecture import Architecture
from keras_stackrnn.training.language_step import LanguageStep
from keras_stackrnn.training.population_state import weight_shapes
from keras_stackrnn.training.text_windows import TextWindows

pytestmark = pytest.mark.usefixtures("one_block_of_steps")

each_kind = pytest.mark.parametrize("kind", kinds())

UNITS, CONTEXT = 4, 3
# Of a layer: which kernels read sigmoids, and which bias goes with each.
READERS = {
    "rnn": {"recurrent_kernel": "bias"},
    "srcn": {"recurrent_kernel": "bias"},
    "gru": {},
    "lstm": {},
    "second_order": {},
}
WRITES = {"stack": "push", "list": "insert", "tape": "write", "editor": "write", "queue": "enqueue"}
for _kind, _write in WRITES.items():
    READERS[_kind] = {
        "recurrent_kernel": "bias",
        "memory_kernel": "bias",
        "action_kernel": "action_bias",
        f"{_write}_kernel": f"{_write}_bias",
    }


def model_of(kind):
    model = NextSymbolModel(
        kind,
        tiny_text().vocabulary,
        UNITS,
        layers=2,
        memories=2,
        capacity=3,
        use_recurrent_kernel=True,
        use_bias=True,
        embedding_size=5,
        context_units=CONTEXT,
    )
    randomise(model)
    return model


def readers(model):
    """The places of kernels that read sigmoids, of their biases, and what the kernels subtract."""
    if model.kind in ("gru", "lstm", "second_order"):
        return
    places = {tuple(w.path.split("/")): place for place, w in enumerate(model.weights)}

    def place(layer, name):
        return next(p for path, p in places.items() if path[1] == layer and path[-1] == name)

    given = [0.5] * UNITS + [0.0] * (CONTEXT if model.kind == "srcn" else 0)
    first, second = (f"{model.kind}_{number}" for number in range(2))
    for layer in (first, second):
        for kernel, bias in READERS[model.kind].items():
            number = place(layer, kernel)
            yield number, place(layer, bias), [0.5] * model.weights[number].shape[0]
    yield place(second, "kernel"), place(second, "bias"), given
    yield place("logits", "kernel"), place("logits", "bias"), given


def uncentred(model, values):
    """The network's own weights, of those of its centred form."""
    values = list(values)
    for kernel, bias, middle in readers(model):
        values[bias] = values[bias] - tf.linalg.matvec(values[kernel], middle, transpose_a=True)
    return values


def centred(model, values):
    values = list(values)
    for kernel, bias, middle in readers(model):
        values[bias] = values[bias] + np.array(middle, np.float32) @ values[kernel]
    return values


@pytest.mark.parametrize(
    ("kind", "optimizer"), [*((kind, "adam") for kind in kinds()), ("stack", "sgd")]
)
def test_updates_are_those_of_the_centred_form(kind, optimizer):
    config = tiny_config(
        kind, centred=True, optimizer=optimizer, learning_rate=0.1, clip_norm=0.3, units=UNITS
    )
    text, model = tiny_text(), model_of(kind)
    inputs, targets = TextWindows(text.train, text.first, 3, 6, 0).window(0, 0)
    variables = [keras.Variable(value) for value in centred(model, model.get_weights())]
    optimizers = {"sgd": keras.optimizers.SGD, "adam": keras.optimizers.Adam}
    reference = optimizers[optimizer](0.1, global_clipnorm=0.3)
    reference.build(variables)
    step = LanguageStep(model, config)

    for number in range(3):
        with tf.GradientTape() as tape:
            weights = uncentred(model, [variable.value for variable in variables])
            logits, _ = model.stateless_call(weights, model.non_trainable_variables, inputs)
            entropies = tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits)
            entropy = tf.reduce_mean(entropies)
        gradients = tape.gradient(entropy, [variable.value for variable in variables])
        reference.apply([tf.convert_to_tensor(each) for each in gradients], variables)
        step.begin_epoch()
        np.testing.assert_allclose(step.update(inputs, targets, number), entropy, rtol=1e-4)

    wanted = uncentred(model, [variable.value for variable in variables])
    for actual, expected in zip(model.get_weights(), wanted, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-4)


@each_kind
def test_leaving_undoes_entering(kind):
    model = model_of(kind)
    before, centred_biases = model.get_weights(), centring.Centring(model)
    centred_biases.enter()
    for actual, expected in zip(model.get_weights(), centred(model, before), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5)
    centred_biases.leave()
    for actual, expected in zip(model.get_weights(), before, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5)


@each_kind
def test_training_begins_with_centred_biases_as_usual(kind):
    usual = training_of(kind, layers=2, units=UNITS, centred=False).best_model()
    model = training_of(kind, layers=2, units=UNITS, centred=True).best_model()
    expected = uncentred(usual, usual.get_weights())
    for actual, wanted in zip(model.get_weights(), expected, strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", ["rnn", "srcn", "lstm"])
def test_a_sigmoid_is_dropped_to_its_middle(kind):
    model, text = model_of(kind), tiny_text()
    inputs, targets = TextWindows(text.train, text.first, 3, 6, 0).window(0, 0)
    config = tiny_config(kind, centred=True, dropout=1 - 1e-6, units=UNITS)
    sigmoids = 0 if kind == "lstm" else UNITS
    middle = [0.5] * sigmoids + [0.0] * (model.output_layer.kernel.shape[0] - sigmoids)
    logits = tf.broadcast_to(model.output_layer(np.array([middle])), [18, len(text.vocabulary)])
    entropies = tf.nn.sparse_softmax_cross_entropy_with_logits(targets.reshape(-1), logits)
    entropy = LanguageStep(model, config).update(inputs, targets, 0)
    np.testing.assert_allclose(entropy, tf.reduce_mean(entropies), rtol=1e-5)


@pytest.mark.parametrize("use_recurrent_kernel", [False, True])
def test_a_population_is_the_network_with_its_sigmoids_less_a_half(use_recurrent_kernel):
    architecture = Architecture(
        kind="list",
        symbols=3,
        units=4,
        memories=2,
        no_op=True,
        use_recurrent_kernel=use_recurrent_kernel,
        read_depth=3,
        capacity=5,
        layers=1,
    )
    rng = np.random.default_rng(0)
    weights = {
        name: rng.normal(size=(2, *shape)) for name, shape in weight_shapes(architecture).items()
    }
    own = centring.uncentred(weights)
    hidden, reads = rng.random((2, 4, 1)), rng.random((2, 6, 1))

    def sums(weights, hidden, reads):
        of_hidden = weights["kernel"][:, 1, :, None] + weights["memory_kernel"] @ reads
        if use_recurrent_kernel:
            of_hidden += weights["recurrent_kernel"] @ hidden
        controls = weights["control_kernel"] @ hidden + weights["control_bias"]
        return of_hidden, controls, weights["output_kernel"] @ hidden + weights["output_bias"]

    own = {name: np.asarray(weight) for name, weight in own.items()}
    pairs = zip(sums(own, hidden, reads), sums(weights, hidden - 0.5, reads - 0.5), strict=True)
    for actual, expected in pairs:
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)
