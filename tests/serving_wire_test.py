"""What goes over gRPC: tensors, every RPC, and TensorFlow Serving's codes and messages."""

import grpc
import hypothesis
import hypothesis.extra.numpy as numpy_strategies
import hypothesis.strategies as st
import keras
import numpy as np
import pytest
import serving_fixtures as fixtures
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2, types_pb2
from tensorflow.core.protobuf import meta_graph_pb2
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    model_management_pb2,
    predict_pb2,
    regression_pb2,
)

from keras_stackrnn.serving import config, inference, status, tensors
from keras_stackrnn.serving.saved_model import Signature

Code = grpc.StatusCode
MAX_BYTES = 2**20
NUMERIC = "float32 float64 float16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    root = tmp_path_factory.mktemp("wire")
    for name in ("m", "heads"):
        (root / name).mkdir()
    fixtures.save_next_symbol(root / "m" / "1", scale=1.0)
    fixtures.save_next_symbol(root / "m" / "2", scale=2.0)
    fixtures.save_typed_heads(root / "heads" / "3")
    models = config.single_model("heads", root / "heads")
    model = models.model_config_list.config.add(name="m", base_path=str(root / "m"))
    model.model_version_policy.all.SetInParent()
    model.version_labels["stable"] = 1
    with fixtures.RunningServer(models, max_message_bytes=MAX_BYTES) as running:
        yield running


def failure(call, request) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as caught:
        call(request, timeout=30)
    return caught.value.code(), caught.value.details()


@st.composite
def arrays(draw):
    dtype = draw(st.sampled_from([*NUMERIC.split(), "object"]))
    shape = draw(numpy_strategies.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    if dtype != "object":
        return draw(numpy_strategies.arrays(dtype, shape))
    size = int(np.prod(shape))
    array = np.empty(size, object)
    array[:] = draw(st.lists(st.binary(max_size=5), min_size=size, max_size=size))
    return array.reshape(shape)


@hypothesis.given(arrays(), st.booleans())
def test_tensors_survive_both_encodings(array, in_content):
    proto = tensor_pb2.TensorProto()
    if in_content:
        # TensorFlow's own encoder, which packs numbers and strings into `tensor_content`.
        proto.ParseFromString(tf.io.serialize_tensor(array).numpy())
    else:
        tensors.to_proto(array, proto)
        assert not proto.tensor_content
        np.testing.assert_array_equal(tf.make_ndarray(proto), array)
    decoded = tensors.from_proto(proto, MAX_BYTES)
    assert decoded.dtype == array.dtype
    np.testing.assert_array_equal(decoded, array)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (1, 10), (40, 5), (300, 70)])
@pytest.mark.parametrize(
    ("dtype", "field"), [("float32", "float_val"), ("float64", "double_val"), ("int32", "int_val")]
)
def test_a_message_has_the_bytes_that_filling_it_in_gives(shape, dtype, field):
    array = np.asarray(np.random.default_rng(0).normal(size=shape) * 1000).astype(dtype)
    filled = _proto(tf.as_dtype(dtype).as_datatype_enum, shape, **{field: array.ravel().tolist()})
    filled.tensor_shape.SetInParent()
    proto = tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING, string_val=[b"before"])
    tensors.to_proto(array, proto)
    assert proto == filled
    assert proto.SerializeToString() == filled.SerializeToString()


@pytest.mark.parametrize("given", [[], [7], [7, 8], [7, 8, 9]])
def test_missing_values_repeat_the_last_one_like_tensorflow(given):
    proto = tensor_pb2.TensorProto(dtype=types_pb2.DT_INT32, int_val=given)
    proto.tensor_shape.dim.add(size=3)
    expected = tf.io.parse_tensor(proto.SerializeToString(), tf.int32).numpy()
    np.testing.assert_array_equal(tensors.from_proto(proto, MAX_BYTES), expected)


