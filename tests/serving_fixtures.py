"""Small SavedModels and in-process servers that the serving tests share."""

import pathlib
from collections.abc import Callable

import grpc
import numpy as np
import tensorflow as tf
from tensorflow.python.util import deprecation
from tensorflow_serving.apis import model_service_pb2_grpc, predict_pb2, prediction_service_pb2_grpc

from keras_stackrnn.serving import config
from keras_stackrnn.serving.models import Options
from keras_stackrnn.serving.server import ModelServer, ServerOptions

VOCABULARY = 5
TOKENS = tf.TensorSpec([None, None], tf.int32, "tokens")
LENGTHS = tf.TensorSpec([None], tf.int32, "lengths")


class NextSymbol(tf.Module):
    """A model of next symbols that remembers exactly what it read: `scale` times their count.

    Its signatures are those that an exported model of this project has, with a state that is easy
    to compute by hand: how often each symbol occurred.
    """

    def __init__(self, scale: float):
        super().__init__()
        self.scale = tf.Variable(scale)

    def _probabilities(self, counts):
        return tf.nn.softmax(self.scale * counts)

    def _counts(self, tokens, lengths):
        one_hot = tf.one_hot(tf.gather(tf.range(VOCABULARY), tokens), VOCABULARY)
        mask = tf.sequence_mask(lengths, tf.shape(tokens)[1], tf.float32)
        return tf.reduce_sum(one_hot * mask[..., None], axis=1)

    @tf.function(input_signature=[TOKENS, LENGTHS])
    def predict(self, tokens, lengths):
        probabilities = self._probabilities(self._counts(tokens, lengths))
        return {
            "probabilities": probabilities,
            "next_token": tf.argmax(probabilities, -1, tf.int32),
            "log_likelihood": tf.cast(lengths, tf.float32) * self.scale,
        }

    @tf.function(input_signature=[TOKENS, LENGTHS])
    def score(self, tokens, lengths):
        mask = tf.sequence_mask(lengths, tf.shape(tokens)[1], tf.float32)
        return {
            "log_probabilities": -self.scale * tf.cast(tokens, tf.float32) * mask,
            "predictions": tokens + 1,
        }

    @tf.function(
        input_signature=[TOKENS, LENGTHS, tf.TensorSpec([None, VOCABULARY], name="counts")]
    )
    def step(self, tokens, lengths, counts):
        counts += self._counts(tokens, lengths)
        return {"probabilities": self._probabilities(counts), "counts": counts}

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32, "batch_size")])
    def initial_state(self, batch_size):
        return {"counts": tf.zeros([batch_size, VOCABULARY])}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")])
    def predict_text(self, text):
        characters = tf.strings.unicode_decode(text, "UTF-8")
        lengths = tf.cast(characters.row_lengths(), tf.int32)
        ids = characters.to_tensor(ord("a")) - ord("a")
        probabilities = self._probabilities(self._counts(ids, lengths))
        top, indices = tf.math.top_k(probabilities, 3)
        symbols = tf.constant(list("abcde"))
        return {
            "probabilities": probabilities,
            "next_symbol": tf.gather(symbols, indices[:, 0]),
            "top_symbols": tf.gather(symbols, indices),
            "top_probabilities": top,
        }

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.string, "text"),
            tf.TensorSpec([], tf.int32, "max_symbols"),
            tf.TensorSpec([], tf.float32, "temperature"),
            tf.TensorSpec([], tf.int64, "seed"),
        ]
    )
    def generate(self, text, max_symbols, temperature, seed):
        more = tf.strings.reduce_join(tf.fill([max_symbols], "a"))
        suffix = tf.strings.as_string(seed) + tf.strings.as_string(temperature, precision=1)
        return {"text": text + more + suffix}

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.string, "text"),
            tf.TensorSpec([], tf.int32, "max_symbols"),
            tf.TensorSpec([], tf.float32, "temperature"),
            tf.TensorSpec([], tf.int64, "seed"),
            tf.TensorSpec([], tf.int64, "position"),
            tf.TensorSpec([None, VOCABULARY], name="counts"),
        ]
    )
    def generate_on(self, text, max_symbols, temperature, seed, position, counts):
        """Goes round the letters: after so many symbols, seed and read ones too, comes that one."""
        characters = tf.strings.unicode_decode(text, "UTF-8")
        lengths = tf.cast(characters.row_lengths(), tf.int32)
        counts += self._counts(characters.to_tensor(ord("a")) - ord("a"), lengths)
        read = tf.cast(tf.reduce_sum(counts, axis=1), tf.int32) + tf.cast(seed, tf.int32)
        tokens = (read[:, None] + tf.range(max_symbols)) % VOCABULARY
        symbols = tf.gather(tf.constant(list("abcde")), tokens)
        dash = tf.where(position + tf.range(tf.cast(max_symbols, tf.int64)) > 0, "-", "")
        return {
            "symbols": symbols,
            "written": tf.strings.join([tf.broadcast_to(dash, tf.shape(symbols)), symbols]),
            "counts": counts + self._counts(tokens, tf.fill(tf.shape(text), max_symbols)),
        }

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
    def batch_rows(self, x):
        """Tells each row how many rows ran together."""
        return {"rows": tf.fill([tf.shape(x)[0]], tf.shape(x)[0])}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
    def total(self, x):
        """An output whose first dimension is not the batch."""
        return {"total": tf.reduce_sum(x)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32, "rounds")])
    def spin(self, rounds):
        """Takes as long as it is told to."""
        count = tf.while_loop(
            lambda i, x: i < tf.reduce_max(rounds),
            lambda i, x: (i + 1, tf.sin(x) + 1.0),
            [0, tf.zeros_like(rounds, tf.float32)],
        )[1]
        return {"x": count}


