"""The gRPC side: TensorFlow Serving's services, ours, KServe's, health checks and reflection."""

from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future

import grpc
from google.protobuf import message
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    model_management_pb2,
    model_service_pb2,
    predict_pb2,
    prediction_service_pb2,
    regression_pb2,
)

from keras_stackrnn.serving import open_inference, status
from keras_stackrnn.serving.answers import Answer
from keras_stackrnn.serving.deadlines import deadline_of
from keras_stackrnn.serving.generation_messages import GENERATION_SERVICE, GenerateRequest
from keras_stackrnn.serving.later_methods import LaterMethods, add_later_methods
from keras_stackrnn.serving.service import Caller, Service

# Reflection describes what is registered, so the names come from the descriptors themselves.
PREDICTION_SERVICE = prediction_service_pb2.DESCRIPTOR.services_by_name[
    "PredictionService"
].full_name
MODEL_SERVICE = model_service_pb2.DESCRIPTOR.services_by_name["ModelService"].full_name
# TensorFlow Serving registers the short names; clients of the health protocol ask for full ones.
HEALTH_NAMES = ("", "PredictionService", "ModelService", PREDICTION_SERVICE, MODEL_SERVICE)


def add_services(server: grpc.Server, service: Service, read_seconds: float) -> LaterMethods:
    """Registers all services but the one of health with `server`, and reflection of most.

    Args:
        server: one on threads, not started yet.
        service: answers the requests.
        read_seconds: how long the message of a call may take to come.

    Returns:
        The methods that run graphs, to be started after the server.
    """
    metadata = _at_once(get_model_metadata_pb2.GetModelMetadataRequest, service.get_model_metadata)
    model_handlers = {
        "GetModelStatus": _at_once(
            get_model_status_pb2.GetModelStatusRequest, service.get_model_status
        ),
        "HandleReloadConfigRequest": _at_once(
            model_management_pb2.ReloadConfigRequest, service.handle_reload_config_request
        ),
    }
    server.add_generic_rpc_handlers(
        (
            grpc.method_handlers_generic_handler(
                PREDICTION_SERVICE, {"GetModelMetadata": metadata}
            ),
            grpc.method_handlers_generic_handler(MODEL_SERVICE, model_handlers),
            grpc.method_handlers_generic_handler(
                GENERATION_SERVICE, {"Generate": _streaming(service)}
            ),
        )
    )
    protocol = open_inference.OpenInference(service)
    open_handlers = {
        "ServerLive": protocol.server_live,
        "ServerReady": protocol.server_ready,
        "ServerMetadata": protocol.server_metadata,
        "ModelReady": protocol.model_ready,
        "ModelMetadata": protocol.model_metadata,
    }
    server.add_generic_rpc_handlers(
        (
            grpc.method_handlers_generic_handler(
                open_inference.SERVICE,
                {
                    name: _at_once(open_inference.MESSAGES[f"{name}Request"], method)
                    for name, method in open_handlers.items()
                },
            ),
        )
    )
    reflection.enable_server_reflection(
        (PREDICTION_SERVICE, MODEL_SERVICE, GENERATION_SERVICE, reflection.SERVICE_NAME), server
    )
    inference = {
        "Predict": (predict_pb2.PredictRequest, service.predict),
        "Classify": (classification_pb2.ClassificationRequest, service.classify),
        "Regress": (regression_pb2.RegressionRequest, service.regress),
        "MultiInference": (inference_pb2.MultiInferenceRequest, service.multi_inference),
    }
    methods = {
        f"/{PREDICTION_SERVICE}/{name}": _later(request_class, method)
        for name, (request_class, method) in inference.items()
    }
    methods[f"/{open_inference.SERVICE}/ModelInfer"] = _later(
        open_inference.MESSAGES["ModelInferRequest"], protocol.model_infer
    )
    return add_later_methods(server, methods, read_seconds)


def add_health(server: grpc.Server) -> health.HealthServicer:
    """Registers the standard health service; `set_health` says what it answers."""
    servicer = health.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    return servicer


def set_health(servicer: health.HealthServicer, serving: bool) -> None:
    """Sets the answer of the health service for all of its names."""
    answer = (
        health_pb2.HealthCheckResponse.SERVING
        if serving
        else health_pb2.HealthCheckResponse.NOT_SERVING
    )
    for name in HEALTH_NAMES:
        servicer.set(name, answer)


def _at_once(request_class: type[message.Message], method: Callable) -> grpc.RpcMethodHandler:
    """A method that answers on the thread it is asked on."""

    def handle(data: bytes, context: grpc.ServicerContext) -> bytes:
        try:
            return method(_parsed(request_class, data)).SerializeToString()
        except Exception as error:
            serving_error = status.as_serving_error(status.without_frames(error))
        context.abort(serving_error.code, serving_error.message)

    return grpc.unary_unary_rpc_method_handler(handle)


def _streaming(service: Service) -> grpc.RpcMethodHandler:
    """Generate, on a thread of its own: gRPC asks for the next part when the last one has gone."""

    def generate(data: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        deadline = deadline_of(context.time_remaining())
        try:
            request = _parsed(GenerateRequest, data)
            with service.generate(request, Caller("GRPC", deadline)) as continuation:
                while part := Answer(continuation.part(deadline)).result():
                    if not context.is_active():
                        raise CancelledError
                    yield part.SerializeToString()
            return
        except CancelledError:
            return
        except Exception as error:
            serving_error = status.as_serving_error(status.without_frames(error))
        context.abort(serving_error.code, serving_error.message)

    return grpc.unary_stream_rpc_method_handler(generate)


def _later(
    request_class: type[message.Message], method: Callable
) -> Callable[[bytes, float | None], Future]:
    """A method that answers when the graph has run."""

    async def answer(data: bytes, deadline: float | None) -> bytes:
        request = _parsed(request_class, data)
        response = await method(request, Caller("GRPC", deadline))
        return response.SerializeToString()

    return lambda data, deadline: Answer(answer(data, deadline))


def _parsed(request_class: type[message.Message], data: bytes) -> message.Message:
    """gRPC itself would answer bytes that are no message with a traceback in the log."""
    try:
        return request_class.FromString(data)
    except message.DecodeError as error:
        raise status.invalid_argument(
            f"The request's {len(data)} bytes are not a {request_class.DESCRIPTOR.name}"
        ) from error
