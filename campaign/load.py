"""Requests of every kind, many at a time, each answer looked at."""

import asyncio
import dataclasses
import json
import mmap
import random
import struct
import time
from collections import Counter
from collections.abc import Sequence

import aiohttp
import grpc
import hypothesis
import hypothesis.strategies as st
import numpy as np
from tensorflow.core.framework import types_pb2
from tensorflow_serving.apis import predict_pb2

from campaign.malformed import METHODS, PREDICTION, PROPER_CODES, Maker
from campaign.part import Outcome
from campaign.served import MODEL, SYMBOLS
from keras_stackrnn.serving import tensors
from keras_stackrnn.serving.sessions import CONTINUE, END, START

_AT_A_TIME = 24
_SECONDS = 60.0
_TOLERANCE = 1e-5
_MOST_FAULTS = 20
_SHARES = {
    "predict over gRPC": 1000,
    "predict text over gRPC": 100,
    "predict over REST": 40,
    "infer over HTTP": 20,
    "session": 30,
    "generate": 10,
    "malformed over gRPC": 10,
    "malformed over REST": 5,
}
_INT32, _INT64 = types_pb2.DT_INT32, types_pb2.DT_INT64
_FLOAT, _STRING = types_pb2.DT_FLOAT, types_pb2.DT_STRING
_TYPES = {
    np.int32: _INT32,
    np.int64: _INT64,
    np.uint32: types_pb2.DT_UINT32,
    np.uint64: types_pb2.DT_UINT64,
    np.float32: _FLOAT,
}
# Type and rank of the inputs that malformed requests are made of.
_TOKENS = {"tokens": (_INT32, 2), "lengths": (_INT32, 1)}
_DRAWING = {"max_symbols": (_INT32, 0), "temperature": (_FLOAT, 0), "seed": (_INT64, 0)}
_SIGNATURES = {
    "": _TOKENS,
    "score": _TOKENS,
    "predict_text": {"text": (_STRING, 1)},
    "trace": {"text": (_STRING, 1)},
    "generate": {"text": (_STRING, 1), **_DRAWING},
    "initial_state": {"batch_size": (_INT32, 0)},
    "step": {**_TOKENS, "stack_0_hidden": (_FLOAT, 2)},
    "nope": {"x": (_FLOAT, 1)},
}


def questions(seed: int, number: int) -> list[str]:
    """Texts that hypothesis finds worth asking."""
    found = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=number,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(st.text(SYMBOLS, min_size=1, max_size=40))
    def collect(text):
        found.append(text)

    collect()
    return sorted({*found, "a"})


class _Number:
    """A number in memory that two processes share."""

    def __init__(self, place: int):
        self._place = 8 * place

    def __get__(self, shared, _) -> int:
        return struct.unpack_from("Q", shared.memory, self._place)[0]

    def __set__(self, shared, value: int) -> None:
        struct.pack_into("Q", shared.memory, self._place, value)


class Shared:
    """What the client and who disturbs it tell each other.

    Attributes:
        answers: how many there were so far.
        disturbances: while it is odd, the server may be away.
        may_end: 1 when nothing more will happen to the server.
    """

    answers = _Number(0)
    disturbances = _Number(1)
    may_end = _Number(2)

    def __init__(self):
        self.memory = mmap.mmap(-1, 3 * 8)


@dataclasses.dataclass(frozen=True)
class Asked:
    """What the client is to ask.

    Attributes:
        port: of gRPC.
        rest_port: of REST.
        texts: the questions.
        answers: probabilities after each, `[2, texts, symbols]`, by a version's parity.
        seed: what all chance comes from.
        requests: how many, at least: it goes on until it may end.
    """

    port: int
    rest_port: int
    texts: Sequence[str]
    answers: np.ndarray
    seed: int
    requests: int


def load(asked: Asked, shared: Shared) -> Outcome:
    """Asks all, and returns what came of it."""
    return asyncio.run(_Load(asked, shared).run())


class _AwayError(Exception):
    """The server was away, as it may be while it is killed."""


