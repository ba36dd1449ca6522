"""The open inference protocol: Triton's own client over gRPC, and JSON over HTTP."""

import functools
import itertools

import grpc
import ml_dtypes
import numpy as np
import pytest
import requests
import serving_fixtures as fixtures
import tensorflow as tf
import tritonclient.grpc as triton
from tritonclient.grpc import service_pb2
from tritonclient.utils import InferenceServerException

from keras_stackrnn.serving import config, open_inference, open_inference_tensors
from keras_stackrnn.serving.status import ServingError


def save_echo_of_types(path):
    """A SavedModel that gives back what it gets, of every type that the protocol has."""
    types = ["bool", *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64))]
    types += ["float16", "bfloat16", "float32", "float64", "string"]
    specs = [tf.TensorSpec(None, tf.as_dtype(name), name) for name in types]

    @tf.function(input_signature=specs)
    def echo(*tensors):
        pairs = zip(types, tensors, strict=True)
        return {f"{name}_out": tf.identity(tensor) for name, tensor in pairs}

    tf.saved_model.save(tf.Module(), str(path), signatures={"serving_default": echo})
    return types


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    root = tmp_path_factory.mktemp("open") / "m"
    root.mkdir()
    for version in (1, 2):
        fixtures.save_next_symbol(root / str(version), scale=float(version))
    save_echo_of_types(root.parent / "types" / "1")
    models = config.single_model("m", root)
    models.model_config_list.config[0].model_version_policy.all.SetInParent()
    models.model_config_list.config[0].version_labels["stable"] = 1
    models.model_config_list.config.add(name="types", base_path=str(root.parent / "types"))
    with fixtures.RunningServer(models) as running:
        yield running
        assert len(running.server.service.stateful.table) == 0


@pytest.fixture
def client(server):
    with triton.InferenceServerClient(server.address) as connected:
        yield connected


def tritons(**arrays):
    """Inputs of Triton's client."""
    names = {"int32": "INT32", "object": "BYTES", "float32": "FP32"}
    inputs = []
    for name, array in arrays.items():
        inputs.append(triton.InferInput(name, array.shape, names[array.dtype.name]))
        inputs[-1].set_data_from_numpy(array)
    return inputs


def sequence(*tokens):
    return {
        "tokens": np.array([tokens], np.int32).reshape(1, -1),
        "lengths": np.array([len(tokens)], np.int32),
    }


def assert_predicts(probabilities, tokens, scale):
    expected = fixtures.expected_probabilities(tokens, scale)
    np.testing.assert_allclose(probabilities, [expected], atol=1e-6)


def test_tritons_client_sees_what_is_served(client):
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("m")
    assert client.is_model_ready("m", "1")
    assert not client.is_model_ready("m", "9")
    assert not client.is_model_ready("x")
    metadata = client.get_server_metadata(as_json=True)
    assert metadata["name"] == "keras_stackrnn"
    assert metadata["extensions"] == ["sequence"]
    metadata = client.get_model_metadata("m", as_json=True)
    assert metadata["versions"] == ["1", "2"]
    assert metadata["platform"] == "tensorflow_savedmodel"
    assert {"name": "tokens", "datatype": "INT32", "shape": ["-1", "-1"]} in metadata["inputs"]
    assert {"name": "next_token", "datatype": "INT32", "shape": ["-1"]} in metadata["outputs"]


def test_tritons_client_infers(client):
    result = client.infer("m", tritons(**sequence(0, 1, 1)), request_id="42")
    assert_predicts(result.as_numpy("probabilities"), [0, 1, 1], 2.0)
    assert result.as_numpy("next_token").tolist() == [1]
    response = result.get_response()
    assert (response.id, response.model_name, response.model_version) == ("42", "m", "2")
    for version in ("1", "stable"):
        result = client.infer("m", tritons(**sequence(0, 1, 1)), version)
        assert_predicts(result.as_numpy("probabilities"), [0, 1, 1], 1.0)
    wanted = [triton.InferRequestedOutput("next_token")]
    result = client.infer("m", tritons(**sequence(2)), outputs=wanted)
    assert [output.name for output in result.get_response().outputs] == ["next_token"]


