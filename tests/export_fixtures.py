"""Small exported models that the export tests share, and what Keras makes of them."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from keras_stackrnn.export import export, reader
from keras_stackrnn.models import NextSymbolModel
from keras_stackrnn.serving.saved_model import SavedModel

VOCABULARY = "ab."
LENGTHS = [9, 0, 4, 1]
_ROUNDED_LIST = {
    "kind": "list",
    "memories": 3,
    "read_depth": 3,
    "embedding_size": 3,
    "rounding": True,
}
CASES = {
    "stack": {"kind": "stack", "memories": 2, "layers": 2, "no_op": True, "use_bias": True},
    # What is served rounds because the export says so, and has forgotten the capacity.
    "stack rounded": {"kind": "stack", "memories": 3, "capacity": 2},
    "list": {"kind": "list", "memories": 2, "use_bias": True, "use_recurrent_kernel": True},
    "list rounded": _ROUNDED_LIST,
    # Read as if these sequences were long ones.
    "stack piled": {"kind": "stack", "memories": 2, "layers": 2, "no_op": True, "rounding": True},
    "list piled": _ROUNDED_LIST,
    "second_order": {
        "kind": "stack",
        "controller": "second_order",
        "memories": 2,
        "use_recurrent_kernel": True,
        "use_bias": True,
    },
    "states written": {
        "kind": "list",
        "controller": "second_order",
        "use_recurrent_kernel": True,
        "writes_hidden": True,
        "element_size": 4,
        "no_op": True,
    },
    "states alone": {"kind": "second_order"},
    "rnn": {"kind": "rnn"},
    "gru": {"kind": "gru", "use_bias": True},
    "lstm": {"kind": "lstm", "layers": 2, "embedding_size": 3},
    "srcn": {"kind": "srcn", "layers": 2, "context_units": 3, "use_bias": True},
}


def make_model(vocabulary=VOCABULARY, seed=0, **config):
    model = NextSymbolModel(vocabulary=vocabulary, units=4, **config)
    rng = np.random.default_rng(seed)
    model.set_weights([rng.normal(scale=1.5, size=weight.shape) for weight in model.weights])
    return model


class Exported:
    """A model and what became of it, to be run in two ways."""

    def __init__(self, model, path):
        self.model = model
        self.path = path
        config = tf.compat.v1.ConfigProto()
        off = tf.compat.v1.OptimizerOptions.OFF
        config.graph_options.optimizer_options.global_jit_level = off
        self.session = SavedModel(path, config)
        self.reference = Reference(model)

    @functools.cached_property
    def loaded(self):
        return tf.saved_model.load(str(self.path))

    def in_session(self, signature, **inputs):
        """Runs a signature as TensorFlow Serving does."""
        definition = self.session.signatures[signature]
        feeds = {definition.inputs[name]: np.asarray(value) for name, value in inputs.items()}
        fetched = dict(
            zip(definition.fetches, self.session.run(feeds, definition.fetches), strict=True)
        )
        return {alias: fetched[name] for alias, name in definition.outputs.items()}

    def eagerly(self, signature, **inputs):
        """Runs a signature as TensorFlow 2 does."""
        tensors = {name: tf.constant(value) for name, value in inputs.items()}
        outputs = self.loaded.signatures[signature](**tensors)
        return {name: tensor.numpy() for name, tensor in outputs.items()}


class Exports:
    """The cases, each exported when it is first asked for."""

    def __init__(self, folder):
        self._folder = folder
        self._made = {}

    def __call__(self, name) -> Exported:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name):
        model, folder = make_model(**CASES[name]), self._folder / name
        if name.endswith("piled"):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(reader, "SHALLOW", 0)
                return Exported(model, export(model, folder))
        if name != "stack rounded":
            return Exported(model, export(model, folder))
        served = model.twin(rounding=True, capacity=None)
        return Exported(served, export(model, folder, rounding=True))

    def close(self):
        for exported in self._made.values():
            exported.session.close()


class Reference:
    """What the Keras model makes of one sequence."""

    def __init__(self, model):
        self.model = model
        self.layers = []
        features = model.embedding_size or len(model.vocabulary)
        for layer in model.recurrent:
            twin = type(layer).from_config({**layer.get_config(), "return_state": True})
            twin.build((1, None, features))
            twin.set_weights(layer.get_weights())
            self.layers.append(twin)
            features = layer.cell.output_size
        self._run = tf.function(self._read, input_signature=[tf.TensorSpec([1, None], tf.int32)])

    def _read(self, tokens):
        states, sequences = [], self.model.embed(tokens)
        for layer in self.layers:
            sequences, *state = layer(sequences)
            states.append([each[0] for each in state])
        return tf.nn.softmax(self.model.output_layer(sequences))[0], states

    def probabilities(self, row):
        """After each symbol, `[symbols, V]`."""
        return self._run(tf.constant([row], tf.int32))[0].numpy().astype(float)

    def states(self, row):
        """Each layer's states after the last symbol."""
        return [[each.numpy() for each in state] for state in self._run(tf.constant([row]))[1]]


def sequences(lengths=LENGTHS, seed=1):
    rng = np.random.default_rng(seed)
    return [rng.integers(0, len(VOCABULARY), length).tolist() for length in lengths]


def request_of(rows, columns=None, seed=None):
    """Rows as a request, padded with 0, or with anything if there is a seed."""
    lengths = np.array([len(row) for row in rows], np.int32)
    shape = (len(rows), columns or max(lengths))
    tokens = np.zeros(shape, np.int32)
    if seed is not None:
        tokens = np.random.default_rng(seed).integers(-9, 99, shape).astype(np.int32)
    for row, each in enumerate(rows):
        tokens[row, : len(each)] = each
    return {"tokens": tokens, "lengths": lengths}


def text_of(row):
    return "".join(VOCABULARY[token] for token in row).encode()


def assert_close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6)
