"""Outputs of every type and of rank 0, over gRPC and REST."""

import functools

import numpy as np
import pytest
import requests
import serving_fixtures as fixtures
import tensorflow as tf
from tensorflow.core.framework import types_pb2

from keras_stackrnn.serving import config

NUMBERS = (
    "float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 int4 uint4"
)
QUANTIZED = {"qint8": "int8", "quint8": "uint8", "qint16": "int16", "qint32": "int32"}


def _of_type(dtype: str, shape: list[int]):
    if dtype in QUANTIZED:
        return tf.bitcast(tf.fill(shape, tf.cast(3, QUANTIZED[dtype])), dtype)
    if dtype.startswith("float8"):
        return tf.cast(tf.fill(shape, 3.0), dtype)
    return tf.cast(tf.fill(shape, 3), dtype)


def _values() -> dict:
    values = {"text": lambda: tf.constant(b"a\0b\0"), "truth": lambda: tf.constant(True)}
    values["texts"] = lambda: tf.constant([b"\0", b"", b"\xff"])
    values["complex"] = lambda: tf.constant(1 + 2j, tf.complex64)
    for dtype in [*NUMBERS.split(), *QUANTIZED, "float8_e5m2", "float8_e4m3fn"]:
        values[dtype] = functools.partial(_of_type, dtype, [])
        values[f"{dtype}_row"] = functools.partial(_of_type, dtype, [2])
    return values


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    base = tmp_path_factory.mktemp("outputs") / "m"
    base.mkdir()
    fixtures.save_constants(base / "1", _values())
    with fixtures.RunningServer(config.single_model("m", base)) as running:
        yield running


def ask(server, name: str):
    request = fixtures.predict_request(x=np.zeros(1, np.float32))
    request.output_filter.append(name)
    return server.prediction.Predict(request, timeout=30).outputs[name]


@pytest.mark.parametrize("dtype", [*NUMBERS.split(), "float8_e5m2", "float8_e4m3fn", *QUANTIZED])
def test_numbers_of_any_rank_over_grpc(server, dtype):
    for name, shape in ((dtype, []), (f"{dtype}_row", [2])):
        proto = ask(server, name)
        assert proto.dtype == tf.as_dtype(dtype).as_datatype_enum
        assert [dimension.size for dimension in proto.tensor_shape.dim] == shape
        got = tf.make_ndarray(proto).astype(np.float64 if dtype not in QUANTIZED else np.int32)
        np.testing.assert_array_equal(got, np.full(shape, 3))


def test_strings_keep_every_byte_over_grpc(server):
    assert list(ask(server, "text").string_val) == [b"a\0b\0"]
    assert not ask(server, "text").tensor_shape.dim
    assert list(ask(server, "texts").string_val) == [b"\0", b"", b"\xff"]


def test_truth_and_complex_numbers_over_grpc(server):
    assert list(ask(server, "truth").bool_val) == [True]
    proto = ask(server, "complex")
    assert (proto.dtype, list(proto.scomplex_val)) == (types_pb2.DT_COMPLEX64, [1, 2])


@pytest.fixture(scope="module")
def for_json(tmp_path_factory):
    base = tmp_path_factory.mktemp("json") / "m"
    base.mkdir()
    values = {name: make for name, make in _values().items() if name != "complex"}
    fixtures.save_constants(base / "1", values)
    with fixtures.RunningServer(config.single_model("m", base)) as running:
        yield running


def test_outputs_of_any_rank_over_rest(for_json):
    url = f"{for_json.rest_url}/v1/models/m:predict"
    response = requests.post(url, json={"inputs": [0.0]}, timeout=30)
    assert response.status_code == 200, response.text
    outputs = response.json()["outputs"]
    assert outputs.pop("text") == "a\0b\0"
    assert outputs.pop("texts") == ["\0", "", {"b64": "/w=="}]
    assert outputs.pop("truth") is True
    for name, value in outputs.items():
        assert value == ([3, 3] if name.endswith("_row") else 3), name


def test_complex_numbers_have_no_json(server):
    url = f"{server.rest_url}/v1/models/m:predict"
    response = requests.post(url, json={"inputs": [0.0]}, timeout=30)
    error = "Failed to write JSON value for tensor type: complex64"
    assert (response.status_code, response.json()) == (400, {"error": error})