def test_a_parameter_names_the_signature(client):
    text = np.array([b"abb", "cé".encode()[:1]], np.object_)
    parameters = {"signature_name": "predict_text"}
    result = client.infer("m", tritons(text=text), parameters=parameters)
    assert result.as_numpy("next_symbol").tolist() == [b"b", b"c"]
    assert result.as_numpy("top_symbols").shape == (2, 3)


def test_tritons_sequences_are_sessions(client):
    def infer(*tokens, **options):
        inputs = tritons(**sequence(*tokens))
        return client.infer("m", inputs, **options).as_numpy("probabilities")

    infer(0, 1, sequence_id=7, sequence_start=True)
    assert_predicts(infer(1, sequence_id=7), [0, 1, 1], 2.0)
    assert_predicts(infer(3, sequence_id=7, sequence_end=True), [0, 1, 1, 3], 2.0)
    with pytest.raises(InferenceServerException, match="There is no session 7 of m"):
        infer(1, sequence_id=7)
    with pytest.raises(InferenceServerException, match="cannot both start and end"):
        infer(1, sequence_id=7, sequence_start=True, sequence_end=True)


@pytest.mark.parametrize(
    ("inputs", "code", "message"),
    [
        ({"tokens": np.zeros([1, 1], np.float32)}, "INVALID_ARGUMENT", "input size does not match"),
        (sequence(9), "INVALID_ARGUMENT", "is not in [0, 5)"),
    ],
)
def test_tritons_client_is_told_what_is_wrong(client, inputs, code, message):
    with pytest.raises(InferenceServerException) as caught:
        client.infer("m", tritons(**inputs))
    assert caught.value.status() == f"StatusCode.{code}"
    assert message in caught.value.message()


VALUES = {
    "bool": np.array([True, False]),
    "float16": np.array([0.5, -2], np.float16),
    "bfloat16": np.array([0.5, -2], ml_dtypes.bfloat16),
    "float32": np.array([0.1, -np.inf], np.float32),
    "float64": np.array([[0.1], [1e300]]),
    "string": np.array([b"", b"\xff\x00", b"c" * 300], np.object_),
    **{
        name: np.array([np.iinfo(name).min, np.iinfo(name).max], name)
        for name in (f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64))
    },
}


def infer_request(as_raw, **arrays):
    request = service_pb2.ModelInferRequest(model_name="types")
    for name, array in arrays.items():
        datatype = open_inference_tensors.datatype_of(array.dtype)
        tensor = request.inputs.add(name=name, datatype=datatype, shape=array.shape)
        if as_raw or open_inference_tensors.write(array, service_output()) is not None:
            request.raw_input_contents.append(open_inference_tensors.raw(array))
        else:
            filled = service_output()
            open_inference_tensors.write(array, filled)
            tensor.contents.CopyFrom(filled.contents)
    return request


def service_output():
    return service_pb2.ModelInferResponse.InferOutputTensor()


@pytest.fixture
def infer(server):
    with grpc.insecure_channel(server.address) as channel:
        yield channel.unary_unary(
            "/inference.GRPCInferenceService/ModelInfer",
            service_pb2.ModelInferRequest.SerializeToString,
            service_pb2.ModelInferResponse.FromString,
        )


def test_every_type_as_raw_bytes(infer):
    response = infer(infer_request(True, **VALUES))
    result = triton.InferResult(response)
    for name, array in VALUES.items():
        if name != "bfloat16":  # which this client gives as float32
            np.testing.assert_array_equal(result.as_numpy(f"{name}_out"), array, strict=True)
    index = [output.name for output in response.outputs].index("bfloat16_out")
    assert response.raw_output_contents[index] == VALUES["bfloat16"].tobytes()


def test_typed_contents_are_answered_in_kind(infer):
    request = service_pb2.ModelInferRequest(model_name="m")
    for name, array in sequence(0, 1, 1).items():
        tensor = request.inputs.add(name=name, datatype="INT32", shape=array.shape)
        tensor.contents.int_contents.extend(array.reshape(-1))
    response = infer(request)
    assert not response.raw_output_contents
    [probabilities] = [each for each in response.outputs if each.name == "probabilities"]
    assert_predicts([list(probabilities.contents.fp32_contents)], [0, 1, 1], 2.0)


