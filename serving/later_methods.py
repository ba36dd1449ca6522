"""Chooses how gRPC's methods answer later: without threads, or where that cannot be, on threads."""

import contextlib
import functools
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

import grpc

from keras_stackrnn.serving.threaded_methods import ThreadedMethods

logger = logging.getLogger(__name__)

_PROBE = "/keras_stackrnn.Probe/Echo"
_PROBE_SECONDS = 10.0


class LaterMethods(Protocol):
    """Methods of a server whose answers are futures."""

    def start(self) -> None: ...

    def close(self) -> None: ...


def add_later_methods(
    server: grpc.Server,
    methods: Mapping[str, Callable[[bytes, float | None], Future]],
    read_seconds: float,
) -> LaterMethods:
    """Adds methods to a server that is not started; they have to be started after it.

    What is fast stands on parts of grpcio that have no public names, and may be gone or other ones
    in its next version. So it answers a call of its own first, once in a process.
    """
    if not _is_deferring_possible():
        return ThreadedMethods(server, methods, read_seconds)
    from keras_stackrnn.serving.deferred_methods import DeferredMethods

    return DeferredMethods(server, methods, read_seconds)


@functools.cache
def _is_deferring_possible() -> bool:
    try:
        _call_oneself()
    except Exception as error:
        logger.warning(
            "This grpcio (%s) has not the parts that serve without a thread for each request; "
            "threads are used, which answer fewer of them: %s: %s",
            grpc.__version__,
            type(error).__name__,
            error,
        )
        return False
    return True


def _call_oneself() -> None:
    from keras_stackrnn.serving.deferred_methods import DeferredMethods

    def echo(data: bytes, deadline: float | None) -> Future:
        answer = Future()
        answer.set_result(data)
        return answer

    server = grpc.server(ThreadPoolExecutor(1))
    with contextlib.ExitStack() as stack:
        port = server.add_insecure_port("127.0.0.1:0")
        methods = DeferredMethods(server, {_PROBE: echo})
        stack.callback(methods.close)
        server.start()
        stack.callback(lambda: server.stop(0).wait())
        methods.start()
        channel = stack.enter_context(grpc.insecure_channel(f"127.0.0.1:{port}"))
        answer = channel.unary_unary(_PROBE)(b"?", timeout=_PROBE_SECONDS)
        if answer != b"?":
            raise RuntimeError(f"expected b'?' back, got {answer!r}")
