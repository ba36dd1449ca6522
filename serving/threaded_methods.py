"""gRPC methods that answer later, on nothing but gRPC's public names: each waits on a thread."""

import contextlib
from collections import defaultdict
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future

import grpc

from keras_stackrnn.serving import status
from keras_stackrnn.serving.deadlines import deadline_of


class ThreadedMethods:
    """The same as `DeferredMethods`, for a grpcio whose parts that one cannot use.

    A call under way takes one of the server's threads, and gRPC alone decides how long it waits for
    a request.

    Args:
        server: one on threads, not started yet; its other methods stay as they are.
        methods: by their full names, such as "/package.Service/Method".
        read_seconds: how long a call may take to send its request; nobody here can tell.
    """

    def __init__(
        self,
        server: grpc.Server,
        methods: Mapping[str, Callable[[bytes, float | None], Future]],
        read_seconds: float = 30.0,
    ):
        services = defaultdict(dict)
        for path, method in methods.items():
            _, service, name = path.split("/")
            services[service][name] = grpc.unary_unary_rpc_method_handler(_waiting_for(method))
        for service, handlers in services.items():
            handler = grpc.method_handlers_generic_handler(service, handlers)
            server.add_generic_rpc_handlers((handler,))

    def start(self) -> None:
        """The server itself takes the requests."""

    def close(self) -> None:
        """The server's threads end with it."""


def _waiting_for(method: Callable[[bytes, float | None], Future]) -> Callable:
    def handle(data: bytes, context: grpc.ServicerContext) -> bytes:
        answer = method(data, deadline_of(context.time_remaining()))
        # If the call is over by now, there is no callback, and nobody to answer.
        if not context.add_callback(answer.cancel):
            answer.cancel()
        try:
            return answer.result()
        except CancelledError as error:
            serving_error = status.ServingError(grpc.StatusCode.CANCELLED, str(error))
        except Exception as error:
            serving_error = status.as_serving_error(status.without_frames(error))
        with contextlib.suppress(ValueError):  # the call is over
            context.abort(serving_error.code, serving_error.message)

    return handle