@pytest.mark.parametrize("name", [name for name in VALUES if name not in ("float16", "bfloat16")])
def test_every_type_as_typed_contents(name):
    array = VALUES[name]
    sent = service_output()
    assert open_inference_tensors.write(array, sent) is None
    received = fixtures.predict_request().inputs["x"]
    open_inference_tensors.read_contents(sent, received)
    got = open_inference_tensors.tensors.from_proto(received, 2**20)
    np.testing.assert_array_equal(got, array, strict=True)


def tensor(datatype="INT32", shape=(2,), **contents):
    return service_pb2.ModelInferRequest.InferInputTensor(
        name="x", datatype=datatype, shape=shape, contents=contents
    )


@pytest.mark.parametrize(
    ("sent", "raw", "message"),
    [
        (tensor("INT33"), b"", "Input x is of an unknown datatype 'INT33': expected one of BOOL, "),
        (tensor(), b"1234567", "Input x has 7 bytes, no multiple of the 4 of a INT32"),
        (tensor(), b"1234", r"Input x has 1 values for a shape of \[2\]"),
        (tensor(shape=[-1]), b"1234", r"Input x has 1 values for a shape of \[-1\]"),
        (tensor("BYTES"), b"\x05\0\0\0abc", "Input x of datatype BYTES is cut off"),
        (tensor("BYTES"), b"\x05\0", "Input x of datatype BYTES is cut off"),
        (tensor(int_contents=[1]), None, r"Input x has 1 values for a shape of \[2\]"),
        (tensor("INT8", int_contents=[1, 300]), None, "Input x: .*300"),
        (tensor("FP16"), None, "Input x of datatype FP16 has to come as raw contents"),
    ],
)
def test_tensors_that_contradict_themselves(sent, raw, message):
    read = open_inference_tensors.read_contents
    if raw is not None:
        read = functools.partial(open_inference_tensors.read_raw, content=raw)
    with pytest.raises(ServingError, match=message):
        read(sent, proto=fixtures.predict_request().inputs["x"])


def test_raw_contents_for_every_input_or_none(infer):
    request = infer_request(True, **VALUES)
    request.raw_input_contents.pop()
    with pytest.raises(grpc.RpcError) as caught:
        infer(request)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "Got 13 raw_input_contents for 14 inputs" in caught.value.details()


def test_the_messages_are_those_of_tritons_client():
    """Triton's have more fields; none of ours is another one there."""
    for message in open_inference._FILE.message_types_by_name.values():
        theirs = service_pb2.DESCRIPTOR.message_types_by_name[message.name]
        stack = [(message, theirs)]
        for ours, other in stack:
            stack += [(n, other.nested_types_by_name[n.name]) for n in ours.nested_types]
            for field in ours.fields:
                same = other.fields_by_name[field.name]
                assert (field.number, field.type) == (same.number, same.type)


def get(server, path):
    response = requests.get(server.rest_url + path)
    return response.status_code, response.json()


def test_http_says_what_is_served(server):
    assert get(server, "/v2/health/live") == (200, {"live": True})
    assert get(server, "/v2/health/ready") == (200, {"ready": True})
    assert get(server, "/v2")[1]["name"] == "keras_stackrnn"
    assert get(server, "/v2/models/m/ready") == (200, {"name": "m", "ready": True})
    assert get(server, "/v2/models/m/versions/9/ready") == (404, {"name": "m", "ready": False})
    code, content = get(server, "/v2/models/m/versions/1")
    assert code == 200
    assert content["versions"] == ["1", "2"]
    assert {"name": "lengths", "datatype": "INT32", "shape": [-1]} in content["inputs"]
    assert get(server, "/v2/models/x")[0] == 404
    assert get(server, "/v2/nothing") == (400, {"error": "Malformed request: GET /v2/nothing"})


