"""The gRPC side: TensorFlow Serving's two services, health checks and reflection."""

import time
from collections.abc import Awaitable, Callable

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

from keras_stackrnn.serving import status
from keras_stackrnn.serving.service import Caller, Service

# Reflection describes what is registered, so the names come from the descriptors themselves.
PREDICTION_SERVICE = prediction_service_pb2.DESCRIPTOR.services_by_name[
    "PredictionService"
].full_name
MODEL_SERVICE = model_service_pb2.DESCRIPTOR.services_by_name["ModelService"].full_name
# gRPC says "no deadline" with one in the far future.
_LONGEST_DEADLINE_SECONDS = 1e8
# TensorFlow Serving registers the short names; clients of the health protocol ask for full ones.
HEALTH_NAMES = ("", "PredictionService", "ModelService", PREDICTION_SERVICE, MODEL_SERVICE)


def add_services(server: grpc.aio.Server, service: Service) -> None:
    """Registers PredictionService, ModelService and reflection with `server`."""
    inference = {
        "Predict": (predict_pb2.PredictRequest, service.predict),
        "Classify": (classification_pb2.ClassificationRequest, service.classify),
        "Regress": (regression_pb2.RegressionRequest, service.regress),
        "MultiInference": (inference_pb2.MultiInferenceRequest, service.multi_inference),
    }
    prediction_handlers = {
        name: _handler(request_class, _for_caller(method))
        for name, (request_class, method) in inference.items()
    }
    prediction_handlers["GetModelMetadata"] = _handler(
        get_model_metadata_pb2.GetModelMetadataRequest, _for_anybody(service.get_model_metadata)
    )
    model_handlers = {
        "GetModelStatus": _handler(
            get_model_status_pb2.GetModelStatusRequest, _for_anybody(service.get_model_status)
        ),
        "HandleReloadConfigRequest": _handler(
            model_management_pb2.ReloadConfigRequest,
            _for_anybody(service.handle_reload_config_request),
        ),
    }
    server.add_generic_rpc_handlers(
        (
            grpc.method_handlers_generic_handler(PREDICTION_SERVICE, prediction_handlers),
            grpc.method_handlers_generic_handler(MODEL_SERVICE, model_handlers),
        )
    )
    reflection.enable_server_reflection(
        (PREDICTION_SERVICE, MODEL_SERVICE, reflection.SERVICE_NAME), server
    )


def add_health(server: grpc.aio.Server) -> health.aio.HealthServicer:
    """Registers the standard health service; `set_health` says what it answers."""
    servicer = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    return servicer


async def set_health(servicer: health.aio.HealthServicer, serving: bool) -> None:
    """Sets the answer of the health service for all of its names."""
    answer = (
        health_pb2.HealthCheckResponse.SERVING
        if serving
        else health_pb2.HealthCheckResponse.NOT_SERVING
    )
    for name in HEALTH_NAMES:
        await servicer.set(name, answer)


def _for_caller(method) -> Callable[..., Awaitable[message.Message]]:
    def call(request, context):
        remaining = context.time_remaining()
        has_deadline = remaining is not None and remaining < _LONGEST_DEADLINE_SECONDS
        deadline = time.monotonic() + remaining if has_deadline else None
        return method(request, Caller("GRPC", deadline))

    return call


def _for_anybody(method) -> Callable[..., Awaitable[message.Message]]:
    def call(request, context):
        return method(request)

    return call


def _handler(request_class: type[message.Message], method) -> grpc.RpcMethodHandler:
    """Wraps `method` so that whatever bytes arrive, the caller gets a proper status.

    Messages are parsed and written here and not by gRPC, which would answer bytes that are no
    message with UNKNOWN and a traceback in the log.
    """

    async def handle(data: bytes, context: grpc.aio.ServicerContext) -> bytes:
        try:
            try:
                request = request_class.FromString(data)
            except message.DecodeError as error:
                raise status.invalid_argument(
                    f"The request's {len(data)} bytes are not a {request_class.DESCRIPTOR.name}"
                ) from error
            response = await method(request, context)
            return response.SerializeToString()
        except Exception as error:
            serving_error = status.as_serving_error(error)
        await context.abort(serving_error.code, serving_error.message)

    return grpc.unary_unary_rpc_method_handler(handle)