@pytest.mark.parametrize("name", [*NUMERIC.split(), "complex128", "bfloat16", "string"])
def test_no_values_at_all_are_zeros_like_tensorflow(name):
    dtype = tf.as_dtype(name)
    proto = tensor_pb2.TensorProto(dtype=dtype.as_datatype_enum)
    proto.tensor_shape.dim.add(size=2)
    expected = tf.io.parse_tensor(proto.SerializeToString(), dtype).numpy()
    np.testing.assert_array_equal(tensors.from_proto(proto, MAX_BYTES), expected)


def test_sixteen_bit_floats():
    array = np.array([1.5, -0.25], tf.bfloat16.as_numpy_dtype)
    proto = tensor_pb2.TensorProto()
    tensors.to_proto(array, proto)
    parsed = tf.io.parse_tensor(proto.SerializeToString(), tf.bfloat16).numpy()
    np.testing.assert_array_equal(parsed, array)
    np.testing.assert_array_equal(tensors.from_proto(proto, MAX_BYTES), array)


def _proto(dtype, sizes, **values) -> tensor_pb2.TensorProto:
    proto = tensor_pb2.TensorProto(dtype=dtype, **values)
    for size in sizes:
        proto.tensor_shape.dim.add(size=size)
    return proto


@pytest.mark.parametrize(
    "proto",
    [
        _proto(types_pb2.DT_INVALID, [1]),
        _proto(types_pb2.DT_RESOURCE, [1]),
        _proto(999, [1]),
        _proto(types_pb2.DT_INT32, [-1], int_val=[1]),
        _proto(types_pb2.DT_INT32, [1], int_val=[1, 2]),
        _proto(types_pb2.DT_INT32, [1], tensor_content=b"abc"),
        _proto(types_pb2.DT_INT32, [2**40], int_val=[1]),
        _proto(types_pb2.DT_INT32, [2**62, 2**62, 2**62], int_val=[1]),
        _proto(types_pb2.DT_INT32, [1] * 100, int_val=[1]),
        _proto(types_pb2.DT_STRING, [2], tensor_content=b"\x05\x05ab"),
        _proto(types_pb2.DT_STRING, [1], tensor_content=b"\xff\xff"),
        _proto(types_pb2.DT_STRING, [2**30], string_val=[b"a"]),
        _proto(types_pb2.DT_COMPLEX64, [1], scomplex_val=[1.0]),
    ],
)
def test_broken_tensors_name_their_input(server, proto):
    with pytest.raises(ValueError, match=r"."):
        tensors.from_proto(proto, MAX_BYTES)
    request = fixtures.sequence_request([1])
    request.inputs["tokens"].CopyFrom(proto)
    assert failure(server.prediction.Predict, request) == (
        Code.INVALID_ARGUMENT,
        "tensor parsing error: tokens",
    )


@pytest.mark.parametrize(("version", "scale"), [(None, 2.0), (1, 1.0), (2, 2.0)])
def test_predict(server, version, scale):
    response = server.prediction.Predict(fixtures.sequence_request([0, 3, 3], version=version))
    assert response.model_spec.name == "m"
    assert response.model_spec.version.value == (version or 2)
    assert response.model_spec.signature_name == "serving_default"
    assert all(not proto.tensor_content for proto in response.outputs.values())
    outputs = fixtures.outputs_of(response)
    expected = fixtures.expected_probabilities([0, 3, 3], scale)
    np.testing.assert_allclose(outputs["probabilities"], [expected], atol=1e-6)
    np.testing.assert_array_equal(outputs["next_token"], [3])


def test_predictions_equal_those_of_the_keras_model(tmp_path):
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.Input([None], dtype="int32"),
            keras.layers.Embedding(7, 8),
            keras.layers.GRU(8),
            keras.layers.Dense(7, "softmax"),
        ]
    )
    archive = keras.export.ExportArchive()
    archive.track(model)
    spec = tf.TensorSpec([None, None], tf.int32, "tokens")
    archive.add_endpoint("serving_default", lambda tokens: {"p": model(tokens)}, [spec])
    archive.write_out(str(tmp_path / "keras" / "1"), verbose=False)
    tokens = np.random.default_rng(0).integers(0, 7, (3, 20), np.int32)
    with fixtures.RunningServer(config.single_model("keras", tmp_path / "keras")) as running:
        request = fixtures.predict_request("keras", tokens=tokens)
        outputs = fixtures.outputs_of(running.prediction.Predict(request, timeout=30))
    np.testing.assert_allclose(outputs["p"], model(tokens).numpy(), rtol=0, atol=1e-6)