def post(server, document, path="m"):
    response = requests.post(f"{server.rest_url}/v2/models/{path}/infer", json=document)
    return response.status_code, response.json()


def http_inputs(tokens, **more):
    return [
        {"name": "tokens", "shape": [1, len(tokens)], "datatype": "INT32", "data": tokens},
        {"name": "lengths", "shape": [1], "datatype": "INT32", "data": [len(tokens)]},
    ]


def test_http_infers(server):
    code, content = post(server, {"id": "42", "inputs": http_inputs([0, 1, 1])})
    assert code == 200
    assert (content["id"], content["model_name"], content["model_version"]) == ("42", "m", "2")
    outputs = {output.pop("name"): output for output in content["outputs"]}
    assert outputs["next_token"] == {"datatype": "INT32", "shape": [1], "data": [1]}
    assert_predicts([outputs["probabilities"]["data"]], [0, 1, 1], 2.0)
    document = {
        "parameters": {"signature_name": "predict_text"},
        "inputs": [{"name": "text", "shape": [2], "datatype": "BYTES", "data": ["abb", "c"]}],
        "outputs": [{"name": "next_symbol"}],
    }
    code, content = post(server, document, "m/versions/stable")
    assert content["model_version"] == "1"
    assert content["outputs"] == [
        {"name": "next_symbol", "datatype": "BYTES", "shape": [2], "data": ["b", "c"]}
    ]


def test_http_takes_nested_and_flat_data(server):
    for data in ([[0, 1], [2, 2]], [0, 1, 2, 2]):
        tokens = {"name": "tokens", "shape": [2, 2], "datatype": "INT32", "data": data}
        lengths = {"name": "lengths", "shape": [2], "datatype": "INT32", "data": [2, 2]}
        wanted = [{"name": "next_token"}]
        code, content = post(server, {"inputs": [tokens, lengths], "outputs": wanted})
        assert (code, content["outputs"][0]["data"]) == (200, [0, 2])


def test_http_has_sessions_too(server):
    steps = itertools.zip_longest([0, 1, 1], [{"sequence_start": True}, {}, {"sequence_end": True}])
    for token, parameters in steps:
        document = {
            "inputs": http_inputs([token]),
            "parameters": {"sequence_id": 5, **parameters},
        }
        code, content = post(server, document)
        assert code == 200
    outputs = {output["name"]: output["data"] for output in content["outputs"]}
    assert outputs["sequence_id"] == [5]
    assert_predicts([outputs["probabilities"]], [0, 1, 1], 2.0)


@pytest.mark.parametrize(
    ("document", "code", "message"),
    [
        ({}, 400, "Expected one input or more, got none"),
        ({"inputs": {}}, 400, "Expected a list of objects as inputs"),
        ({"inputs": [{"shape": []}]}, 400, "Expected a string as the name of a tensor, got None"),
        ({"inputs": [{"name": "x", "shape": [-1]}]}, 400, "as the shape of x, got [-1]"),
        ({"inputs": [{"name": "x", "shape": []}]}, 400, "Input x has no data"),
        ({"inputs": [{"name": "x", "shape": [], "data": 1}]}, 400, "unknown datatype 'None'"),
        (
            {"inputs": [{"name": "x", "shape": [3], "datatype": "INT32", "data": [1, 2]}]},
            400,
            "Input x has 2 values for a shape of [3]",
        ),
        ({"inputs": http_inputs([0]), "parameters": []}, 400, "Expected an object as parameters"),
        (
            {"inputs": http_inputs([0]), "parameters": {"sequence_id": "a"}},
            400,
            "Expected an integer of 0 or more as sequence_id, got 'a'",
        ),
        (
            {"inputs": http_inputs([0]), "parameters": {"signature_name": 5}},
            400,
            "Expected a string as signature_name, got 5",
        ),
        ({"inputs": http_inputs([0]), "outputs": [{"name": "x"}]}, 400, "x Outputs expected to be"),
    ],
)
def test_http_says_what_is_wrong(server, document, code, message):
    got, content = post(server, document)
    assert got == code
    assert message in content["error"]
