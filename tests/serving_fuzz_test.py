"""Ten thousand malformed requests: each gets a proper status, and the next good one an answer."""

import concurrent.futures
import gc
import json
import pathlib
import random
import string

import grpc
import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import requests
import serving_fixtures as fixtures
from tensorflow.core.framework import tensor_pb2, types_pb2
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    model_management_pb2,
    predict_pb2,
    regression_pb2,
)

from keras_stackrnn.serving import config
from keras_stackrnn.serving.batching import BatchingOptions

TIMEOUT_SECONDS = 5.0
GRPC_REQUESTS = 8000
REST_REQUESTS = 2000
MAX_GROWTH_BYTES = 150 * 2**20

# Codes that say what was wrong with the request. UNKNOWN and INTERNAL would be the server's fault.
PROPER_CODES = {
    grpc.StatusCode.OK,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
}
PREDICTION = "/tensorflow.serving.PredictionService"
METHODS = {
    f"{PREDICTION}/Predict": predict_pb2.PredictRequest,
    f"{PREDICTION}/Classify": classification_pb2.ClassificationRequest,
    f"{PREDICTION}/Regress": regression_pb2.RegressionRequest,
    f"{PREDICTION}/MultiInference": inference_pb2.MultiInferenceRequest,
    f"{PREDICTION}/GetModelMetadata": get_model_metadata_pb2.GetModelMetadataRequest,
    "/tensorflow.serving.ModelService/GetModelStatus": get_model_status_pb2.GetModelStatusRequest,
    "/tensorflow.serving.ModelService/HandleReloadConfigRequest": (
        model_management_pb2.ReloadConfigRequest
    ),
}
INT32, FLOAT, STRING = types_pb2.DT_INT32, types_pb2.DT_FLOAT, types_pb2.DT_STRING
SEQUENCES = {"tokens": (INT32, 2), "lengths": (INT32, 1)}
# Type and rank of the inputs of each signature: near misses get further than noise.
SIGNATURES = {
    "": SEQUENCES,
    "score": SEQUENCES,
    "step": {**SEQUENCES, "counts": (FLOAT, 2)},
    "initial_state": {"batch_size": (INT32, 0)},
    "predict_text": {"text": (STRING, 1)},
    "total": {"x": (FLOAT, 1)},
    "batch_rows": {"x": (FLOAT, 1)},
    "nope": {"x": (FLOAT, 1)},
}


@pytest.fixture(scope="module", params=[False, True], ids=["alone", "batched"])
def server(request, tmp_path_factory):
    root = tmp_path_factory.mktemp("fuzz") / "m"
    root.mkdir()
    fixtures.save_next_symbol(root / "1", scale=1.0)
    batching = BatchingOptions(pad_variable_length_inputs=True) if request.param else None
    with fixtures.RunningServer(
        config.single_model("m", root),
        batching=batching,
        max_message_bytes=2**20,
        rest_api_timeout_seconds=TIMEOUT_SECONDS,
    ) as running:
        yield running


def assert_still_answers(server) -> None:
    response = server.prediction.Predict(fixtures.sequence_request([0, 1, 1]), timeout=30)
    expected = fixtures.expected_probabilities([0, 1, 1], 1.0)
    got = fixtures.outputs_of(response)["probabilities"]
    np.testing.assert_allclose(got, [expected], atol=1e-6)


def resident_bytes() -> int:
    gc.collect()
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def outcome(call, request) -> tuple[grpc.StatusCode, str]:
    try:
        call(request, timeout=TIMEOUT_SECONDS)
    except grpc.RpcError as error:
        return error.code(), error.details()
    return grpc.StatusCode.OK, ""


