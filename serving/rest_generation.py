"""`POST /v1/models/M:generate`: a continuation as server-sent events, part by part."""

import asyncio
import contextlib
import json
import re
import time
from collections.abc import Mapping
from concurrent.futures import CancelledError

from aiohttp import web

from keras_stackrnn.serving import json_tensors, status
from keras_stackrnn.serving.generation_messages import GenerateResponse, request_from_json
from keras_stackrnn.serving.rest import MODEL_PATH, answered, spec_of
from keras_stackrnn.serving.service import Caller, Service

_PATH = re.compile(MODEL_PATH + ":generate")
_HEADERS = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}


class GenerationEndpoint:
    """Streams what is generated; who goes ends it.

    Args:
        service: draws the continuations.
        timeout_seconds: bounds each part, and how long a client may take to read one.
    """

    def __init__(self, service: Service, timeout_seconds: float):
        self._service = service
        self._timeout_seconds = timeout_seconds

    def takes(self, method: str, path: str) -> bool:
        return method == "POST" and _PATH.fullmatch(path) is not None

    async def answer(
        self, request: web.BaseRequest, body: bytes, headers: Mapping[str, str]
    ) -> web.StreamResponse:
        spec = spec_of(_PATH.fullmatch(request.path))
        asked = request_from_json(json_tensors.parse(body), spec)
        response = web.StreamResponse(headers={**_HEADERS, **headers})
        try:
            with self._service.generate(asked, Caller("REST", None)) as continuation:
                while part := await self._next(continuation):
                    # Until the first part is there, a request can still fail with a status.
                    if not response.prepared:
                        await response.prepare(request)
                    await self._send(response, _event(part))
        except CancelledError:
            return response
        except status.ServingError as error:
            if not response.prepared:
                raise
            # Nothing else can tell a client that has its 200 already.
            with contextlib.suppress(CancelledError):
                await self._send(response, f"event: error\n{_data({'error': error.message})}")
        await response.write_eof()
        return response

    async def _next(self, continuation) -> GenerateResponse | None:
        return await answered(continuation.part(time.monotonic() + self._timeout_seconds))

    async def _send(self, response: web.StreamResponse, event: str) -> None:
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await response.write(event.encode())
        except (ConnectionError, TimeoutError) as error:
            # Nobody is there, or reads: what was said is lost, and what would follow is not drawn.
            response.force_close()
            raise CancelledError from error


def _event(part: GenerateResponse) -> str:
    content = {"text": part.text, "symbols": list(part.symbols)}
    if part.finish_reason:
        content["finish_reason"] = part.finish_reason
    return _data(content)


def _data(content: dict) -> str:
    return f"data: {json.dumps(content, ensure_ascii=False)}\n\n"
