"""Coroutines without an event loop: who runs them, what comes of them, and who is cancelled."""

import concurrent.futures
import threading

import pytest

from keras_stackrnn.serving.answers import Answer, ended


async def twice(*futures):
    return [2 * await ended(future) for future in futures]


def test_what_is_there_already_is_not_waited_for():
    future = concurrent.futures.Future()
    future.set_result(3)
    assert Answer(twice(future, future)).result(timeout=0) == [6, 6]


def test_it_goes_on_where_what_it_waits_for_ends():
    threads = []

    async def noted(future):
        threads.append(threading.current_thread())
        await ended(future)
        threads.append(threading.current_thread())

    future = concurrent.futures.Future()
    answer = Answer(noted(future))
    assert threads == [threading.current_thread()]
    other = threading.Thread(target=future.set_result, args=[None])
    other.start()
    answer.result(timeout=30)
    assert threads[1] is other
    other.join()


def test_it_raises_what_the_coroutine_raises():
    future = concurrent.futures.Future()
    answer = Answer(twice(future))
    future.set_exception(ValueError("of the future"))
    with pytest.raises(ValueError, match="of the future"):
        answer.result(timeout=0)


def test_cancelling_it_cancels_what_it_waits_for():
    first, second = concurrent.futures.Future(), concurrent.futures.Future()
    answer = Answer(twice(first, second))
    first.set_result(1)
    assert answer.cancel()
    assert second.cancelled()
    with pytest.raises(concurrent.futures.CancelledError):
        answer.result(timeout=0)
    assert not answer.cancel()


def test_what_is_under_way_is_not_cancelled():
    future = concurrent.futures.Future()
    answer = Answer(twice(future))
    future.set_running_or_notify_cancel()
    assert not answer.cancel()
    future.set_result(1)
    assert answer.result(timeout=0) == [2]