class Maker:
    """Makes requests that are wrong in every way we could think of, from one seed."""

    def __init__(self, seed: int):
        self._random = random.Random(seed)
        self._valid = [
            fixtures.sequence_request([0, 1, 2]).SerializeToString(),
            fixtures.predict_request(signature="predict_text", text=["abc"]).SerializeToString(),
            fixtures.predict_request(
                signature="initial_state", batch_size=np.int32(2)
            ).SerializeToString(),
        ]

    def message(self) -> bytes:
        kind = self._random.randrange(6)
        if kind == 0:
            return self._random.randbytes(self._random.randrange(200))
        if kind == 1:
            whole = self._random.choice(self._valid)
            return whole[: self._random.randrange(len(whole))]
        if kind == 2:
            return self._flipped(self._random.choice(self._valid))
        return self._request().SerializeToString()

    def body(self) -> bytes:
        kind = self._random.randrange(6)
        if kind == 0:
            return self._random.randbytes(self._random.randrange(100))
        whole = json.dumps(self._document()).encode()
        if kind == 1:
            return whole[: self._random.randrange(len(whole))]
        return self._flipped(whole) if kind == 2 else whole

    def path(self) -> str:
        name = self._random.choice(["m", "m", "m/versions/1", "m/versions/99", "m/labels/x", "%ff"])
        return f"/v1/models/{name}{self._random.choice([':predict', ':classify', ':regress', ''])}"

    def method(self) -> str:
        return self._random.choice([f"{PREDICTION}/Predict"] * 15 + list(METHODS))

    def _flipped(self, data: bytes) -> bytes:
        changed = bytearray(data)
        for _ in range(self._random.randrange(1, 4)):
            changed[self._random.randrange(len(changed))] = self._random.randrange(256)
        return bytes(changed)

    def _request(self) -> predict_pb2.PredictRequest:
        draw = self._random
        request = predict_pb2.PredictRequest()
        request.model_spec.name = draw.choice(["m"] * 9 + ["", "other"])
        request.model_spec.signature_name, inputs = draw.choice(list(SIGNATURES.items()))
        if draw.random() < 0.05:
            request.model_spec.version.value = draw.choice([-1, 1, 2**62])
        for name, (dtype, rank) in inputs.items():
            if draw.random() < 0.95:
                request.inputs[name].CopyFrom(self._tensor(dtype, rank))
        if draw.random() < 0.05:
            request.inputs["nope"].CopyFrom(self._tensor(FLOAT, 1))
        if draw.random() < 0.1:
            request.output_filter.append(draw.choice(["probabilities", "next_token", "nope"]))
        return request

    def _tensor(self, dtype: int, rank: int) -> tensor_pb2.TensorProto:
        draw = self._random
        if draw.random() < 0.15:
            dtype = draw.choice([0, 1, 2, 3, 7, 8, 9, 10, 19, 20, 23, 999])
        if draw.random() < 0.15:
            rank = draw.choice([0, 1, 2, 3, 40])
        proto = tensor_pb2.TensorProto(dtype=dtype)
        sizes = [0, 1, 1, 1, 1, 2, 3, 50]
        if draw.random() < 0.1:
            sizes += [-1, 2**31, 2**40, 2**62]
        for _ in range(rank):
            proto.tensor_shape.dim.add(size=draw.choice(sizes))
        proto.tensor_shape.unknown_rank = draw.random() < 0.02
        count = draw.randrange(3)
        integers = [-(2**31), -1, 0, 1, 1, 2, 99, 2**31 - 1] if rank else [-1, 0, 2, 99]
        proto.int_val.extend(draw.choice(integers) for _ in range(count))
        proto.int64_val.extend(draw.choice([-(2**63), 0, 2**63 - 1]) for _ in range(count))
        proto.float_val.extend(draw.choice([np.nan, np.inf, -1.0, 1e38]) for _ in range(count))
        proto.string_val.extend(draw.choice([b"", b"ab", b"\xff\xfe", b"z"]) for _ in range(count))
        if draw.random() < 0.1:
            proto.tensor_content = draw.randbytes(4 * draw.randrange(1, 5))
        return proto

    def _document(self) -> dict:
        draw = self._random
        signature, inputs = draw.choice(list(SIGNATURES.items()))
        document = {"signature_name": signature}
        if draw.random() < 0.1:
            document["signature_name"] = self._json(1)
        names = [name for name in inputs if draw.random() < 0.95]
        row = {name: self._json(inputs[name][1] - 1) for name in names}
        column = {name: self._json(inputs[name][1]) for name in names}
        kind = draw.randrange(4)
        if kind == 0:
            document["instances"] = [row] * draw.randrange(3)
        elif kind == 1:
            document["inputs"] = column
        elif kind == 2:
            document["instances"] = self._json(draw.randrange(4))
        else:
            document[draw.choice(["inputs", "examples", "context"])] = self._json(2)
        return document

    def _json(self, depth: int):
        draw = self._random
        if depth <= 0:
            oddities = [None, True, 10**30, 1e300, "\ud800", {"b64": "?"}, {"b64": "YQ=="}, {}]
            return draw.choice([0, 1, 2, -1, 99, 1.5, "a", "ab", *oddities])
        if draw.random() < 0.9:
            return [self._json(depth - 1)] * draw.randrange(4)
        return {draw.choice(["tokens", "x", ""]): self._json(depth - 1)}


