"""Ten thousand malformed requests: each gets a proper status, and the next good one an answer."""

import concurrent.futures
import gc
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

from campaign.malformed import METHODS, PROPER_CODES, Maker
from keras_stackrnn.serving import config
from keras_stackrnn.serving.batching import BatchingOptions

TIMEOUT_SECONDS = 5.0
GRPC_REQUESTS = 8000
REST_REQUESTS = 2000
MAX_GROWTH_BYTES = 150 * 2**20

INT32, FLOAT, STRING = types_pb2.DT_INT32, types_pb2.DT_FLOAT, types_pb2.DT_STRING
SEQUENCES = {"tokens": (INT32, 2), "lengths": (INT32, 1)}
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


def maker_of(seed: int) -> Maker:
    valid = [
        fixtures.sequence_request([0, 1, 2]),
        fixtures.predict_request(signature="predict_text", text=["abc"]),
        fixtures.predict_request(signature="initial_state", batch_size=np.int32(2)),
    ]
    messages = [request.SerializeToString() for request in valid]
    return Maker(random.Random(seed), SIGNATURES, messages)


def test_malformed_grpc_requests(server):
    maker = maker_of(0)
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
    maker = maker_of(1)
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
