"""Models of another server: what the page asks of them is handed on to where they are."""

import re
from collections.abc import Mapping

import aiohttp
from aiohttp import web

from keras_stackrnn.serving import status
from keras_stackrnn.serving.service import Service

_PATH = re.compile(r"/v1/models/(?P<name>[^/:]+)(?P<rest>.*)")


class RemoteEndpoint:
    """Hands requests for some models on to the REST API of the servers that have them.

    Args:
        service: of this server, which does not know them.
        timeout_seconds: bounds each request.
        servers: for the name of each model `host:port` and its name there.
    """

    def __init__(
        self, service: Service, timeout_seconds: float, servers: Mapping[str, tuple[str, str]]
    ):
        self._timeout_seconds = timeout_seconds
        self._servers = servers

    def takes(self, method: str, path: str) -> bool:
        match = _PATH.fullmatch(path)
        return match is not None and match["name"] in self._servers

    async def answer(
        self, request: web.BaseRequest, body: bytes, headers: Mapping[str, str]
    ) -> web.StreamResponse:
        match = _PATH.fullmatch(request.path)
        address, name = self._servers[match["name"]]
        url = f"http://{address}/v1/models/{name}{match['rest']}"
        method = "GET" if request.method == "HEAD" else request.method
        timeout = aiohttp.ClientTimeout(total=self._timeout_seconds)
        kind = {"Content-Type": "application/json"} if method == "POST" else {}
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.request(method, url, data=body or None, headers=kind) as answer,
            ):
                return web.Response(
                    body=await answer.read(),
                    status=answer.status,
                    content_type="application/json",
                )
        except (TimeoutError, aiohttp.ClientError, OSError):
            raise status.ServingError(
                status.grpc.StatusCode.UNAVAILABLE,
                f"No REST API answers at {address}, where {name} is said to be.",
            ) from None
