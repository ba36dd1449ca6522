"""Requests that are malformed, or nearly right: for the campaign, and for tests of the server."""

import json
import random
from collections.abc import Mapping, Sequence

import grpc
import numpy as np
from tensorflow.core.framework import tensor_pb2, types_pb2
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    model_management_pb2,
    predict_pb2,
    regression_pb2,
)

Signatures = Mapping[str, Mapping[str, tuple[int, int]]]

# Codes that say what was wrong with the request. UNKNOWN and INTERNAL would be the server's fault.
PROPER_CODES = {
    grpc.StatusCode.OK,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
}
PREDICTION = "/tensorflow.serving.PredictionService"
METHODS = {
    f"{PREDICTION}/Predict": predict_pb2.PredictRequest,
    f"{PREDICTION}/Classify": classification_pb2.ClassificationRequest,
    f"{PREDICTION}/Regress": regression_pb2.RegressionRequest,
    f"{PREDICTION}/MultiInference": inference_pb2.MultiInferenceRequest,
    f"{PREDICTION}/GetModelMetadata": get_model_metadata_pb2.GetModelMetadataRequest,
    "/tensorflow.serving.ModelService/GetModelStatus": get_model_status_pb2.GetModelStatusRequest,
    "/tensorflow.serving.ModelService/HandleReloadConfigRequest": (
        model_management_pb2.ReloadConfigRequest
    ),
}


class Maker:
    """Makes requests that are wrong in every way we could think of.

    Args:
        draw: what all chance comes from.
        signatures: type and rank of the inputs of each: near misses get further than noise.
        valid: messages that are right, to be spoiled.
    """

    def __init__(self, draw: random.Random, signatures: Signatures, valid: Sequence[bytes]):
        self._random = draw
        self._signatures = signatures
        self._valid = valid

    def message(self) -> bytes:
        """The bytes of a PredictRequest, or of something like it."""
        kind = self._random.randrange(6)
        if kind == 0:
            return self._random.randbytes(self._random.randrange(200))
        if kind == 1:
            whole = self._random.choice(self._valid)
            return whole[: self._random.randrange(len(whole))]
        if kind == 2:
            return self._flipped(self._random.choice(self._valid))
        return self._request().SerializeToString()

    def body(self) -> bytes:
        """The body of a request over REST, or something like it."""
        kind = self._random.randrange(6)
        if kind == 0:
            return self._random.randbytes(self._random.randrange(100))
        whole = json.dumps(self._document()).encode()
        if kind == 1:
            return whole[: self._random.randrange(len(whole))]
        return self._flipped(whole) if kind == 2 else whole

    def path(self) -> str:
        """Where to send it."""
        name = self._random.choice(["m", "m", "m/versions/1", "m/versions/99", "m/labels/x", "%ff"])
        return f"/v1/models/{name}{self._random.choice([':predict', ':classify', ':regress', ''])}"

    def method(self) -> str:
        """Which method of gRPC to send a message to."""
        return self._random.choice([f"{PREDICTION}/Predict"] * 15 + list(METHODS))

    def _flipped(self, data: bytes) -> bytes:
        changed = bytearray(data)
        for _ in range(self._random.randrange(1, 4)):
            changed[self._random.randrange(len(changed))] = self._random.randrange(256)
        return bytes(changed)

    def _request(self) -> predict_pb2.PredictRequest:
        draw = self._random
        request = predict_pb2.PredictRequest()
        request.model_spec.name = draw.choice(["m"] * 9 + ["", "other"])
        request.model_spec.signature_name, inputs = draw.choice(list(self._signatures.items()))
        if draw.random() < 0.05:
            request.model_spec.version.value = draw.choice([-1, 1, 2**62])
        for name, (dtype, rank) in inputs.items():
            if draw.random() < 0.95:
                request.inputs[name].CopyFrom(self._tensor(dtype, rank))
        if draw.random() < 0.05:
            request.inputs["nope"].CopyFrom(self._tensor(types_pb2.DT_FLOAT, 1))
        if draw.random() < 0.1:
            request.output_filter.append(draw.choice(["probabilities", "next_token", "nope"]))
        return request

    def _tensor(self, dtype: int, rank: int) -> tensor_pb2.TensorProto:
        draw = self._random
        if draw.random() < 0.15:
            dtype = draw.choice([0, 1, 2, 3, 7, 8, 9, 10, 19, 20, 23, 999])
        if draw.random() < 0.15:
            rank = draw.choice([0, 1, 2, 3, 40])
        proto = tensor_pb2.TensorProto(dtype=dtype)
        sizes = [0, 1, 1, 1, 1, 2, 3, 50]
        if draw.random() < 0.1:
            sizes += [-1, 2**31, 2**40, 2**62]
        for _ in range(rank):
            proto.tensor_shape.dim.add(size=draw.choice(sizes))
        proto.tensor_shape.unknown_rank = draw.random() < 0.02
        count = draw.randrange(3)
        integers = [-(2**31), -1, 0, 1, 1, 2, 99, 2**31 - 1] if rank else [-1, 0, 2, 99]
        proto.int_val.extend(draw.choice(integers) for _ in range(count))
        proto.int64_val.extend(draw.choice([-(2**63), 0, 2**63 - 1]) for _ in range(count))
        proto.float_val.extend(draw.choice([np.nan, np.inf, -1.0, 1e38]) for _ in range(count))
        proto.string_val.extend(draw.choice([b"", b"ab", b"\xff\xfe", b"z"]) for _ in range(count))
        if draw.random() < 0.1:
            proto.tensor_content = draw.randbytes(4 * draw.randrange(1, 5))
        return proto

    def _document(self) -> dict:
        draw = self._random
        signature, inputs = draw.choice(list(self._signatures.items()))
        document = {"signature_name": signature}
        if draw.random() < 0.1:
            document["signature_name"] = self._json(1)
        names = [name for name in inputs if draw.random() < 0.95]
        row = {name: self._json(inputs[name][1] - 1) for name in names}
        column = {name: self._json(inputs[name][1]) for name in names}
        kind = draw.randrange(4)
        if kind == 0:
            document["instances"] = [row] * draw.randrange(3)
        elif kind == 1:
            document["inputs"] = column
        elif kind == 2:
            document["instances"] = self._json(draw.randrange(4))
        else:
            document[draw.choice(["inputs", "examples", "context"])] = self._json(2)
        return document

    def _json(self, depth: int):
        draw = self._random
        if depth <= 0:
            oddities = [None, True, 10**30, 1e300, "\ud800", {"b64": "?"}, {"b64": "YQ=="}, {}]
            return draw.choice([0, 1, 2, -1, 99, 1.5, "a", "ab", *oddities])
        if draw.random() < 0.9:
            return [self._json(depth - 1)] * draw.randrange(4)
        return {draw.choice(["tokens", "x", ""]): self._json(depth - 1)}