class _Load:
    def __init__(self, asked: Asked, shared: Shared):
        self._asked = asked
        self._shared = shared
        self._draw = random.Random(asked.seed)
        self._outcome = Outcome()
        self._counts: Counter[str] = Counter()
        self._tokens = [[SYMBOLS.index(symbol) for symbol in text] for text in asked.texts]
        self._by_tokens = [self._request("", tokens=[t], lengths=[len(t)]) for t in self._tokens]
        self._by_text = [self._request("predict_text", text=[text]) for text in asked.texts]
        # Answers, as bytes, that were looked at and right.
        self._right: set[tuple[int, bytes]] = set()
        self._generated: dict[tuple[int, int], bytes] = {}
        self._maker = Maker(self._draw, _SIGNATURES, [self._by_tokens[0], self._by_text[0]])

    async def run(self) -> Outcome:
        options = [
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 1000),
        ]
        rest_url = f"http://127.0.0.1:{self._asked.rest_port}"
        async with (
            grpc.aio.insecure_channel(f"127.0.0.1:{self._asked.port}", options) as channel,
            aiohttp.ClientSession(rest_url, timeout=aiohttp.ClientTimeout(_SECONDS)) as http,
        ):
            self._http = http
            self._calls = {name: channel.unary_unary(name) for name in METHODS}
            await asyncio.gather(*(self._work() for _ in range(_AT_A_TIME)))
        self._outcome.counts["requests"] = sum(self._counts.values())
        malformed = sum(n for name, n in self._counts.items() if name.startswith("malformed"))
        self._outcome.counts["malformed messages"] = malformed
        self._outcome.details.update(self._counts)
        return self._outcome

    async def _work(self) -> None:
        ways = {
            "predict over gRPC": self._predict,
            "predict text over gRPC": self._predict_text,
            "predict over REST": self._predict_rest,
            "infer over HTTP": self._infer,
            "session": self._session,
            "generate": self._generate,
            "malformed over gRPC": self._malformed,
            "malformed over REST": self._malformed_rest,
        }
        names, weights = list(_SHARES), list(_SHARES.values())
        while self._shared.answers < self._asked.requests or not self._shared.may_end:
            name = self._draw.choices(names, weights)[0]
            index = self._draw.randrange(len(self._tokens))
            while True:
                before = self._shared.disturbances
                try:
                    await ways[name](index)
                except _AwayError as error:
                    if before % 2 == 0 and self._shared.disturbances == before:
                        self._fault(f"{name}: {error}, though nobody disturbed the server")
                        break
                    self._outcome.details["asked again after a kill"] += 1
                    await asyncio.sleep(0.05)
                except Exception as error:
                    self._fault(f"{name} of {self._asked.texts[index]!r}: {error!r}")
                    break
                else:
                    break
            self._counts[name] += 1
            self._shared.answers = sum(self._counts.values())

    async def _predict(self, index: int) -> None:
        answer = await self._call(self._by_tokens[index])
        if (index, answer) not in self._right:
            self._check(index, predict_pb2.PredictResponse.FromString(answer))
            self._right.add((index, answer))

    async def _predict_text(self, index: int) -> None:
        answer = await self._call(self._by_text[index])
        if (-index - 1, answer) not in self._right:
            self._check(index, predict_pb2.PredictResponse.FromString(answer))
            self._right.add((-index - 1, answer))

    async def _session(self, index: int) -> None:
        """Reads a text in pieces, in a session that the server keeps."""
        left, control, number = self._tokens[index], START, 0
        if len(left) == 1:
            return await self._predict(index)
        while left:
            # The first piece is not the last.
            size = self._draw.randint(1, len(left) - (control == START))
            piece, left = left[:size], left[size:]
            if not left:
                control = END
            message = self._with(
                self._request("step", tokens=[piece], lengths=[len(piece)]),
                sequence_id=np.array([number], np.uint64),
                sequence_control_input=np.array([control], np.uint32),
            )
            try:
                answer = await self._call(message)
            except grpc.RpcError as error:
                # A session ends with the process that kept it.
                if error.code() == grpc.StatusCode.NOT_FOUND:
                    raise _AwayError("the session is gone") from error
                raise
            response = predict_pb2.PredictResponse.FromString(answer)
            number = int(tensors.from_proto(response.outputs["sequence_id"], 1024)[0])
            control = CONTINUE
        self._check(index, response)

    async def _generate(self, index: int) -> None:
        """The most probable continuation is always the same, of one version."""
        request = self._request("generate", text=[self._asked.texts[index]])
        options = {"max_symbols": np.int32(5), "temperature": np.float32(0), "seed": np.int64(0)}
        answer = await self._call(self._with(request, **options))
        response = predict_pb2.PredictResponse.FromString(answer)
        text = response.outputs["text"].SerializeToString()
        parity = response.model_spec.version.value % 2
        if self._generated.setdefault((parity, index), text) != text:
            raise ValueError(f"generated {text!r}, before {self._generated[parity, index]!r}")

    async def _predict_rest(self, index: int) -> None:
        tokens = self._tokens[index]
        document = {"instances": [{"tokens": tokens, "lengths": len(tokens)}]}
        answer = await self._post(f"/v1/models/{MODEL}:predict", document)
        # It does not say which version it comes from.
        self._compare(index, answer["predictions"][0]["probabilities"])

    async def _infer(self, index: int) -> None:
        tokens = self._tokens[index]
        length = len(tokens)
        document = {
            "inputs": [
                {"name": "tokens", "shape": [1, length], "datatype": "INT32", "data": tokens},
                {"name": "lengths", "shape": [1], "datatype": "INT32", "data": [length]},
            ]
        }
        answer = await self._post(f"/v2/models/{MODEL}/infer", document)
        outputs = {each["name"]: each["data"] for each in answer["outputs"]}
        self._compare(index, outputs["probabilities"], int(answer["model_version"]))

    async def _malformed(self, index: int) -> None:
        method, message = self._maker.method(), self._maker.message()
        try:
            await self._call(message, method)
        except grpc.RpcError as error:
            if error.code() not in PROPER_CODES or len(error.details()) > 1100:
                raise ValueError(f"{method} of {message!r}: {error.code()}") from error

    async def _malformed_rest(self, index: int) -> None:
        path, body = self._maker.path(), self._maker.body()
        try:
            async with self._http.post(path.replace("/m", f"/{MODEL}"), data=body) as response:
                text = await response.text()
        except aiohttp.ClientError as error:
            raise _AwayError(repr(error)) from error
        improper = response.status >= 500 and response.status != 501
        if improper or (response.status != 200 and list(json.loads(text)) != ["error"]):
            raise ValueError(f"{path} of {body!r}: {response.status} {text}")

    async def _call(self, message: bytes, method: str = f"{PREDICTION}/Predict") -> bytes:
        try:
            return await self._calls[method](message, timeout=_SECONDS)
        except grpc.RpcError as error:
            if error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED):
                raise _AwayError(f"{error.code()} {error.details()}") from error
            raise

    async def _post(self, path: str, document: dict) -> dict:
        try:
            async with self._http.post(path, json=document) as response:
                answer = await response.json()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise _AwayError(repr(error)) from error
        if response.status == 503:
            raise _AwayError(answer["error"])
        if response.status != 200:
            raise ValueError(f"{response.status} {answer}")
        return answer

    def _request(self, signature: str, **inputs) -> bytes:
        request = predict_pb2.PredictRequest()
        request.model_spec.name = MODEL
        request.model_spec.signature_name = signature
        for name, value in inputs.items():
            is_text = isinstance(value[0], str)
            array = np.array([v.encode() for v in value], np.object_) if is_text else value
            array = np.asarray(array, np.object_ if is_text else np.int32)
            tensors.to_proto(array, request.inputs[name], _STRING if is_text else _INT32)
        return request.SerializeToString()

    def _with(self, request: bytes, **inputs: np.ndarray) -> bytes:
        """The same request with more inputs."""
        message = predict_pb2.PredictRequest.FromString(request)
        for name, value in inputs.items():
            array = np.asarray(value)
            tensors.to_proto(array, message.inputs[name], _TYPES[array.dtype.type])
        return message.SerializeToString()

    def _check(self, index: int, response: predict_pb2.PredictResponse) -> None:
        got = tensors.from_proto(response.outputs["probabilities"], 1024)
        self._compare(index, got[0], response.model_spec.version.value)

    def _compare(self, index: int, got, version: int | None = None) -> None:
        expected = self._asked.answers[:, index]
        if version is not None:
            expected = expected[version % 2 : version % 2 + 1]
        distance = np.abs(expected - np.asarray(got)).max(-1).min()
        if not distance < _TOLERANCE:
            raise ValueError(f"version {version} answered {got}, expected {expected.tolist()}")

    def _fault(self, sentence: str) -> None:
        if len(self._outcome.faults) < _MOST_FAULTS:
            self._outcome.faults.append(f"{time.strftime('%H:%M:%S')} {sentence}"[:1000])
