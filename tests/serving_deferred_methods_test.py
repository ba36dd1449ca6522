"""gRPC methods that answer later: beside the others, all at a time, refused, cancelled, drained."""

import concurrent.futures
import contextlib
import sys
import threading
import time
import types

import grpc
import pytest

from keras_stackrnn.serving import deferred_methods, later_methods, status
from keras_stackrnn.serving.deferred_methods import DeferredMethods
from keras_stackrnn.serving.threaded_methods import ThreadedMethods

Code = grpc.StatusCode
PATIENCE_SECONDS = 30


class Desk:
    """A server with a method that answers later: requests lie there until somebody answers them."""

    def __init__(self, kind=DeferredMethods, threads=1, **options):
        self.asked: list[tuple[bytes, float | None, concurrent.futures.Future]] = []
        self._came = threading.Condition()
        self.server = grpc.server(
            concurrent.futures.ThreadPoolExecutor(threads),
            options=[(f"grpc.{name}", value) for name, value in options.items()],
        )
        at_once = grpc.unary_unary_rpc_method_handler(lambda request, context: request)
        handler = grpc.method_handlers_generic_handler("test.Desk", {"AtOnce": at_once})
        self.server.add_generic_rpc_handlers((handler,))
        self._methods = kind(self.server, {"/test.Desk/Later": self._ask})
        port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()
        self._methods.start()
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        self.at_once = self.channel.unary_unary("/test.Desk/AtOnce")
        self.later = self.channel.unary_unary("/test.Desk/Later")

    def _ask(self, data, deadline):
        answer = concurrent.futures.Future()
        with self._came:
            self.asked.append((data, deadline, answer))
            self._came.notify()
        return answer

    def wait_for(self, count: int) -> None:
        with self._came:
            assert self._came.wait_for(lambda: len(self.asked) >= count, PATIENCE_SECONDS)

    def close(self) -> None:
        self.channel.close()
        self.server.stop(0).wait()
        self._methods.close()


def was_cancelled(answer: concurrent.futures.Future) -> bool:
    ended = threading.Event()
    answer.add_done_callback(lambda _: ended.set())
    return ended.wait(PATIENCE_SECONDS) and answer.cancelled()


@pytest.fixture(params=[DeferredMethods, ThreadedMethods])
def desk(request):
    # Threads are for as many calls as any of the tests has under way.
    threads = 450 if request.param is ThreadedMethods else 1
    with contextlib.closing(Desk(request.param, threads)) as opened:
        yield opened


def test_more_wait_than_there_are_threads_and_nobody_is_held_up(desk):
    calls = [desk.later.future(b"%d" % number) for number in range(200)]
    desk.wait_for(200)
    assert desk.at_once(b"now", timeout=PATIENCE_SECONDS) == b"now"
    for data, _, answer in desk.asked:
        answer.set_result(data * 2)
    for number, call in enumerate(calls):
        assert call.result(PATIENCE_SECONDS) == b"%d" % number * 2


def test_answers_from_several_threads_all_arrive(desk):
    calls = [desk.later.future(b"%d" % number) for number in range(400)]
    desk.wait_for(400)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for data, _, answer in desk.asked:
            pool.submit(answer.set_result, data)
    for number, call in enumerate(calls):
        assert call.result(PATIENCE_SECONDS) == b"%d" % number


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (status.not_found("No such thing: ä"), Code.NOT_FOUND, "No such thing: ä"),
        (KeyError("x"), Code.INTERNAL, "KeyError: 'x'"),
    ],
)
def test_what_is_raised_becomes_a_status(desk, error, code, message):
    call = desk.later.future(b"")
    desk.wait_for(1)
    desk.asked[0][2].set_exception(error)
    assert (call.code(), call.details()) == (code, message)


def test_deadlines(desk):
    before = time.monotonic()
    bounded = desk.later.future(b"", timeout=1000)
    desk.wait_for(1)
    assert 900 < desk.asked[0][1] - before < 1100  # it travels with few digits
    unbounded = desk.later.future(b"")
    desk.wait_for(2)
    assert desk.asked[1][1] is None
    assert not bounded.done()
    assert not unbounded.done()


