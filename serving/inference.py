"""What a request means: its tensors in, the tensors to fetch, and the response they make.

Everything here is arithmetic on messages and arrays. Running the graph is left to the caller, so
that the same code serves requests, batches and warm-up.
"""

import dataclasses
from collections.abc import Mapping

import grpc
import numpy as np
from tensorflow.core.framework import types_pb2
from tensorflow_serving.apis import (
    classification_pb2,
    inference_pb2,
    input_pb2,
    model_pb2,
    predict_pb2,
    regression_pb2,
)

from keras_stackrnn.serving import status, tensors
from keras_stackrnn.serving.saved_model import Signature

DEFAULT_SIGNATURE = "serving_default"
# What a model's state is before the first symbol, for signatures that read on from one.
INITIAL_STATE = "initial_state"
PREDICT_METHOD = "tensorflow/serving/predict"
CLASSIFY_METHOD = "tensorflow/serving/classify"
REGRESS_METHOD = "tensorflow/serving/regress"

Signatures = Mapping[str, Signature]
Arrays = Mapping[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Plan:
    """A run of the graph that answers one request.

    Attributes:
        feeds: arrays by the name of the tensor they are fed to.
        fetches: names of the tensors to compute, sorted: every order would be one more executor
            that the session keeps for good.
    """

    feeds: dict[str, np.ndarray]
    fetches: tuple[str, ...]


def plan_predict(
    signatures: Signatures, request: predict_pb2.PredictRequest, max_bytes: int
) -> Plan:
    """Checks a PredictRequest against its signature."""
    name = _signature_name(request.model_spec)
    signature = signatures.get(name)
    if signature is None:
        raise status.failed_precondition(f'Serving signature key "{name}" not found.')
    _check_predict_method(signature)
    inputs = request.inputs
    _check_input_count(signature, inputs)
    feeds, used = {}, 0
    for alias, tensor_name in signature.inputs.items():
        if alias in inputs:
            proto = inputs[alias]
            used += 1
        else:
            if alias not in signature.defaults:
                raise status.invalid_argument(
                    f"Signature input alias: {alias}(feed name: {tensor_name}) not found in "
                    "request and no default value provided. Inputs expected to be in the request "
                    f"{_set(inputs)}, or default input alias set: "
                    f"{','.join(sorted(signature.defaults))}"
                )
            proto = signature.defaults[alias]
        try:
            feeds[tensor_name] = tensors.from_proto(proto, max_bytes)
        except ValueError as error:
            raise status.invalid_argument(f"tensor parsing error: {alias}") from error
    if used < len(inputs):
        known = [alias for alias in sorted(inputs) if alias in signature.inputs]
        raise status.invalid_argument(
            f"Inputs contains invalid name. Used request inputs: {','.join(known)}, "
            f"request input: {','.join(sorted(inputs))}"
        )
    if not request.output_filter:
        return Plan(feeds, signature.fetches)
    fetches = {signature.outputs[alias] for alias in _filtered_aliases(signature, request)}
    return Plan(feeds, tuple(sorted(fetches)))


def predict_response(
    signatures: Signatures, request: predict_pb2.PredictRequest, version: int, outputs: Arrays
) -> predict_pb2.PredictResponse:
    """Builds the response to `request` from the fetched tensors."""
    name = _signature_name(request.model_spec)
    signature = signatures[name]
    response = predict_pb2.PredictResponse()
    _fill_spec(response.model_spec, request.model_spec.name, name, version)
    protos = response.outputs
    for alias in request.output_filter or signature.outputs:
        array, dtype = outputs[signature.outputs[alias]], signature.output_types[alias]
        try:
            tensors.to_proto(array, protos[alias], dtype)
        except KeyError as error:
            raise status.ServingError(
                grpc.StatusCode.UNIMPLEMENTED,
                f"The output {alias} is a tensor of type {types_pb2.DataType.Name(dtype)}, "
                "which no answer can carry",
            ) from error
    return response


def plan_classify(
    signatures: Signatures, request: classification_pb2.ClassificationRequest
) -> Plan:
    """Checks a ClassificationRequest against its signature."""
    signature = _typed_signature(signatures, request.model_spec, CLASSIFY_METHOD, "classification")
    feed, fetches = _classify_tensors(signature)
    return Plan({feed: _serialized_examples(request.input)}, tuple(sorted(fetches)))


def classify_response(
    signatures: Signatures,
    request: classification_pb2.ClassificationRequest,
    version: int,
    outputs: Arrays,
) -> classification_pb2.ClassificationResponse:
    """Builds the response to `request` from the fetched tensors."""
    name = _signature_name(request.model_spec)
    response = classification_pb2.ClassificationResponse()
    _fill_spec(response.model_spec, request.model_spec.name, name, version)
    count = _example_count(request.input)
    _fill_classifications(signatures[name], count, outputs, response.result)
    return response


def plan_regress(signatures: Signatures, request: regression_pb2.RegressionRequest) -> Plan:
    """Checks a RegressionRequest against its signature."""
    signature = _typed_signature(signatures, request.model_spec, REGRESS_METHOD, "regression")
    feed, fetches = _regress_tensors(signature)
    return Plan({feed: _serialized_examples(request.input)}, fetches)


def regress_response(
    signatures: Signatures,
    request: regression_pb2.RegressionRequest,
    version: int,
    outputs: Arrays,
) -> regression_pb2.RegressionResponse:
    """Builds the response to `request` from the fetched tensors."""
    name = _signature_name(request.model_spec)
    response = regression_pb2.RegressionResponse()
    _fill_spec(response.model_spec, request.model_spec.name, name, version)
    count = _example_count(request.input)
    _fill_regressions(signatures[name], count, outputs, response.result)
    return response


def plan_multi_inference(
    signatures: Signatures, request: inference_pb2.MultiInferenceRequest
) -> Plan:
    """Checks a MultiInferenceRequest: several heads of one model over the same examples."""
    model_name, feed, seen, fetches = "", "", set(), set()
    for task in request.tasks:
        if not task.model_spec.name:
            raise status.invalid_argument("Found ModelSpec with an empty model name.")
        if model_name and model_name != task.model_spec.name:
            raise status.invalid_argument(
                "All ModelSpecs in a MultiInferenceRequest must access the same model name."
            )
        model_name = task.model_spec.name
        name = _signature_name(task.model_spec)
        if name in seen:
            raise status.invalid_argument(f"Duplicate evaluation of signature: {name}")
        seen.add(name)
        if name not in signatures:
            raise status.invalid_argument(f"Requested signature not found in model graph: {name}")
        if task.method_name == CLASSIFY_METHOD:
            task_feed, task_fetches = _classify_tensors(signatures[name])
        elif task.method_name == REGRESS_METHOD:
            task_feed, task_fetches = _regress_tensors(signatures[name])
        else:
            raise status.ServingError(
                grpc.StatusCode.UNIMPLEMENTED,
                f"Unsupported signature method_name: {task.method_name}",
            )
        if feed and feed != task_feed:
            raise status.invalid_argument("Input tensor must be the same for all Signatures.")
        feed = task_feed
        fetches.update(task_fetches)
    return Plan({feed: _serialized_examples(request.input)}, tuple(sorted(fetches)))


def multi_inference_response(
    signatures: Signatures,
    request: inference_pb2.MultiInferenceRequest,
    version: int,
    outputs: Arrays,
) -> inference_pb2.MultiInferenceResponse:
    """Builds the response to `request` from the fetched tensors."""
    response = inference_pb2.MultiInferenceResponse()
    count = _example_count(request.input)
    for task in request.tasks:
        name = _signature_name(task.model_spec)
        result = response.results.add()
        _fill_spec(result.model_spec, task.model_spec.name, name, version)
        if task.method_name == CLASSIFY_METHOD:
            _fill_classifications(signatures[name], count, outputs, result.classification_result)
        else:
            _fill_regressions(signatures[name], count, outputs, result.regression_result)
    return response


def _signature_name(spec: model_pb2.ModelSpec) -> str:
    return spec.signature_name or DEFAULT_SIGNATURE


def _fill_spec(spec: model_pb2.ModelSpec, name: str, signature_name: str, version: int) -> None:
    spec.name = name
    spec.signature_name = signature_name
    spec.version.value = version


def _set(names) -> str:
    return "{" + ",".join(sorted(names)) + "}"


def _check_predict_method(signature: Signature) -> None:
    allowed = (PREDICT_METHOD, CLASSIFY_METHOD, REGRESS_METHOD)
    if signature.method not in allowed:
        raise status.ServingError(
            grpc.StatusCode.INTERNAL,
            "Expected prediction signature method_name to be one of "
            f"{{{', '.join(allowed)}}}. Was: {signature.method}",
        )


def _check_input_count(signature: Signature, inputs) -> None:
    sent, expected = len(inputs), len(signature.inputs)
    if sent > expected or (sent < expected and not signature.defaults):
        extra = set(inputs) - set(signature.inputs)
        missing = set(signature.inputs) - set(inputs)
        raise status.invalid_argument(
            f"input size does not match signature: {sent}!={expected} "
            f"len({_set(inputs)}) != len({_set(signature.inputs)}). "
            f"Sent extra: {_set(extra)}. Missing but required: {_set(missing)}."
        )


def _filtered_aliases(signature: Signature, request) -> set[str]:
    aliases = set()
    for alias in request.output_filter:
        if alias not in signature.outputs:
            raise status.invalid_argument(
                f"output tensor alias not found in signature: {alias} "
                f"Outputs expected to be in the set {_set(signature.outputs)}."
            )
        if alias in aliases:
            raise status.invalid_argument(f"duplicate output tensor alias: {alias}")
        aliases.add(alias)
    return aliases


def _typed_signature(signatures, spec, method: str, kind: str) -> Signature:
    name = _signature_name(spec)
    if name not in signatures:
        raise status.invalid_argument(f"No signature was found with the name: {name}")
    _check_method(signatures[name].definition, method, kind)
    return signatures[name]


def _check_method(signature, method: str, kind: str) -> None:
    if signature.method_name != method:
        raise status.invalid_argument(
            f"Expected {kind} signature method_name to be {method}. Was: {signature.method_name}"
        )


def _classify_tensors(signature: Signature) -> tuple[str, tuple[str, ...]]:
    _check_method(signature.definition, CLASSIFY_METHOD, "classification")
    if len(signature.inputs) != 1:
        raise status.invalid_argument("Expected one input Tensor.")
    if len(signature.outputs) not in (1, 2):
        raise status.invalid_argument(
            f"Expected one or two output Tensors, found {len(signature.outputs)}"
        )
    if "inputs" not in signature.inputs:
        raise status.failed_precondition(
            f"No classification inputs found in SignatureDef: {signature.definition}"
        )
    fetches = [signature.outputs[a] for a in ("classes", "scores") if a in signature.outputs]
    if not fetches:
        raise status.failed_precondition(
            'Expected classification signature outputs to contain at least one of "classes" or '
            f'"scores". Signature was: {signature.definition}'
        )
    return signature.inputs["inputs"], tuple(fetches)


def _regress_tensors(signature: Signature) -> tuple[str, tuple[str, ...]]:
    _check_method(signature.definition, REGRESS_METHOD, "regression")
    if len(signature.inputs) != 1:
        raise status.invalid_argument("Expected one input Tensor.")
    if len(signature.outputs) != 1:
        raise status.invalid_argument("Expected one output Tensor.")
    if "inputs" not in signature.inputs:
        raise status.failed_precondition(
            f"No regression inputs found in SignatureDef: {signature.definition}"
        )
    if "outputs" not in signature.outputs:
        raise status.failed_precondition(
            f"No regression outputs found in SignatureDef: {signature.definition}"
        )
    return signature.inputs["inputs"], (signature.outputs["outputs"],)


def _examples(request_input: input_pb2.Input):
    kind = request_input.WhichOneof("kind")
    return getattr(request_input, kind).examples if kind else ()


def _example_count(request_input: input_pb2.Input) -> int:
    return len(_examples(request_input))


def _serialized_examples(request_input: input_pb2.Input) -> np.ndarray:
    examples = _examples(request_input)
    if not examples:
        raise status.invalid_argument("Input is empty.")
    context = b""
    if request_input.WhichOneof("kind") == "example_list_with_context":
        # Concatenating two serialised messages merges them.
        context = request_input.example_list_with_context.context.SerializeToString()
    array = np.empty(len(examples), np.object_)
    array[:] = [context + example.SerializeToString() for example in examples]
    return array


def _fill_classifications(signature, count: int, outputs: Arrays, result) -> None:
    columns = {}
    for alias, dtype in (("classes", types_pb2.DT_STRING), ("scores", types_pb2.DT_FLOAT)):
        if alias not in signature.outputs:
            continue
        array = outputs[signature.outputs[alias]]
        if array.ndim != 2:
            raise status.invalid_argument(
                f"Expected Tensor shape: [batch_size num_classes] but got {_shape_text(array)}"
            )
        if (array.dtype.kind == "f") != (dtype == types_pb2.DT_FLOAT):
            raise status.invalid_argument(
                f"Expected {alias} Tensor of {types_pb2.DataType.Name(dtype)}. Got: {array.dtype}"
            )
        if len(array) != count:
            raise status.invalid_argument(
                f"Expected {alias} output batch size of {count}. Got: {len(array)}"
            )
        columns[alias] = array
    widths = {array.shape[1] for array in columns.values()}
    if len(widths) > 1:
        raise status.invalid_argument(
            "Tensors class and score should match in dim_size(1). "
            f"Got {columns['classes'].shape[1]} vs. {columns['scores'].shape[1]}"
        )
    for row in range(count):
        classes = result.classifications.add().classes
        for column in range(max(widths)):
            entry = classes.add()
            if "classes" in columns:
                entry.label = columns["classes"][row, column].decode("utf-8", "replace")
            if "scores" in columns:
                entry.score = columns["scores"][row, column]


def _fill_regressions(signature, count: int, outputs: Arrays, result) -> None:
    array = outputs[signature.outputs["outputs"]]
    if not (array.ndim == 1 or (array.ndim == 2 and array.shape[1] == 1)):
        raise status.invalid_argument(
            "Expected output Tensor shape to be either [batch_size] or [batch_size, 1] "
            f"but got {_shape_text(array)}"
        )
    if len(array) != count:
        raise status.invalid_argument(
            f"Input batch size did not match output batch size: {count} vs. {len(array)}"
        )
    if array.dtype != np.float32:
        raise status.invalid_argument(f"Expected output Tensor of DT_FLOAT.  Got: {array.dtype}")
    for value in array.reshape(-1).tolist():
        result.regressions.add(value=value)


def _shape_text(array: np.ndarray) -> str:
    return "[" + ",".join(str(length) for length in array.shape) + "]"