def save_next_symbol(path: pathlib.Path, scale: float) -> pathlib.Path:
    """Writes a version of `NextSymbol` aside and renames it into place."""
    model = NextSymbol(scale)
    aside = path.with_name(f"{path.name}.writing")
    signatures = {
        "serving_default": model.predict,
        "score": model.score,
        "step": model.step,
        "initial_state": model.initial_state,
        "predict_text": model.predict_text,
        "generate": model.generate,
        "generate_on": model.generate_on,
        "batch_rows": model.batch_rows,
        "total": model.total,
        "spin": model.spin,
    }
    tf.saved_model.save(model, str(aside), signatures=signatures)
    aside.rename(path)
    return path


def save_echo_of_options(path: pathlib.Path, shape: list | None) -> pathlib.Path:
    """Writes a SavedModel that declares its options with `shape` and says what it is sent."""

    def option(name, dtype=tf.int32):
        return tf.TensorSpec(shape, dtype, name)

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.string, "text"),
            option("max_symbols"),
            option("temperature", tf.float32),
            option("seed", tf.int64),
        ]
    )
    def generate(text, max_symbols, temperature, seed):
        options = (max_symbols, temperature, seed)
        return {"text": tf.stack([tf.strings.format("{}", each) for each in options])}

    @tf.function(input_signature=[option("batch_size")])
    def initial_state(batch_size):
        return {"sent": tf.identity(batch_size)}

    signatures = {"generate": generate, "initial_state": initial_state}
    tf.saved_model.save(tf.Module(), str(path), signatures=signatures)
    return path


def expected_probabilities(sequence, scale: float) -> np.ndarray:
    """What `NextSymbol` predicts after `sequence`, computed the obvious way."""
    counts = np.bincount(sequence, minlength=VOCABULARY) * np.float64(scale)
    exponentials = np.exp(counts - counts.max())
    return exponentials / exponentials.sum()


def save_typed_heads(path: pathlib.Path) -> pathlib.Path:
    """Writes a v1 SavedModel with a classification and a regression signature over `Example`s."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        serialized = tf.compat.v1.placeholder(tf.string, [None], "examples")
        features = tf.io.parse_example(
            serialized,
            {
                "x": tf.io.FixedLenFeature([], tf.float32),
                "y": tf.io.FixedLenFeature([], tf.float32, default_value=0.0),
            },
        )
        value = features["x"] + 10 * features["y"]
        scores = tf.stack([value, -value], axis=1)
        classes = tf.tile([["up", "down"]], [tf.shape(value)[0], 1])
        v1 = tf.compat.v1.saved_model
        builder = v1.Builder(str(path))
        builder.add_meta_graph_and_variables(
            session,
            ["serve"],
            {
                "serving_default": v1.classification_signature_def(serialized, classes, scores),
                "regress": v1.regression_signature_def(serialized, value),
                "predict": v1.predict_signature_def({"examples": serialized}, {"value": value}),
            },
        )
        builder.save()
    return path


def save_constants(path: pathlib.Path, values: dict[str, Callable]) -> pathlib.Path:
    """Writes a SavedModel whose outputs are what `values` make, whatever is asked."""
    with tf.Graph().as_default() as graph, tf.compat.v1.Session(graph=graph) as session:
        x = tf.compat.v1.placeholder(tf.float32, [None], "x")
        outputs = {name: make() for name, make in values.items()}
        v1 = tf.compat.v1.saved_model
        builder = v1.Builder(str(path))
        with deprecation.silence():
            signature = v1.predict_signature_def({"x": x}, outputs)
        builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature})
        builder.save()
    return path


class RunningServer:
    """A server in this process; a context manager that stops it."""

    def __init__(self, models: config.ModelServerConfig, **options):
        options = {
            "port": 0,
            "rest_api_port": 0,
            "versions": Options(file_system_poll_wait_seconds=0.05),
            **options,
        }
        self.server = ModelServer(ServerOptions(models=models, **options)).__enter__()
        self.address = f"127.0.0.1:{self.server.port}"
        self.rest_url = f"http://127.0.0.1:{self.server.rest_api_port}"
        self.channel = grpc.insecure_channel(self.address)
        self.prediction = prediction_service_pb2_grpc.PredictionServiceStub(self.channel)
        self.management = model_service_pb2_grpc.ModelServiceStub(self.channel)

    def __enter__(self) -> "RunningServer":
        return self

    def __exit__(self, *error) -> None:
        self.channel.close()
        self.server.__exit__(*error)


def predict_request(name="m", signature="", version=None, **inputs) -> predict_pb2.PredictRequest:
    """Builds a request; inputs are anything that `tf.make_tensor_proto` takes."""
    request = predict_pb2.PredictRequest()
    request.model_spec.name = name
    request.model_spec.signature_name = signature
    if version is not None:
        request.model_spec.version.value = version
    for alias, value in inputs.items():
        request.inputs[alias].CopyFrom(tf.make_tensor_proto(value))
    return request


def sequence_request(sequence, **kwargs) -> predict_pb2.PredictRequest:
    """Builds the request that asks `serving_default` about one sequence."""
    return predict_request(
        tokens=np.array([sequence], np.int32),
        lengths=np.array([len(sequence)], np.int32),
        **kwargs,
    )


def outputs_of(response: predict_pb2.PredictResponse) -> dict[str, np.ndarray]:
    return {name: tf.make_ndarray(proto) for name, proto in response.outputs.items()}
