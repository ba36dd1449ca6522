"""gRPC methods that answer later, and until then keep neither a thread nor a task of gRPC's.

grpcio's servers run on threads, where each call under way takes one, or on asyncio, where a call
costs several times what gRPC itself spends on it. Both are made of a completion queue, and so are
these methods: what happens to a call is an event, and an event is a function to call.
"""

import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future

import grpc

# What grpcio's own servers are made of. It has no public name; `grpc._server` shows its use.
from grpc._cython import cygrpc

from keras_stackrnn.serving import status
from keras_stackrnn.serving.deadlines import deadline_of

logger = logging.getLogger(__name__)

# Takes a request and its deadline, in seconds of `time.monotonic()` or None.
Method = Callable[[bytes, float | None], Future]

_NO_FLAGS = 0


class DeferredMethods:
    """Methods of a server whose answers are futures, on one thread beside the server's own.

    Args:
        server: one on threads, not started yet; its other methods stay as they are.
        methods: by their full names, such as "/package.Service/Method". What the future raises
            becomes a status; it is cancelled when nobody waits for it any more.
        read_seconds: how long a call may take to send its request.
    """

    def __init__(
        self, server: grpc.Server, methods: Mapping[str, Method], read_seconds: float = 30.0
    ):
        self._methods = methods
        self._read_seconds = read_seconds
        # Calls whose request has not come yet, and how long it may take; the oldest is the first.
        self._unread: dict[_Call, float] = {}
        self._server = server._cy_server
        self._events = cygrpc.CompletionQueue()
        self._server.register_completion_queue(self._events)
        for name in methods:
            self._server.register_method(name)
        self._outbox: deque[tuple[_Call, Future]] = deque()
        self._is_woken = False
        self._is_closing = False
        self._handling = threading.Lock()
        self._thread = threading.Thread(target=self._serve, name="deferred-methods", daemon=True)

    def start(self) -> None:
        """Takes requests; the server has to be started before."""
        for name in self._methods:
            self._expect(name)
        self._thread.start()

    def close(self) -> None:
        """Ends the thread; the server has to be stopped before, and every future be done."""
        # To begin an operation after that would end the process.
        with self._handling:
            self._is_closing = True
            self._events.shutdown()
        if self._thread.ident is not None:
            self._thread.join()

    def _expect(self, name: str) -> None:
        def begin(event):
            # Without success, the server is about to stop, and there is no call.
            if event.success:
                # It refuses once the server has begun to stop; who came before that is answered.
                with contextlib.suppress(ValueError):
                    self._expect(name)
                call = _Call(event, self._methods[name], self._send, self._unread)
                self._unread[call] = time.monotonic() + self._read_seconds
                call.start()

        self._server.request_registered_call(self._events, self._events, name, begin)

    def _serve(self) -> None:
        while True:
            event = self._events.poll(deadline=self._next_due())
            if event.completion_type == cygrpc.CompletionType.queue_shutdown:
                return
            with self._handling:
                if not self._is_closing:
                    self._cut_off()
                    if event.completion_type != cygrpc.CompletionType.queue_timeout:
                        self._handle(event)
            # It holds the call, which is not over before it is gone.
            del event

    def _next_due(self) -> float | None:
        """When the oldest call has waited long enough for its request, as a time of day."""
        due = next(iter(self._unread.values()), None)
        return None if due is None else time.time() + due - time.monotonic()

    def _cut_off(self) -> None:
        now = time.monotonic()
        while (call := next(iter(self._unread), None)) and self._unread[call] <= now:
            _or_log(call.cut_off, f"The request did not come within {self._read_seconds:g} s")

    def _handle(self, event) -> None:
        # One call that goes wrong leaves no other one without its answer.
        _or_log(event.tag, event)
        self._is_woken = False
        while self._outbox:
            _or_log(self._send_next)

    def _send(self, call: "_Call", answer: Future) -> None:
        """Sends `answer`, here or on the thread of this object.

        A batch's answers come one right after the other. If the batch's thread sent them all, it
        would hand the interpreter over to the thread of this object, which takes what is asked
        next, and get it back, with each of them. So it sends the first one, and the event that it
        was sent wakes the other thread, which sends the rest.
        """
        self._outbox.append((call, answer))
        if not self._is_woken:
            self._is_woken = True
            self._send_next()

    def _send_next(self) -> None:
        try:
            call, answer = self._outbox.popleft()
        except IndexError:  # the other thread has just sent it
            return
        call.send(answer)


class _Call:
    """One request, from its first byte until its answer is sent."""

    __slots__ = ("_answer", "_call", "_deadline", "_method", "_send", "_unread")

    def __init__(
        self,
        event,
        method: Method,
        send: Callable[["_Call", Future], None],
        unread: dict["_Call", float],
    ):
        self._method = method
        self._send = send
        self._unread = unread
        self._call = event.call
        self._answer: Future | None = None
        # gRPC's deadline is a time of day, which changes when the clock is set.
        self._deadline = deadline_of(event.call_details.deadline - time.time())

    def start(self) -> None:
        self._start(self._closed, cygrpc.ReceiveCloseOnServerOperation(_NO_FLAGS))
        self._start(self._received, cygrpc.ReceiveMessageOperation(_NO_FLAGS))

    def cut_off(self, why: str) -> None:
        """Answers a call whose request has not come."""
        del self._unread[self]
        self._finish(grpc.StatusCode.DEADLINE_EXCEEDED, why)

    def send(self, answer: Future) -> None:
        """Sends what `answer` came to; when nobody waits for it, gRPC drops it."""
        try:
            message = cygrpc.SendMessageOperation(answer.result(), _NO_FLAGS)
        except Exception as error:
            serving_error = status.as_serving_error(error)
            self._finish(serving_error.code, serving_error.message)
            status.without_frames(error)
        else:
            self._finish(grpc.StatusCode.OK, "", message)

    def _received(self, event) -> None:
        if self._unread.pop(self, None) is None:
            return  # It has been cut off.
        data = event.batch_operations[0].message()
        if data is None:
            # Nothing was sent, or more than the server takes, which gRPC itself has answered then.
            self._finish(grpc.StatusCode.UNIMPLEMENTED, "One request message is required.")
            return
        self._answer = self._method(data, self._deadline)
        self._answer.add_done_callback(self._answered)

    def _answered(self, answer: Future) -> None:
        self._answer = None  # Otherwise the two would hold each other.
        self._send(self, answer)

    def _closed(self, event) -> None:
        answer = self._answer
        if answer is not None and event.batch_operations[0].cancelled():
            answer.cancel()

    def _finish(self, code: grpc.StatusCode, details: str, *messages) -> None:
        self._start(
            _do_nothing,
            cygrpc.SendInitialMetadataOperation(None, _NO_FLAGS),
            *messages,
            cygrpc.SendStatusFromServerOperation(None, code.value[0], details.encode(), _NO_FLAGS),
        )

    def _start(self, then: Callable, *operations) -> None:
        self._call.start_server_batch(operations, then)


def _or_log(function: Callable, *arguments) -> None:
    try:
        function(*arguments)
    except Exception:
        logger.exception("A call was not answered")


def _do_nothing(event) -> None:
    """Whether an answer could be sent, nobody has to know."""
