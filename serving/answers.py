"""Coroutines without an event loop: they go on wherever what they wait for ends."""

import types
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any

from keras_stackrnn.serving.status import without_frames


@types.coroutine
def ended(future: Future):
    """Waits for `future` inside an `Answer`; returns or raises what came of it."""
    yield future
    return future.result()


class Answer(Future):
    """What a coroutine returns or raises.

    It begins at once and on this thread. Whatever it awaits, the thread that ends that goes on with
    it: no other thread, and no event loop, has to be woken first.

    Args:
        coroutine: awaits nothing but `ended`.
    """

    def __init__(self, coroutine: Coroutine[Future, None, Any]):
        super().__init__()
        self._coroutine = coroutine
        self._awaited: Future | None = None
        self._go_on()

    def cancel(self) -> bool:
        """Cancels what is waited for, if that can be; what becomes of it is up to the coroutine."""
        awaited = self._awaited
        return awaited is not None and awaited.cancel()

    def _go_on(self, _: Future | None = None) -> None:
        self._awaited = None
        try:
            awaited = self._coroutine.send(None)
        except StopIteration as end:
            self.set_result(end.value)
        except BaseException as error:
            self.set_exception(without_frames(error))
        else:
            self._awaited = awaited
            awaited.add_done_callback(self._go_on)