@pytest.mark.parametrize("timeout", [None, 0.1], ids=["by the client", "by its deadline"])
def test_what_nobody_waits_for_is_cancelled(desk, timeout):
    call = desk.later.future(b"", timeout=timeout)
    desk.wait_for(1)
    if timeout is None:
        call.cancel()
    assert was_cancelled(desk.asked[0][2])
    # The thread goes on.
    call = desk.later.future(b"")
    desk.wait_for(2)
    desk.asked[1][2].set_result(b"next")
    assert call.result(PATIENCE_SECONDS) == b"next"


def test_a_call_without_a_request(desk):
    stream = desk.channel.stream_unary("/test.Desk/Later")
    with pytest.raises(grpc.RpcError) as caught:
        stream(iter([]), timeout=PATIENCE_SECONDS)
    assert caught.value.code() == Code.UNIMPLEMENTED
    assert not desk.asked


def test_too_large_a_request():
    with contextlib.closing(Desk(max_receive_message_length=100)) as desk:
        with pytest.raises(grpc.RpcError) as caught:
            desk.later(bytes(101), timeout=PATIENCE_SECONDS)
        assert caught.value.code() == Code.RESOURCE_EXHAUSTED
        assert not desk.asked


def test_a_server_that_stops_lets_calls_finish(desk):
    call = desk.later.future(b"")
    desk.wait_for(1)
    stopped = desk.server.stop(PATIENCE_SECONDS)
    desk.asked[0][2].set_result(b"still")
    assert call.result(PATIENCE_SECONDS) == b"still"
    assert stopped.wait(PATIENCE_SECONDS)


def test_who_comes_as_the_server_begins_to_stop_is_answered(monkeypatch, caplog):
    with contextlib.closing(Desk()) as desk:

        def refuse(name):
            raise ValueError("server must be started and not shutting down")

        monkeypatch.setattr(desk._methods, "_expect", refuse)
        call = desk.later.future(b"last")
        desk.wait_for(1)
        desk.asked[0][2].set_result(b"still")
        assert call.result(PATIENCE_SECONDS) == b"still"
    assert not caplog.records


def test_a_server_that_stops_breaks_off_what_takes_too_long(desk):
    call = desk.later.future(b"")
    desk.wait_for(1)
    assert desk.server.stop(0.01).wait(PATIENCE_SECONDS)
    assert call.code() in (Code.CANCELLED, Code.UNAVAILABLE)
    assert was_cancelled(desk.asked[0][2])


def test_closing_while_calls_are_still_cancelled():
    for _ in range(30):
        with contextlib.closing(Desk()) as desk:
            calls = [desk.later.future(b"") for _ in range(30)]
            desk.wait_for(30)
        assert all(call.code() in (Code.CANCELLED, Code.UNAVAILABLE) for call in calls)


@pytest.fixture
def anew():
    """The choice is made once in a process: a test that changes what it depends on has its own."""
    later_methods._is_deferring_possible.cache_clear()
    yield
    later_methods._is_deferring_possible.cache_clear()


def chosen() -> object:
    with contextlib.closing(Desk(lambda *added: later_methods.add_later_methods(*added, 1.0))) as d:
        call = d.later.future(b"who")
        d.wait_for(1)
        d.asked[0][2].set_result(b"me")
        assert call.result(PATIENCE_SECONDS) == b"me"
        return type(d._methods)


def test_what_is_fast_is_chosen_where_it_works(anew, caplog):
    assert chosen() is DeferredMethods
    assert not caplog.records


@pytest.mark.parametrize(
    "name", ["CompletionQueue", "ReceiveMessageOperation", "SendStatusFromServerOperation"]
)
def test_threads_are_chosen_where_private_names_are_gone(anew, monkeypatch, caplog, name):
    names = {each: value for each, value in vars(deferred_methods.cygrpc).items() if each != name}
    monkeypatch.setattr(deferred_methods, "cygrpc", types.SimpleNamespace(**names))
    monkeypatch.setattr(later_methods, "_PROBE_SECONDS", 1.0)
    assert chosen() is ThreadedMethods
    assert "threads are used" in caplog.text


def test_threads_are_chosen_where_there_is_no_such_module(anew, monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "keras_stackrnn.serving.deferred_methods", None)
    assert chosen() is ThreadedMethods
    assert "threads are used" in caplog.text
