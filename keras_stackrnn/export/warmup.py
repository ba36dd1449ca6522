"""Warm-up records: a request for each signature, which a server answers before anybody else's."""

from pathlib import Path

import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_log_pb2

from keras_stackrnn.export.reader import Reader
from keras_stackrnn.export.symbols import Symbols

RECORDS = Path("assets.extra") / "tf_serving_warmup_requests"
_LENGTH = 8


def write_warmup_records(folder: Path, reader: Reader, symbols: Symbols) -> None:
    """Writes a request for each signature where TensorFlow Serving looks for them."""
    path = folder / RECORDS
    path.parent.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for signature, inputs in _requests(reader, symbols).items():
            request = predict_pb2.PredictRequest()
            request.model_spec.name = folder.resolve().parent.name
            request.model_spec.signature_name = signature
            for name, value in inputs.items():
                request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
            log = prediction_log_pb2.PredictionLog()
            log.predict_log.request.CopyFrom(request)
            writer.write(log.SerializeToString())


def _requests(reader, symbols):
    length = min(_LENGTH, symbols.limits.length)
    text = {"text": tf.constant([symbols.example(length)])}
    sequence = {"tokens": tf.zeros([1, length], tf.int32), "lengths": tf.constant([length])}
    drawing = {
        "max_symbols": tf.constant(length),
        "temperature": tf.constant(1.0),
        "seed": tf.constant(0, tf.int64),
    }
    requests = {
        "serving_default": sequence,
        "predict_text": text,
        "score": sequence,
        "step": {**sequence, **reader.initial_state(1)},
        "initial_state": {"batch_size": tf.constant(1)},
        "generate": {**text, **drawing},
        "generate_on": {
            **text,
            **drawing,
            "position": tf.constant(0, tf.int64),
            **reader.initial_state(1),
        },
    }
    if reader.has_memory:
        requests["trace"] = text
    return requests