def test_malformed_grpc_requests(server):
    maker = Maker(seed=0)
    calls = {method: server.channel.unary_unary(method) for method in METHODS}
    requests_made = [(maker.method(), maker.message()) for _ in range(GRPC_REQUESTS // 2)]

    def send(request) -> grpc.StatusCode:
        method, data = request
        code, details = outcome(calls[method], data)
        assert len(details) < 1100
        return code

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        warm = len(requests_made) // 4
        codes = list(pool.map(send, requests_made[:warm]))
        before = resident_bytes()
        codes += pool.map(send, requests_made[warm:])
    improper = {
        (code, request)
        for code, request in zip(codes, requests_made, strict=True)
        if code not in PROPER_CODES
    }
    assert not improper
    assert {grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND} <= set(codes)
    assert resident_bytes() - before < MAX_GROWTH_BYTES
    assert_still_answers(server)


def test_malformed_rest_requests(server):
    maker = Maker(seed=1)
    statuses = set()
    with requests.Session() as session:
        for _ in range(REST_REQUESTS // 2):
            path, body = maker.path(), maker.body()
            method = "POST" if random.Random(body).random() < 0.9 else "GET"
            response = session.request(method, server.rest_url + path, data=body, timeout=30)
            assert response.status_code < 500 or response.status_code == 501, (path, body)
            if response.status_code != 200:
                assert list(response.json()) == ["error"]
            statuses.add(response.status_code)
    assert {400, 404} <= statuses
    assert_still_answers(server)


@hypothesis.given(
    st.sampled_from(sorted(METHODS)),
    st.binary(max_size=300) | st.text(string.printable, max_size=50).map(str.encode),
)
def test_any_bytes_get_a_proper_status(server, method, data):
    code, details = outcome(server.channel.unary_unary(method), data)
    assert code in PROPER_CODES, details


@st.composite
def tensor_protos(draw):
    proto = tensor_pb2.TensorProto(dtype=draw(st.sampled_from(types_pb2.DataType.values())))
    for size in draw(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 4), max_size=4)):
        proto.tensor_shape.dim.add(size=size)
    proto.int_val.extend(draw(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=5)))
    proto.float_val.extend(draw(st.lists(st.floats(width=32), max_size=5)))
    proto.string_val.extend(draw(st.lists(st.binary(max_size=5), max_size=5)))
    proto.tensor_content = draw(st.just(b"") | st.binary(max_size=40))
    return proto


@hypothesis.settings(max_examples=200)
@hypothesis.given(st.sampled_from(["tokens", "lengths"]), tensor_protos())
def test_any_tensor_gets_a_proper_status(server, name, proto):
    request = fixtures.sequence_request([1, 2])
    request.inputs[name].CopyFrom(proto)
    code, details = outcome(server.prediction.Predict, request)
    assert code in PROPER_CODES, details
