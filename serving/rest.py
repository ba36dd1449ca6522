"""The REST API of TensorFlow Serving, and its metrics page, over the same service as gRPC."""

import asyncio
import contextlib
import re
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Protocol

from aiohttp import web
from google.protobuf import json_format
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_pb2,
    predict_pb2,
    regression_pb2,
)

from keras_stackrnn.serving import inference, json_tensors, metrics, status
from keras_stackrnn.serving.answers import Answer
from keras_stackrnn.serving.rest_access import Access
from keras_stackrnn.serving.rest_connections import Connections, HttpError, json_response
from keras_stackrnn.serving.service import Caller, Service

MODEL_PATH = (
    r"/v1/models/(?P<name>[^/:]+)(?:/(?:versions/(?P<version>\d+)|labels/(?P<label>[^/:]+)))?"
)
_INFERENCE_PATH = re.compile(MODEL_PATH + r":(?P<method>predict|classify|regress)")
_STATUS_PATH = re.compile(MODEL_PATH + r"(?P<metadata>/metadata)?")
_LARGE_BODY_BYTES = 65536


class Endpoint(Protocol):
    """Addresses beside those of TensorFlow Serving."""

    def takes(self, method: str, path: str) -> bool:
        """Whether a request is for this."""

    async def answer(
        self, request: web.BaseRequest, body: bytes, headers: Mapping[str, str]
    ) -> web.StreamResponse:
        """Answers a request that it `takes`, or raises `ServingError`.

        Args:
            request: what is asked.
            body: that of the request.
            headers: of an answer that is begun here; others are given them later.
        """