def test_inputs_with_a_default_may_be_left_out():
    definition = meta_graph_pb2.SignatureDef(method_name=inference.PREDICT_METHOD)
    definition.inputs["x"].name = "x:0"
    definition.inputs["y"].name = "y:0"
    definition.outputs["z"].name = "z:0"
    definition.defaults["y"].CopyFrom(tf.make_tensor_proto(5.0))
    signatures = {"serving_default": Signature.from_proto(definition)}
    plan = inference.plan_predict(signatures, fixtures.predict_request(x=1.0), MAX_BYTES)
    assert {name: float(array) for name, array in plan.feeds.items()} == {"x:0": 1.0, "y:0": 5.0}
    with pytest.raises(status.ServingError, match="Inputs contains invalid name"):
        inference.plan_predict(signatures, fixtures.predict_request(x=1.0, w=2.0), MAX_BYTES)


def test_predict_by_label(server):
    request = fixtures.sequence_request([0])
    request.model_spec.version_label = "stable"
    assert server.prediction.Predict(request).model_spec.version.value == 1


def test_output_filter_fetches_only_what_it_names(server):
    request = fixtures.sequence_request([0])
    request.output_filter.append("next_token")
    assert list(server.prediction.Predict(request).outputs) == ["next_token"]


def test_strings_and_scalars(server):
    request = fixtures.predict_request(
        signature="generate",
        text=["x", "y"],
        max_symbols=np.int32(2),
        temperature=np.float32(0.5),
        seed=np.int64(7),
    )
    outputs = fixtures.outputs_of(server.prediction.Predict(request))
    assert outputs["text"].tolist() == [b"xaa70.5", b"yaa70.5"]


def _without_spec(request):
    request.ClearField("model_spec")


def _set(**fields):
    def change(request):
        for name, value in fields.items():
            setattr(request.model_spec, name, value)

    return change


def _unknown_version(request):
    request.model_spec.version.value = 7


def _drop(name):
    return lambda request: request.inputs.pop(name)


def _rename(request):
    request.inputs["length"].CopyFrom(request.inputs["lengths"])
    del request.inputs["lengths"]


def _retype(request):
    request.inputs["tokens"].CopyFrom(tf.make_tensor_proto([[1]], tf.int64))


def _filter(*aliases):
    return lambda request: request.output_filter.extend(aliases)


OUTPUTS = "{log_likelihood,next_token,probabilities}"


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (_without_spec, Code.INVALID_ARGUMENT, "Missing ModelSpec"),
        (_set(name=""), Code.INVALID_ARGUMENT, "ModelSpec has no name specified."),
        (_set(name="x"), Code.NOT_FOUND, "Servable not found for request: Latest(x)"),
        (_unknown_version, Code.NOT_FOUND, "Servable not found for request: Specific(m, 7)"),
        (
            _set(version_label="L"),
            Code.INVALID_ARGUMENT,
            "Unrecognized servable version label: L",
        ),
        (
            _set(signature_name="X"),
            Code.FAILED_PRECONDITION,
            'Serving signature key "X" not found.',
        ),
        (
            _drop("lengths"),
            Code.INVALID_ARGUMENT,
            "input size does not match signature: 1!=2 len({tokens}) != len({lengths,tokens}). "
            "Sent extra: {}. Missing but required: {lengths}.",
        ),
        (
            _rename,
            Code.INVALID_ARGUMENT,
            "Signature input alias: lengths(feed name: serving_default_lengths:0) not found in "
            "request and no default value provided. Inputs expected to be in the request "
            "{length,tokens}, or default input alias set: ",
        ),
        (
            _retype,
            Code.INVALID_ARGUMENT,
            "Expects arg[1] to be int32 but int64 is provided",
        ),
        (
            _filter("x"),
            Code.INVALID_ARGUMENT,
            "output tensor alias not found in signature: x Outputs expected to be in the set "
            f"{OUTPUTS}.",
        ),
        (
            _filter("next_token", "next_token"),
            Code.INVALID_ARGUMENT,
            "duplicate output tensor alias: next_token",
        ),
    ],
)
def test_messages_of_predict(server, change, code, message):
    request = fixtures.sequence_request([1])
    change(request)
    assert failure(server.prediction.Predict, request) == (code, message)


