"""The open inference protocol (v2) over HTTP, in JSON."""

import asyncio
import math
import re
import time
from collections.abc import Mapping
from typing import Any

from aiohttp import web
from google.protobuf import json_format
from tensorflow.core.protobuf import meta_graph_pb2

from keras_stackrnn.serving import json_tensors, open_inference_tensors, status
from keras_stackrnn.serving.open_inference import (
    MESSAGES,
    OpenInference,
    arrays_of,
    predict_request,
)
from keras_stackrnn.serving.rest import answered
from keras_stackrnn.serving.rest_connections import json_response
from keras_stackrnn.serving.service import Caller, Service

_MODEL = r"/v2/models/(?P<name>[^/]+)(?:/versions/(?P<version>[^/]+))?"
_INFER = re.compile(_MODEL + "/infer")
_READY = re.compile(_MODEL + "/ready")
_METADATA = re.compile(_MODEL)


class OpenInferenceEndpoint:
    """Answers what is asked under /v2.

    Args:
        service: runs the models.
        timeout_seconds: bounds every inference.
    """

    def __init__(self, service: Service, timeout_seconds: float):
        self._service = service
        self._protocol = OpenInference(service)
        self._timeout_seconds = timeout_seconds

    def takes(self, method: str, path: str) -> bool:
        return path == "/v2" or path.startswith("/v2/")

    async def answer(
        self, request: web.BaseRequest, body: bytes, headers: Mapping[str, str]
    ) -> web.StreamResponse:
        path = request.path.rstrip("/")
        if request.method == "POST" and (match := _INFER.fullmatch(path)):
            return json_response(await self._infer(match, json_tensors.parse(body)), 200)
        if request.method in ("GET", "HEAD"):
            if path == "/v2":
                return json_response(_to_dict(self._protocol.server_metadata(None)), 200)
            if path == "/v2/health/live":
                return json_response(_to_dict(self._protocol.server_live(None)), 200)
            if path == "/v2/health/ready":
                ready = self._protocol.server_ready(None)
                return json_response(_to_dict(ready), 200 if ready.ready else 503)
            if match := _READY.fullmatch(path):
                ready = self._protocol.model_ready(_named("ModelReadyRequest", match))
                content = {"name": match["name"], **_to_dict(ready)}
                return json_response(content, 200 if ready.ready else 404)
            if match := _METADATA.fullmatch(path):
                asked = _named("ModelMetadataRequest", match)
                return json_response(_to_dict(self._protocol.model_metadata(asked)), 200)
        raise status.invalid_argument(f"Malformed request: {request.method} {path}")

    async def _infer(self, match: re.Match, document: dict) -> dict:
        inputs = _objects(document, "inputs")
        asked = predict_request(
            match["name"], match["version"] or "", _object(document, "parameters")
        )
        asked.output_filter.extend(_name(each) for each in _objects(document, "outputs"))
        _read_inputs(inputs, asked.inputs)
        caller = Caller("REST", time.monotonic() + self._timeout_seconds)
        try:
            async with asyncio.timeout(self._timeout_seconds):
                response = await answered(self._service.predict(asked, caller))
        except TimeoutError as error:
            raise status.deadline_exceeded(
                f"No answer within {self._timeout_seconds:g} s"
            ) from error
        content = {
            "model_name": match["name"],
            "model_version": str(response.model_spec.version.value),
            "outputs": [_output(name, array) for name, array in arrays_of(response).items()],
        }
        return {"id": document["id"], **content} if "id" in document else content


def _read_inputs(inputs: list[dict], protos) -> None:
    shapes, values, infos = {}, {}, {}
    for each in inputs:
        name, shape = _name(each), each.get("shape")
        if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
            raise status.invalid_argument(
                f"Expected a list of integers of 0 or more as the shape of {name}, got {shape!r}"
            )
        if "data" not in each:
            raise status.invalid_argument(f"Input {name} has no data")
        dtype = open_inference_tensors.dtype_of(str(each.get("datatype")), name)
        infos[name] = meta_graph_pb2.TensorInfo(dtype=dtype)
        shapes[name], values[name] = shape, each["data"]
    if not values:
        raise status.invalid_argument("Expected one input or more, got none")
    read, _ = json_tensors.read_inputs({"inputs": values}, infos)
    for name, proto in read.items():
        sent = [dimension.size for dimension in proto.tensor_shape.dim]
        if math.prod(sent) != math.prod(shapes[name]):
            raise status.invalid_argument(
                f"Input {name} has {math.prod(sent)} values for a shape of {shapes[name]}"
            )
        open_inference_tensors.set_shape(proto, shapes[name])
        protos[name].CopyFrom(proto)


def _output(name: str, array) -> dict:
    return {
        "name": name,
        "datatype": open_inference_tensors.datatype_of(array.dtype),
        "shape": list(array.shape),
        "data": json_tensors.to_json(array.reshape(-1)),
    }


def _objects(document: dict, key: str) -> list[dict]:
    value = document.get(key, [])
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise status.invalid_argument(f"Expected a list of objects as {key}")
    return value


def _object(document: dict, key: str) -> dict[str, Any]:
    value = document.get(key, {})
    if not isinstance(value, dict):
        raise status.invalid_argument(f"Expected an object as {key}")
    return value


def _name(tensor: dict) -> str:
    name = tensor.get("name")
    if not isinstance(name, str) or not json_tensors.is_utf8(name):
        raise status.invalid_argument(f"Expected a string as the name of a tensor, got {name!r}")
    return name


def _named(message: str, match: re.Match):
    return MESSAGES[message](name=match["name"], version=match["version"] or "")


def _to_dict(message) -> dict:
    content = json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    for tensor in content.get("inputs", []) + content.get("outputs", []):
        # JSON of protobuf has long integers as strings, this protocol has not.
        tensor["shape"] = [int(length) for length in tensor["shape"]]
    return content
