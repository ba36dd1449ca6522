"""The RPCs themselves, the same for gRPC and REST: find the model, run it, answer."""

import contextlib
import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from typing import NamedTuple

import grpc
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    model_management_pb2,
    model_pb2,
    predict_pb2,
    regression_pb2,
)

from keras_stackrnn.serving import inference, status
from keras_stackrnn.serving.answers import ended
from keras_stackrnn.serving.batching import DirectRunner
from keras_stackrnn.serving.generation import Continuation
from keras_stackrnn.serving.generation_messages import GenerateRequest
from keras_stackrnn.serving.lanes import LanedRunner
from keras_stackrnn.serving.metrics import Metrics
from keras_stackrnn.serving.models import ModelManager
from keras_stackrnn.serving.printable import printable
from keras_stackrnn.serving.reload_policy import ReloadPolicy
from keras_stackrnn.serving.stateful import StatefulPredict

logger = logging.getLogger(__name__)

_SIGNATURE_DEF = "signature_def"
_UNKNOWN_MODEL = "(unknown)"


class Caller(NamedTuple):
    """Who waits for an answer.

    Attributes:
        entrypoint: "GRPC" or "REST".
        deadline: in seconds of `time.monotonic()`, or None.
    """

    entrypoint: str
    deadline: float | None