def test_errors_of_the_graph_keep_their_code(server):
    code, message = failure(server.prediction.Predict, fixtures.sequence_request([99]))
    assert code == Code.INVALID_ARGUMENT
    assert "99 is not in [0, 5)" in message


def test_long_messages_are_cut(server):
    request = fixtures.sequence_request([1])
    request.model_spec.signature_name = "s" * 5000
    _, message = failure(server.prediction.Predict, request)
    assert len(message) == status.MAX_MESSAGE_CHARACTERS + len("...TRUNCATED")
    assert message.endswith("...TRUNCATED")


def test_a_message_beyond_the_bound_is_refused(server):
    request = fixtures.sequence_request(np.zeros(MAX_BYTES, np.int32))
    code, _ = failure(server.prediction.Predict, request)
    assert code == Code.RESOURCE_EXHAUSTED


def test_the_deadline_bounds_the_run(server):
    request = fixtures.predict_request(signature="spin", rounds=np.array([2**31 - 1], np.int32))
    with pytest.raises(grpc.RpcError) as caught:
        server.prediction.Predict(request, timeout=0.3)
    assert caught.value.code() == Code.DEADLINE_EXCEEDED
    # The thread is free again: more calls than there are threads are answered.
    for _ in range(8):
        server.prediction.Predict(fixtures.sequence_request([1]), timeout=30)


def test_metadata(server):
    request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    request.model_spec.name = "m"
    response = server.prediction.GetModelMetadata(request)
    assert response.model_spec.version.value == 2
    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert response.metadata["signature_def"].Unpack(signatures)
    inputs = signatures.signature_def["step"].inputs
    assert {name: info.dtype for name, info in inputs.items()} == {
        "tokens": types_pb2.DT_INT32,
        "lengths": types_pb2.DT_INT32,
        "counts": types_pb2.DT_FLOAT,
    }


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([], "GetModelMetadataRequest must specify at least one metadata_field"),
        (["signature_def", "x"], "Metadata field x is not supported"),
    ],
)
def test_messages_of_metadata(server, fields, message):
    request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=fields)
    request.model_spec.name = "m"
    result = failure(server.prediction.GetModelMetadata, request)
    assert result == (Code.INVALID_ARGUMENT, message)


def test_status(server):
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = "m"
    response = server.management.GetModelStatus(request)
    available = get_model_status_pb2.ModelVersionStatus.AVAILABLE
    entries = [(entry.version, entry.state) for entry in response.model_version_status]
    assert entries == [(2, available), (1, available)]
    request.model_spec.version_label = "stable"
    response = server.management.GetModelStatus(request)
    assert [entry.version for entry in response.model_version_status] == [1]


@pytest.mark.parametrize(
    ("name", "version", "message"),
    [
        ("n", None, "Could not find any versions of model n"),
        ("m", 7, "Could not find version 7 of model m"),
    ],
)
def test_messages_of_status(server, name, version, message):
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = name
    if version:
        request.model_spec.version.value = version
    assert failure(server.management.GetModelStatus, request) == (Code.NOT_FOUND, message)


def test_reload_takes_only_a_list_of_models(server):
    code, message = failure(
        server.management.HandleReloadConfigRequest, model_management_pb2.ReloadConfigRequest()
    )
    assert code == Code.INVALID_ARGUMENT
    assert message.startswith("ServerModelConfig type not supported by HandleReloadConfigRequest")


def _fill_examples(request_input, values):
    for value in values:
        example = request_input.example_list.examples.add()
        example.features.feature["x"].float_list.value.append(value)


