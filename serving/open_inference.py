"""The open inference protocol (v2) over the same service, for clients of KServe, Triton and others.

A request becomes a PredictRequest, so that a model answers the same in both protocols. The protocol
has no signatures and no sessions of its own: the parameter `signature_name` names a signature, and
Triton's `sequence_id`, `sequence_start` and `sequence_end` a session.
"""

import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from google.protobuf import descriptor_pool
from tensorflow_serving.apis import get_model_status_pb2, model_pb2, predict_pb2

from keras_stackrnn import __version__
from keras_stackrnn.serving import inference, open_inference_tensors, proto_files, status, tensors
from keras_stackrnn.serving.service import Caller, Service
from keras_stackrnn.serving.sessions import CONTINUE, END, START
from keras_stackrnn.serving.stateful import SEQUENCE_CONTROL, SEQUENCE_ID

# A pool of its own: the clients' libraries bring the same messages into the default one.
_FILE = proto_files.load(
    pathlib.Path(__file__).with_name("open_inference.proto"), descriptor_pool.DescriptorPool()
)
SERVICE = _FILE.services_by_name["GRPCInferenceService"].full_name
MESSAGES = proto_files.message_classes(_FILE)

PLATFORM = "tensorflow_savedmodel"
_NAME = "keras_stackrnn"
_EXTENSIONS = ("sequence",)
_MAX_RESPONSE_BYTES = 2**40

_AVAILABLE = get_model_status_pb2.ModelVersionStatus.AVAILABLE


class OpenInference:
    """Answers the protocol's requests, each with the message that the protocol has for it.

    Args:
        service: runs the models.
    """

    def __init__(self, service: Service):
        self._service = service

    def server_live(self, request):
        return MESSAGES["ServerLiveResponse"](live=True)

    def server_ready(self, request):
        return MESSAGES["ServerReadyResponse"](ready=self._service.models.all_available())

    def server_metadata(self, request):
        return MESSAGES["ServerMetadataResponse"](
            name=_NAME, version=__version__, extensions=_EXTENSIONS
        )

    def model_ready(self, request):
        try:
            with self._service.models.lease(spec_of(request.name, request.version)):
                ready = True
        except status.ServingError:
            ready = False
        return MESSAGES["ModelReadyResponse"](ready=ready)

    def model_metadata(self, request):
        spec = spec_of(request.name, request.version)
        response = MESSAGES["ModelMetadataResponse"](name=request.name, platform=PLATFORM)
        with self._service.models.lease(spec) as servable:
            signature = servable.model.signatures.get(inference.DEFAULT_SIGNATURE)
        if signature is None:
            raise status.not_found(
                f'Model {request.name} has no signature "{inference.DEFAULT_SIGNATURE}", '
                "which is the one that this protocol describes"
            )
        for infos, described in (
            (signature.definition.inputs, response.inputs),
            (signature.definition.outputs, response.outputs),
        ):
            for name, info in sorted(infos.items()):
                described.add(
                    name=name,
                    datatype=open_inference_tensors.datatype_of(info.dtype),
                    shape=open_inference_tensors.shape_of(info),
                )
        states = self._service.models.status(model_pb2.ModelSpec(name=request.name))
        response.versions.extend(
            str(each.version)
            for each in reversed(states.model_version_status)
            if each.state == _AVAILABLE
        )
        return response

    async def model_infer(self, request, caller: Caller):
        parameters = {
            name: getattr(value, value.WhichOneof("parameter_choice") or "string_param")
            for name, value in request.parameters.items()
        }
        asked = predict_request(request.model_name, request.model_version, parameters)
        asked.output_filter.extend(output.name for output in request.outputs)
        contents = request.raw_input_contents
        if contents and len(contents) != len(request.inputs):
            raise status.invalid_argument(
                f"Got {len(contents)} raw_input_contents for {len(request.inputs)} inputs"
            )
        for index, tensor in enumerate(request.inputs):
            if contents:
                open_inference_tensors.read_raw(tensor, contents[index], asked.inputs[tensor.name])
            else:
                open_inference_tensors.read_contents(tensor, asked.inputs[tensor.name])
        answer = await self._service.predict(asked, caller)
        response = MESSAGES["ModelInferResponse"](
            model_name=request.model_name,
            model_version=str(answer.model_spec.version.value),
            id=request.id,
        )
        arrays = arrays_of(answer)
        wants_raw = bool(contents)
        for name, array in arrays.items():
            wants_raw |= (
                open_inference_tensors.write(array, response.outputs.add(name=name)) is not None
            )
        if wants_raw:
            for tensor, array in zip(response.outputs, arrays.values(), strict=True):
                tensor.ClearField("contents")
                response.raw_output_contents.append(open_inference_tensors.raw(array))
        return response


def spec_of(name: str, version: str) -> model_pb2.ModelSpec:
    """The model that a request means; what is no number is a label."""
    spec = model_pb2.ModelSpec(name=name)
    if version.isdecimal() and int(version) < 2**63:
        spec.version.value = int(version)
    elif version:
        spec.version_label = version
    return spec


def predict_request(
    name: str, version: str, parameters: Mapping[str, Any]
) -> predict_pb2.PredictRequest:
    """The request that means the same, still without its inputs."""
    request = predict_pb2.PredictRequest(model_spec=spec_of(name, version))
    signature_name = parameters.get("signature_name", "")
    if not isinstance(signature_name, str):
        raise status.invalid_argument(
            f"Expected a string as signature_name, got {signature_name!r}"
        )
    request.model_spec.signature_name = signature_name
    if not parameters.keys().isdisjoint({SEQUENCE_ID, "sequence_start", "sequence_end"}):
        _ask_for_session(request, parameters)
    return request


def arrays_of(response: predict_pb2.PredictResponse) -> dict[str, np.ndarray]:
    """The outputs by their names, sorted."""
    return {
        name: tensors.from_proto(proto, _MAX_RESPONSE_BYTES)
        for name, proto in sorted(response.outputs.items())
    }


def _ask_for_session(request: predict_pb2.PredictRequest, parameters: Mapping[str, Any]) -> None:
    session_id = parameters.get(SEQUENCE_ID, 0)
    if not (type(session_id) is int and 0 <= session_id < 2**64):
        raise status.invalid_argument(
            f"Expected an integer of 0 or more as {SEQUENCE_ID}, got {session_id!r}"
        )
    starts, ends = parameters.get("sequence_start", False), parameters.get("sequence_end", False)
    if starts and ends:
        raise status.invalid_argument(
            "A request cannot both start and end a session: leave the parameters away instead"
        )
    control = START if starts else END if ends else CONTINUE
    tensors.to_proto(np.array([session_id], np.uint64), request.inputs[SEQUENCE_ID])
    tensors.to_proto(np.array([control], np.uint32), request.inputs[SEQUENCE_CONTROL])