class RestServer:
    """Answers HTTP requests on the running event loop.

    Args:
        service: answers the requests behind them.
        access: who may ask.
        timeout_seconds: bounds every inference.
        read_seconds: bounds the wait for a connection's first headers, and for any body.
        max_body_bytes: longer bodies are refused.
        max_inflight_requests: more at a time are refused.
        prometheus_path: where metrics are served, or None.
        endpoints: what is answered besides.
    """

    def __init__(
        self,
        service: Service,
        access: Access,
        timeout_seconds: float,
        read_seconds: float,
        max_body_bytes: int,
        max_inflight_requests: int,
        prometheus_path: str | None,
        endpoints: Sequence[Endpoint] = (),
    ):
        self._service = service
        self._access = access
        self._timeout_seconds = timeout_seconds
        self._max_inflight_requests = max_inflight_requests
        self._prometheus_path = prometheus_path
        self._endpoints = endpoints
        self._methods: dict[str, Callable[..., Awaitable[dict]]] = {
            "predict": self._predict,
            "classify": self._classify,
            "regress": self._regress,
        }
        self._inflight = 0
        self._is_draining = False
        self._connections = Connections(self._handle, max_body_bytes, read_seconds)
        self._runner = web.ServerRunner(self._connections)

    async def start(
        self, sockets: Iterable[socket.socket], ssl_context: ssl.SSLContext | None = None
    ) -> None:
        """Listens on sockets that are bound."""
        await self._runner.setup()
        for each in sockets:
            try:
                await web.SockSite(self._runner, each, ssl_context=ssl_context).start()
            except OSError as error:
                host, port = each.getsockname()[:2]
                raise ValueError(f"Cannot listen on {host}:{port}: {error.strerror}.") from error

    async def drain(self) -> None:
        """From here on every answer asks its client to connect elsewhere next time."""
        self._is_draining = True

    async def stop(self, grace_seconds: float) -> None:
        """Takes no new requests, and lets those under way finish.

        Args:
            grace_seconds: those that take longer are broken off.
        """
        self._is_draining = True
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._runner.cleanup(), grace_seconds)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            self._access.check(request)
            response = await self._respond(request)
        except HttpError as error:
            response = error.response()
        except Exception as error:
            serving_error = status.as_serving_error(status.without_frames(error))
            response = json_response({"error": serving_error.message}, serving_error.http_status)
        response.headers.update(self._access.headers(request))
        if self._is_draining:
            response.force_close()
        return response

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        # HTTP has the same headers for HEAD as for GET, and leaves the body away.
        method = "GET" if request.method == "HEAD" else request.method
        if method == "OPTIONS" and self._access.headers(request):
            return web.Response(status=204)
        if request.method == "HEAD" and _INFERENCE_PATH.fullmatch(request.path):
            raise HttpError(405, f"HEAD is not for {request.path}", Allow="POST")
        if request.path == self._prometheus_path and method == "GET":
            page = self._service.metrics.page()
            return web.Response(body=page, headers={"Content-Type": metrics.CONTENT_TYPE})
        body = await self._connections.body(request)
        # Only now does it take a place: who sends slowly keeps nobody else out.
        self._inflight += 1
        try:
            if self._inflight > self._max_inflight_requests:
                raise status.resource_exhausted(
                    f"Too many requests in flight: at most {self._max_inflight_requests} are taken"
                )
            for endpoint in self._endpoints:
                if endpoint.takes(method, request.path):
                    return await endpoint.answer(request, body, self._access.headers(request))
            return json_response(await self._answer(method, request.path, body), 200)
        finally:
            self._inflight -= 1

    async def _answer(self, method: str, path: str, body: bytes) -> dict:
        if method == "POST" and (match := _INFERENCE_PATH.fullmatch(path)):
            caller = Caller("REST", time.monotonic() + self._timeout_seconds)
            try:
                async with asyncio.timeout(self._timeout_seconds):
                    return await self._methods[match["method"]](spec_of(match), body, caller)
            except TimeoutError as error:
                raise status.deadline_exceeded(
                    f"No answer within {self._timeout_seconds:g} s"
                ) from error
        if method == "GET" and (match := _STATUS_PATH.fullmatch(path)):
            answer = self._metadata if match["metadata"] else self._status
            return await answer(spec_of(match))
        if path.startswith("/v1/"):
            raise status.invalid_argument(f"Malformed request: {method} {path}")
        raise HttpError(404, "404 Not Found")

    async def _predict(self, spec: model_pb2.ModelSpec, body: bytes, caller: Caller) -> dict:
        document = await _aside(body, json_tensors.parse, body)
        spec.signature_name = json_tensors.signature_name(document)
        infos = self._input_infos(spec, json_tensors.input_names(document))
        request = predict_pb2.PredictRequest(model_spec=spec)
        inputs, as_rows = await _aside(body, json_tensors.read_inputs, document, infos)
        for name, proto in inputs.items():
            request.inputs[name].CopyFrom(proto)
        response = await answered(self._service.predict(request, caller))
        return await _aside(body, json_tensors.write_outputs, response.outputs, as_rows)

    def _input_infos(self, spec: model_pb2.ModelSpec, names: Collection[str]) -> json_tensors.Infos:
        """The inputs that a predict request may have, and of which type."""
        if self._service.stateful.concerns(spec, names):
            return self._service.stateful.infos(spec, names)
        with self._service.models.lease(spec) as servable:
            name = spec.signature_name or inference.DEFAULT_SIGNATURE
            if name not in servable.model.signatures:
                raise status.invalid_argument(
                    f'Serving signature name: "{name}" not found in signature def'
                )
            infos = dict(servable.model.signatures[name].definition.inputs)
        if not infos:
            raise status.invalid_argument(f"Failed to get input map for signature: {name}")
        return infos

    async def _classify(self, spec: model_pb2.ModelSpec, body: bytes, caller: Caller) -> dict:
        request = classification_pb2.ClassificationRequest(model_spec=spec)
        _read_examples(body, "classify", request)
        response = await answered(self._service.classify(request, caller))
        return {
            "results": [
                [[entry.label, json_tensors.as_number(entry.score)] for entry in row.classes]
                for row in response.result.classifications
            ]
        }

    async def _regress(self, spec: model_pb2.ModelSpec, body: bytes, caller: Caller) -> dict:
        request = regression_pb2.RegressionRequest(model_spec=spec)
        _read_examples(body, "regress", request)
        response = await answered(self._service.regress(request, caller))
        return {
            "results": [json_tensors.as_number(row.value) for row in response.result.regressions]
        }

    async def _status(self, spec: model_pb2.ModelSpec) -> dict:
        request = get_model_status_pb2.GetModelStatusRequest(model_spec=spec)
        return _to_dict(self._service.get_model_status(request))

    async def _metadata(self, spec: model_pb2.ModelSpec) -> dict:
        request = get_model_metadata_pb2.GetModelMetadataRequest(
            model_spec=spec, metadata_field=["signature_def"]
        )
        response = self._service.get_model_metadata(request)
        signature_map = get_model_metadata_pb2.SignatureDefMap()
        response.metadata["signature_def"].Unpack(signature_map)
        return {
            "model_spec": _to_dict(response.model_spec),
            "metadata": {"signature_def": _to_dict(signature_map)},
        }


async def answered(coroutine: Coroutine) -> Any:
    """Waits on this event loop for one of the service's coroutines, which know of none."""
    return await asyncio.wrap_future(Answer(coroutine))


def spec_of(match: re.Match) -> model_pb2.ModelSpec:
    """The model that an address of `MODEL_PATH` names."""
    spec = model_pb2.ModelSpec(name=match["name"])
    if match["version"]:
        if int(match["version"]) >= 2**63:
            raise status.invalid_argument(
                f"Failed to convert version: {match['version']} to numeric."
            )
        spec.version.value = int(match["version"])
    elif match["label"]:
        spec.version_label = match["label"]
    return spec


def _read_examples(body: bytes, method: str, request) -> None:
    document = json_tensors.parse(body)
    request.model_spec.signature_name = json_tensors.signature_name(document)
    json_tensors.read_examples(document, method, request.input)


async def _aside(body: bytes, function: Callable, *arguments) -> Any:
    """Calls `function`, on a thread when the body is large: the loop has others to serve."""
    if len(body) > _LARGE_BODY_BYTES:
        return await asyncio.to_thread(function, *arguments)
    return function(*arguments)


def _to_dict(message) -> dict:
    return json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
