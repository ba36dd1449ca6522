"""The REST API: both formats, every method, and errors as JSON."""

import base64
import json
import re

import numpy as np
import pytest
import requests
import serving_fixtures as fixtures

from keras_stackrnn.serving import config, json_tensors, status

MAX_BYTES = 2**20


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    root = tmp_path_factory.mktemp("rest")
    for name in ("m", "heads"):
        (root / name).mkdir()
    fixtures.save_next_symbol(root / "m" / "1", scale=1.0)
    fixtures.save_next_symbol(root / "m" / "2", scale=2.0)
    fixtures.save_typed_heads(root / "heads" / "3")
    models = config.single_model("heads", root / "heads")
    model = models.model_config_list.config.add(name="m", base_path=str(root / "m"))
    model.model_version_policy.all.SetInParent()
    model.version_labels["stable"] = 1
    with fixtures.RunningServer(
        models,
        max_message_bytes=MAX_BYTES,
        prometheus_path=config.PROMETHEUS_PATH,
        rest_api_timeout_seconds=2.0,
    ) as running:
        yield running


def post(server, path, body, **kwargs):
    data = body if isinstance(body, bytes) else json.dumps(body)
    response = requests.post(f"{server.rest_url}/v1/models/{path}", data, timeout=30, **kwargs)
    return response.status_code, response.json()


def get(server, path):
    response = requests.get(f"{server.rest_url}/v1/models/{path}", timeout=30)
    return response.status_code, response.json()


def test_rows(server):
    rows = [{"tokens": [0, 3], "lengths": 2}, {"tokens": [1, 1], "lengths": 1}]
    code, body = post(server, "m:predict", {"instances": rows})
    assert code == 200
    assert [row["next_token"] for row in body["predictions"]] == [0, 1]
    for row, sequence in zip(body["predictions"], [[0, 3], [1]], strict=True):
        expected = fixtures.expected_probabilities(sequence, 2.0)
        np.testing.assert_allclose(row["probabilities"], expected, atol=1e-6)


@pytest.mark.parametrize(
    ("where", "scale"), [("", 2.0), ("/versions/1", 1.0), ("/labels/stable", 1.0)]
)
def test_columns_and_versions(server, where, scale):
    inputs = {"tokens": [[0, 3]], "lengths": [2]}
    code, body = post(server, f"m{where}:predict", {"inputs": inputs})
    assert code == 200
    expected = fixtures.expected_probabilities([0, 3], scale)
    np.testing.assert_allclose(body["outputs"]["probabilities"], [expected], atol=1e-6)


def test_a_single_tensor_needs_no_name(server):
    body = {"signature_name": "batch_rows", "instances": [1.0, 2, 3]}
    assert post(server, "m:predict", body) == (200, {"predictions": [3, 3, 3]})
    body = {"signature_name": "batch_rows", "inputs": [1.0, 2]}
    assert post(server, "m:predict", body) == (200, {"outputs": [2, 2]})


def test_strings_and_base64(server):
    encoded = base64.b64encode(b"ab").decode()
    body = {"signature_name": "predict_text", "instances": ["aab", {"b64": encoded}]}
    code, answer = post(server, "m:predict", body)
    assert code == 200
    assert [row["next_symbol"] for row in answer["predictions"]] == ["a", "a"]


def test_classify_and_regress(server):
    examples = [{"x": 1.5}, {"x": [2.5]}]
    assert post(server, "heads:classify", {"examples": examples}) == (
        200,
        {"results": [[["up", 1.5], ["down", -1.5]], [["up", 2.5], ["down", -2.5]]]},
    )
    body = {"signature_name": "regress", "context": {"y": 1.0}, "examples": examples}
    assert post(server, "heads:regress", body) == (200, {"results": [11.5, 12.5]})


def test_status_and_metadata(server):
    entry = {"version": "1", "state": "AVAILABLE", "status": {"error_code": "OK"}}
    entry["status"]["error_message"] = ""
    assert get(server, "m/versions/1") == (200, {"model_version_status": [entry]})
    code, body = get(server, "m/labels/stable/metadata")
    assert code == 200
    assert body["model_spec"]["version"] == "1"
    signatures = body["metadata"]["signature_def"]["signature_def"]
    assert signatures["serving_default"]["inputs"]["tokens"]["dtype"] == "DT_INT32"


BASE = {"tokens": [1], "lengths": 1}


