"""Warm-up: the recorded requests that a version answers before anybody else's."""

import pathlib

import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from keras_stackrnn.serving import inference, status
from keras_stackrnn.serving.batching import run_plan
from keras_stackrnn.serving.saved_model import SavedModel

RECORDS = pathlib.Path("assets.extra") / "tf_serving_warmup_requests"
MAX_RECORDS = 1000


def warm_up(model: SavedModel, max_bytes: int) -> int:
    """Answers the warm-up requests that came with a model.

    Args:
        model: the model, whose folder may hold `assets.extra/tf_serving_warmup_requests`, a
            TFRecord file of `PredictionLog`.
        max_bytes: the largest tensor accepted.

    Returns:
        The number of requests answered.

    Raises:
        Exception: the file is broken or a request fails; such a version must not be served.
    """
    path = model.path / RECORDS
    if not path.exists():
        return 0
    count = 0
    for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
        count += 1
        if count > MAX_RECORDS:
            raise status.invalid_argument(
                f"Number of warmup records exceeds the maximum ({MAX_RECORDS}) at {path}"
            )
        _answer(model, prediction_log_pb2.PredictionLog.FromString(record), max_bytes)
    return count


def _answer(model: SavedModel, log: prediction_log_pb2.PredictionLog, max_bytes: int) -> None:
    kind = log.WhichOneof("log_type")
    if kind == "predict_log":
        plan = inference.plan_predict(model.signatures, log.predict_log.request, max_bytes)
    elif kind == "classify_log":
        plan = inference.plan_classify(model.signatures, log.classify_log.request)
    elif kind == "regress_log":
        plan = inference.plan_regress(model.signatures, log.regress_log.request)
    elif kind == "multi_inference_log":
        plan = inference.plan_multi_inference(model.signatures, log.multi_inference_log.request)
    else:
        raise status.invalid_argument(f"Unsupported log_type for warmup: {kind}")
    run_plan(model, plan, deadline=None)
