"""HTTP connections: what drips is cut off, and what is no request is answered in JSON."""

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

_MAX_URL_BYTES = 8190
_MAX_HEADER_BYTES = 2 * _MAX_URL_BYTES  # another number, so that an error says which one it was
_KEEPALIVE_SECONDS = 75.0

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class HttpError(Exception):
    """A request that HTTP itself has an answer for.

    Args:
        status: the HTTP status.
        message: one sentence for the caller.
        closes: whether the connection is of no more use.
        **headers: of the answer, with underscores for hyphens.
    """

    def __init__(self, status: int, message: str, *, closes: bool = False, **headers: str):
        super().__init__(message)
        self.status = status
        self.closes = closes
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def response(self) -> web.Response:
        response = json_response({"error": str(self)}, self.status, self.headers)
        if self.closes:
            response.force_close()
        return response


def json_response(
    content: dict, status: int, headers: Mapping[str, str] | None = None
) -> web.Response:
    return web.Response(
        text=json.dumps(content), status=status, headers=headers, content_type="application/json"
    )


class Connections(web.Server):
    """Takes connections, and hands each request whose headers are there to `handle`.

    Args:
        handle: answers it.
        max_body_bytes: longer bodies are refused.
        read_seconds: how long a connection may take for its first headers, and for any body.
    """

    def __init__(self, handle: Handler, max_body_bytes: int, read_seconds: float):
        self._max_body_bytes = max_body_bytes
        self._read_seconds = read_seconds
        self._running_loop = asyncio.get_running_loop()

        async def begun(request: web.BaseRequest) -> web.StreamResponse:
            request.protocol.request_came()
            return await handle(request)

        super().__init__(begun, request_factory=self._request, loop=self._running_loop)

    async def body(self, request: web.BaseRequest) -> bytes:
        """Returns the body of `request`; HttpError if it is too long, broken or does not come."""
        self._check_length(request)
        await _answer_expectation(request)
        try:
            async with asyncio.timeout(self._read_seconds):
                return await request.read()
        except TimeoutError:
            sentence = f"The request's body did not come within {self._read_seconds:g} s"
            raise HttpError(408, sentence, closes=True) from None
        except web.HTTPRequestEntityTooLarge:
            raise self._too_large() from None
        except web.RequestPayloadError as error:
            sentence = f"The request's body is not what its headers say: {_one_line(str(error))}"
            raise HttpError(400, sentence, closes=True) from None

    def _check_length(self, request: web.BaseRequest) -> None:
        if (request.content_length or 0) > self._max_body_bytes:
            raise self._too_large()

    def _too_large(self) -> HttpError:
        sentence = f"The request's body is larger than {self._max_body_bytes} bytes"
        return HttpError(413, sentence, closes=True)

    def _request(self, message, payload, protocol, writer, task) -> web.BaseRequest:
        return web.BaseRequest(
            message,
            payload,
            protocol,
            writer,
            task,
            self._running_loop,
            client_max_size=self._max_body_bytes,
        )

    def __call__(self) -> web.RequestHandler:
        return _Connection(self, self._running_loop, self._read_seconds)


class _Connection(web.RequestHandler):
    """One connection, and a clock that runs until its first request is there."""

    def __init__(self, server: web.Server, loop: asyncio.AbstractEventLoop, read_seconds: float):
        super().__init__(
            server,
            loop=loop,
            keepalive_timeout=_KEEPALIVE_SECONDS,
            max_line_size=_MAX_URL_BYTES,
            max_field_size=_MAX_HEADER_BYTES,
            access_log=None,
        )
        self._first_request = loop.call_later(read_seconds, self.force_close)

    def request_came(self) -> None:
        self._first_request.cancel()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._first_request.cancel()
        super().connection_lost(exc)

    def log_exception(self, *args, **kwargs) -> None:
        # A broken body has been answered; what is left of it is read and dropped.
        if not isinstance(kwargs.get("exc_info"), web.RequestPayloadError):
            super().log_exception(*args, **kwargs)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answers what could not be parsed; it is the client's fault, and nothing for the log."""
        self.request_came()
        limit = exc.args[1] if exc is not None and len(exc.args) > 1 else None
        if limit == _MAX_URL_BYTES:
            error = HttpError(414, f"The URL is longer than {limit} bytes", closes=True)
        elif limit == _MAX_HEADER_BYTES:
            error = HttpError(431, f"A header is longer than {limit} bytes", closes=True)
        elif status < 500:
            sentence = "The request is not HTTP that can be read"
            error = HttpError(status, f"{sentence}: {_one_line(message)}", closes=True)
        else:
            self.logger.error("A request was not answered", exc_info=exc)
            error = HttpError(status, f"{status} Internal Server Error", closes=True)
        return error.response()


async def _answer_expectation(request: web.BaseRequest) -> None:
    expectation = request.headers.get("Expect")
    if expectation is None:
        return
    if expectation.lower() != "100-continue":
        sentence = f"Unknown expectation {expectation!r}: only '100-continue' can be met"
        raise HttpError(417, sentence, closes=True)
    await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    # What was written is no part of the answer, which has yet to begin.
    request.writer.output_size = 0


def _one_line(message: str | None) -> str:
    return " ".join((message or "").split())


def bound_sockets(host: str, port: int) -> list[socket.socket]:
    """Takes hold of a port on all addresses of a host, without listening yet; 0 is any port.

    Raises:
        ValueError: it is taken, or there is no such host.
    """
    sockets: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        for family, kind, protocol, _, address in dict.fromkeys(found):
            bound = socket.socket(family, kind, protocol)
            sockets.append(bound)
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            bound.bind((address[0], port, *address[2:]))
            port = bound.getsockname()[1]
    except OSError as error:
        for each in sockets:
            each.close()
        raise ValueError(f"Cannot listen on {host}:{port}: {error.strerror}.") from error
    return sockets