@pytest.mark.parametrize(
    ("path", "body", "code", "error"),
    [
        ("x:predict", {"instances": [BASE]}, 404, "Servable not found for request: Latest(x)"),
        (
            "m/versions/7:predict",
            {"instances": [BASE]},
            404,
            "Servable not found for request: Specific(m, 7)",
        ),
        (
            "m/labels/L:predict",
            {"instances": [BASE]},
            400,
            "Unrecognized servable version label: L",
        ),
        (
            "m:predict",
            {"signature_name": "x", "instances": [BASE]},
            400,
            'Serving signature name: "x" not found in signature def',
        ),
        ("m:predict", b"", 400, "JSON Parse error: The document is empty"),
        ("m:predict", b"{", 400, "JSON Parse error: "),
        ("m:predict", b"\xff\xfe", 400, "JSON Parse error: "),
        ("m:predict", [1], 400, "JSON Value: [1] Is not object"),
        ("m:predict", {}, 400, "Missing 'inputs' or 'instances' key"),
        ("m:predict", {"instances": []}, 400, "No values in 'instances' array"),
        ("m:predict", {"instances": 1}, 400, "Excepting 'instances' to be an list/array"),
        ("m:predict", {"instances": [1]}, 400, "instances is a plain list, but expecting"),
        (
            "m:predict",
            {"instances": [{"tokens": [1]}]},
            400,
            "Failed to process element: 0 of 'instances' list. JSON object: {\"tokens\": [1]} "
            "keys must be equal to: lengths,tokens",
        ),
        (
            "m:predict",
            {"instances": [BASE, [1]]},
            400,
            "Expecting object but got list at item 1 of input list",
        ),
        (
            "m:predict",
            {"inputs": {"tokens": [[1]]}},
            400,
            "Missing named input: lengths in 'inputs' object.",
        ),
        (
            "m:predict",
            {"inputs": {"tokens": [["a"]], "lengths": [1]}},
            400,
            'JSON Value: "a" Type: String is not of expected type: int32',
        ),
        (
            "m:predict",
            {"inputs": {"tokens": [[2**31]], "lengths": [1]}},
            400,
            "JSON Value: 2147483648 Type: Number is not of expected type: int32",
        ),
        (
            "m:predict",
            {"inputs": {"tokens": [[1], [1, 2]], "lengths": [1, 2]}},
            400,
            "Encountered list at unexpected size: 2 at level: 1 expected size: 1",
        ),
        (
            "m:predict",
            {"signature_name": "predict_text", "instances": [{"b64": "?"}]},
            400,
            "Unable to base64 decode",
        ),
        (
            "m:predict",
            b'{"signature_name": "predict_text", "instances": ["\\ud800"]}',
            400,
            'JSON Value: "\\ud800" Type: String is not of expected type: string',
        ),
        ("m:classify", {}, 400, "When method is classify, key 'examples' is expected"),
        ("heads:regress", {"examples": [{"x": 1.0}]}, 400, "Expected regression signature"),
        ("m:explain", {}, 400, "Malformed request: POST /v1/models/m:explain"),
    ],
)
def test_errors(server, path, body, code, error):
    got_code, answer = post(server, path, body)
    assert list(answer) == ["error"]
    assert error in answer["error"]
    assert got_code == code


def test_a_deep_body_is_refused(server):
    code, answer = post(server, "m:predict", b'{"instances":' + b"[" * 100_000)
    assert code == 400
    assert "recursion" in answer["error"]


def test_a_body_beyond_the_bound_is_refused(server):
    code, answer = post(server, "m:predict", b" " * (MAX_BYTES + 1))
    assert code == 413
    assert "error" in answer


def test_a_request_that_takes_too_long_is_broken_off(server):
    body = {"signature_name": "spin", "instances": [2**31 - 1]}
    code, answer = post(server, "m:predict", body)
    assert code == 504
    assert "error" in answer


def test_other_paths(server):
    assert requests.get(f"{server.rest_url}/", timeout=30).status_code == 404
    code, answer = get(server, "m:predict")
    assert (code, answer["error"]) == (400, "Malformed request: GET /v1/models/m:predict")
    code, answer = get(server, f"m/versions/{2**63}")
    assert code == 400


def test_floats_are_written_short_and_read_back_exactly(server):
    body = {"inputs": {"tokens": [[0, 1, 1]], "lengths": [3]}}
    text = requests.post(f"{server.rest_url}/v1/models/m:predict", json=body, timeout=30).text
    over_grpc = server.prediction.Predict(fixtures.sequence_request([0, 1, 1]))
    expected = list(over_grpc.outputs["probabilities"].float_val)
    [row] = json.loads(text)["outputs"]["probabilities"]
    assert np.float32(row).tolist() == expected
    assert max(len(digits) for digits in re.findall(r"0\.(\d+)", text)) <= 11


def test_not_a_number_is_written_like_tensorflow_serving_does():
    import tensorflow as tf

    outputs = {"x": tf.make_tensor_proto(np.array([np.nan, np.inf, -np.inf], np.float32))}
    body = json.dumps(json_tensors.write_outputs(outputs, as_rows=True))
    assert body == '{"predictions": [NaN, Infinity, -Infinity]}'


def test_rows_need_a_common_first_dimension(server):
    import tensorflow as tf

    outputs = {"x": tf.make_tensor_proto([1.0]), "y": tf.make_tensor_proto([1.0, 2.0])}
    with pytest.raises(status.ServingError, match="y has inconsistent batch size: 2 expecting: 1"):
        json_tensors.write_outputs(outputs, as_rows=True)
    body = {"signature_name": "total", "instances": [1.0]}
    assert post(server, "m:predict", body)[1]["error"].startswith("Tensor name: total has no shape")


def test_metrics(server):
    page = f"{server.rest_url}{config.PROMETHEUS_PATH}"
    pattern = re.compile(r'^:tensorflow:serving:request_count\{model_name="m",status="OK"\} (\d+)')

    def count():
        lines = requests.get(page, timeout=30).text.splitlines()
        return sum(float(match[1]) for line in lines if (match := pattern.match(line)))

    before = count()
    server.prediction.Predict(fixtures.sequence_request([1]))
    post(server, "m:predict", {"inputs": {"tokens": [[0]], "lengths": [1]}})
    post(server, "no such model:predict", {"instances": [1]})
    text = requests.get(page, timeout=30).text
    assert count() == before + 2
    assert "# TYPE :tensorflow:serving:request_count counter" in text
    for entrypoint in ("GRPC", "REST"):
        assert (
            ':tensorflow:serving:request_latency_count{API="Predict",'
            f'entrypoint="{entrypoint}",model_name="m"}}'
        ) in text
    assert "no such model" not in text