def test_classify(server):
    request = classification_pb2.ClassificationRequest()
    request.model_spec.name = "heads"
    _fill_examples(request.input, [1.5, -2.0])
    response = server.prediction.Classify(request)
    assert response.model_spec.version.value == 3
    rows = [
        [(entry.label, entry.score) for entry in row.classes]
        for row in response.result.classifications
    ]
    assert rows == [[("up", 1.5), ("down", -1.5)], [("up", -2.0), ("down", 2.0)]]


def test_regress_merges_the_context_into_each_example(server):
    request = regression_pb2.RegressionRequest()
    request.model_spec.name = "heads"
    request.model_spec.signature_name = "regress"
    with_context = request.input.example_list_with_context
    with_context.context.features.feature["y"].float_list.value.append(3.0)
    for value in (1.0, 2.0):
        example = with_context.examples.add()
        example.features.feature["x"].float_list.value.append(value)
    response = server.prediction.Regress(request)
    assert [row.value for row in response.result.regressions] == [31.0, 32.0]


def _multi_request(*tasks):
    request = inference_pb2.MultiInferenceRequest()
    _fill_examples(request.input, [1.0])
    for signature, method in tasks:
        task = request.tasks.add(method_name=f"tensorflow/serving/{method}")
        task.model_spec.name = "heads"
        task.model_spec.signature_name = signature
    return request


def test_multi_inference(server):
    response = server.prediction.MultiInference(
        _multi_request(("", "classify"), ("regress", "regress"))
    )
    classified, regressed = response.results
    assert classified.classification_result.classifications[0].classes[0].score == 1.0
    assert regressed.regression_result.regressions[0].value == 1.0
    assert regressed.model_spec.signature_name == "regress"


@pytest.mark.parametrize(
    ("tasks", "code", "message"),
    [
        ([], Code.INVALID_ARGUMENT, "ModelSpec has no name specified."),
        (
            [("regress", "regress"), ("regress", "regress")],
            Code.INVALID_ARGUMENT,
            "Duplicate evaluation of signature: regress",
        ),
        (
            [("x", "regress")],
            Code.INVALID_ARGUMENT,
            "Requested signature not found in model graph: x",
        ),
        (
            [("", "predict")],
            Code.UNIMPLEMENTED,
            "Unsupported signature method_name: tensorflow/serving/predict",
        ),
        (
            [("regress", "classify")],
            Code.INVALID_ARGUMENT,
            "Expected classification signature method_name to be tensorflow/serving/classify. "
            "Was: tensorflow/serving/regress",
        ),
    ],
)
def test_messages_of_multi_inference(server, tasks, code, message):
    assert failure(server.prediction.MultiInference, _multi_request(*tasks)) == (code, message)


@pytest.mark.parametrize(
    ("name", "signature", "values", "message"),
    [
        ("heads", "x", [1.0], "No signature was found with the name: x"),
        (
            "m",
            "",
            [1.0],
            "Expected classification signature method_name to be tensorflow/serving/classify. "
            "Was: tensorflow/serving/predict",
        ),
        ("heads", "", [], "Input is empty."),
    ],
)
def test_messages_of_classify(server, name, signature, values, message):
    request = classification_pb2.ClassificationRequest()
    request.model_spec.name = name
    request.model_spec.signature_name = signature
    _fill_examples(request.input, values)
    assert failure(server.prediction.Classify, request) == (Code.INVALID_ARGUMENT, message)


def test_session_service_is_unimplemented(server):
    call = server.channel.unary_unary("/tensorflow.serving.SessionService/SessionRun")
    assert failure(call, b"")[0] == Code.UNIMPLEMENTED


def test_bytes_that_are_no_message(server):
    call = server.channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
    assert failure(call, b"\xff\xff\xff") == (
        Code.INVALID_ARGUMENT,
        "The request's 3 bytes are not a PredictRequest",
    )


def test_an_empty_response_is_not_invented(server):
    """An empty message is a request without a model, not a success."""
    call = server.channel.unary_unary(
        "/tensorflow.serving.PredictionService/Predict",
        response_deserializer=predict_pb2.PredictResponse.FromString,
    )
    assert failure(call, b"")[1] == "Missing ModelSpec"
