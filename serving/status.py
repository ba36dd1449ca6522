"""How a request fails: a status code, one message, and their forms on gRPC and HTTP."""

import grpc
import tensorflow as tf

MAX_MESSAGE_CHARACTERS = 1024

_CODES = {code.value[0]: code for code in grpc.StatusCode}

_HTTP_STATUS = {
    grpc.StatusCode.OK: 200,
    grpc.StatusCode.CANCELLED: 499,
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.FAILED_PRECONDITION: 400,
    grpc.StatusCode.OUT_OF_RANGE: 400,
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.ALREADY_EXISTS: 409,
    grpc.StatusCode.ABORTED: 409,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.UNIMPLEMENTED: 501,
    grpc.StatusCode.UNAVAILABLE: 503,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
}


class ServingError(Exception):
    """A request that cannot be answered.

    Args:
        code: the `grpc.StatusCode` the caller gets.
        message: one sentence for the caller; cut at 1,024 characters as TensorFlow Serving does.
    """

    def __init__(self, code: grpc.StatusCode, message: str):
        if len(message) > MAX_MESSAGE_CHARACTERS:
            message = message[:MAX_MESSAGE_CHARACTERS] + "...TRUNCATED"
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def http_status(self) -> int:
        return _HTTP_STATUS.get(self.code, 500)


def invalid_argument(message: str) -> ServingError:
    return ServingError(grpc.StatusCode.INVALID_ARGUMENT, message)


def failed_precondition(message: str) -> ServingError:
    return ServingError(grpc.StatusCode.FAILED_PRECONDITION, message)


def not_found(message: str) -> ServingError:
    return ServingError(grpc.StatusCode.NOT_FOUND, message)


def resource_exhausted(message: str) -> ServingError:
    return ServingError(grpc.StatusCode.RESOURCE_EXHAUSTED, message)


def deadline_exceeded(message: str) -> ServingError:
    return ServingError(grpc.StatusCode.DEADLINE_EXCEEDED, message)


def without_frames(error: BaseException) -> BaseException:
    """Returns `error`, which lets go of the functions that it has come through.

    Their variables hold what a request has sent, and often the error itself: all of it would stay
    until Python looks for circles, and that may be when there is no memory left.
    """
    seen: list[BaseException] = []
    each: BaseException | None = error
    while each is not None and each not in seen:
        each.__traceback__ = None
        seen.append(each)
        each = each.__cause__ or each.__context__
    return error


def as_serving_error(error: BaseException) -> ServingError:
    """Returns `error` as a `ServingError`; TensorFlow's errors keep their code and text."""
    if isinstance(error, ServingError):
        return error
    if isinstance(error, tf.errors.OpError):
        code = _CODES.get(error.error_code, grpc.StatusCode.UNKNOWN)
        return ServingError(code, str(error.message))
    return ServingError(grpc.StatusCode.INTERNAL, f"{type(error).__name__}: {error}")