class Service:
    """Answers the requests of PredictionService and ModelService.

    Every method takes the request message and returns the response message or raises
    `ServingError`, on any thread. Those that run a graph are coroutines for an `Answer`.

    Args:
        models: the served models.
        runner: runs the graphs.
        stateful: answers those that name a session.
        metrics: where requests are counted.
        max_inflight_requests: inference requests beyond this number are refused.
        max_tensor_bytes: tensors beyond this size are refused.
        reload_policy: what clients may change.
    """

    def __init__(
        self,
        models: ModelManager,
        runner: DirectRunner | LanedRunner,
        stateful: StatefulPredict,
        metrics: Metrics,
        max_inflight_requests: int,
        max_tensor_bytes: int,
        reload_policy: ReloadPolicy,
    ):
        self.models = models
        self.stateful = stateful
        self.metrics = metrics
        self._runner = runner
        self._max_inflight_requests = max_inflight_requests
        self._max_tensor_bytes = max_tensor_bytes
        self._reload_policy = reload_policy
        self._inflight = 0
        self._counting = threading.Lock()

    async def predict(
        self, request: predict_pb2.PredictRequest, caller: Caller
    ) -> predict_pb2.PredictResponse:
        _check_spec(request)
        if self.stateful.concerns(request.model_spec, request.inputs):
            with self._counted("Predict", request.model_spec, caller):
                return await self.stateful.answer(request, caller.deadline)

        def plan(signatures, request):
            return inference.plan_predict(signatures, request, self._max_tensor_bytes)

        return await self._infer(
            "Predict", request.model_spec, request, caller, plan, inference.predict_response
        )

    async def classify(
        self, request: classification_pb2.ClassificationRequest, caller: Caller
    ) -> classification_pb2.ClassificationResponse:
        _check_spec(request)
        plan, respond = inference.plan_classify, inference.classify_response
        return await self._infer("Classify", request.model_spec, request, caller, plan, respond)

    async def regress(
        self, request: regression_pb2.RegressionRequest, caller: Caller
    ) -> regression_pb2.RegressionResponse:
        _check_spec(request)
        plan, respond = inference.plan_regress, inference.regress_response
        return await self._infer("Regress", request.model_spec, request, caller, plan, respond)

    async def multi_inference(
        self, request: inference_pb2.MultiInferenceRequest, caller: Caller
    ) -> inference_pb2.MultiInferenceResponse:
        spec = request.tasks[0].model_spec if request.tasks else model_pb2.ModelSpec()
        plan, respond = inference.plan_multi_inference, inference.multi_inference_response
        return await self._infer("MultiInference", spec, request, caller, plan, respond)

    @contextlib.contextmanager
    def generate(self, request: GenerateRequest, caller: Caller) -> Iterator[Continuation]:
        """What is drawn after a text; the version that draws it stays loaded meanwhile."""
        _check_spec(request)
        with (
            self._counted("Generate", request.model_spec, caller),
            self.models.lease(request.model_spec) as servable,
        ):
            yield Continuation(servable, self._runner, request)

    def get_model_metadata(
        self, request: get_model_metadata_pb2.GetModelMetadataRequest
    ) -> get_model_metadata_pb2.GetModelMetadataResponse:
        _check_spec(request)
        if not request.metadata_field:
            raise status.invalid_argument(
                "GetModelMetadataRequest must specify at least one metadata_field"
            )
        for field in request.metadata_field:
            if field != _SIGNATURE_DEF:
                raise status.invalid_argument(f"Metadata field {field} is not supported")
        response = get_model_metadata_pb2.GetModelMetadataResponse()
        with self.models.lease(request.model_spec) as servable:
            response.model_spec.name = servable.name
            response.model_spec.version.value = servable.version
            signature_map = get_model_metadata_pb2.SignatureDefMap()
            for name, signature in servable.model.signatures.items():
                signature_map.signature_def[name].CopyFrom(signature.definition)
        response.metadata[_SIGNATURE_DEF].Pack(signature_map)
        return response

    def get_model_status(
        self, request: get_model_status_pb2.GetModelStatusRequest
    ) -> get_model_status_pb2.GetModelStatusResponse:
        _check_spec(request)
        return self.models.status(request.model_spec)

    def handle_reload_config_request(
        self, request: model_management_pb2.ReloadConfigRequest
    ) -> model_management_pb2.ReloadConfigResponse:
        self._reload_policy.check(request.config)
        self.models.reload(request.config)
        response = model_management_pb2.ReloadConfigResponse()
        response.status.SetInParent()
        return response

    async def _infer(self, api, spec, request, caller, plan, respond):
        """Checks `request` with `plan`, runs it, and answers with `respond`."""
        with self._counted(api, spec, caller), self.models.lease(spec) as servable:
            signatures = servable.model.signatures
            planned = plan(signatures, request)
            run = self._runner.submit(servable.model, planned, caller.deadline)
            outputs = await ended(run)
            return respond(signatures, request, servable.version, outputs)

    @contextlib.contextmanager
    def _counted(self, api: str, spec: model_pb2.ModelSpec, caller: Caller) -> Iterator[None]:
        """Refuses a request if there are too many, and keeps count and time of it otherwise."""
        started = time.perf_counter()
        code = grpc.StatusCode.OK
        with self._counting:
            self._inflight += 1
            inflight = self._inflight
        try:
            if inflight > self._max_inflight_requests:
                raise status.resource_exhausted(
                    f"Too many requests in flight: at most {self._max_inflight_requests} are taken"
                )
            yield
        except CancelledError:
            code = grpc.StatusCode.CANCELLED
            raise
        except Exception as error:
            serving_error = status.as_serving_error(error)
            code = serving_error.code
            if code == grpc.StatusCode.INTERNAL:
                logger.error("%s for model %s failed", api, printable(spec.name), exc_info=error)
            # An error that is its own cause would hold itself.
            raise serving_error from (None if serving_error is error else error)
        except BaseException:  # a stream that nobody reads on, or that is broken off
            code = grpc.StatusCode.CANCELLED
            raise
        finally:
            with self._counting:
                self._inflight -= 1
            name = spec.name if self.models.is_configured(spec.name) else _UNKNOWN_MODEL
            microseconds = (time.perf_counter() - started) * 1e6
            self.metrics.record(name, api, caller.entrypoint, code, microseconds)


def _check_spec(request) -> None:
    if not request.HasField("model_spec"):
        raise status.invalid_argument("Missing ModelSpec")
