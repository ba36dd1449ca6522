"""Functions that run in processes of their own, forked from one that has imported TensorFlow.

The import takes seconds, and a process that has imported TensorFlow can still be forked: its
threads begin with the first operation. So the parent of all must never run one.
"""

import ctypes
import os
import pickle
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


class DiedError(Exception):
    """The process ended without an answer."""


def fork(function: Callable[[], int], log: Path | None = None) -> int:
    """Begins a process that ends with what `function` returns; returns its id.

    Args:
        function: called in the new process, which ends when its parent does.
        log: where its output is added, if not to that of the parent.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process:
        return process
    code = 70
    try:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if log is not None:
            output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.close(output)
        code = function()
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    except SystemExit as error:
        print(error, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def end(process: int) -> None:
    """Kills a process, and waits until it is gone."""
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


class Answer:
    """What a function returns in a process of its own, once it does.

    Args:
        function: called there.
        log: where its output is added, if not to that of the parent.
    """

    def __init__(self, function: Callable[[], Any], log: Path | None = None):
        self._log = log
        self._data = bytearray()
        self._reading, writing = os.pipe()

        def send() -> int:
            os.close(self._reading)
            answer = pickle.dumps(function())
            with open(writing, "wb") as pipe:
                pipe.write(answer)
            return 0

        self._process = fork(send, log)
        os.close(writing)

    def is_over(self, seconds: float) -> bool:
        """Waits so long, at most, until the process has answered or ended."""
        due = time.monotonic() + seconds
        while select.select([self._reading], [], [], max(0.0, due - time.monotonic()))[0]:
            chunk = os.read(self._reading, 1 << 16)
            if not chunk:
                return True
            self._data += chunk
        return False

    def kill(self) -> None:
        os.close(self._reading)
        end(self._process)

    def result(self) -> Any:
        """The answer of a process that is over; DiedError if it has ended without."""
        os.close(self._reading)
        code = os.waitstatus_to_exitcode(os.waitpid(self._process, 0)[1])
        if code:
            has_log = self._log is not None and self._log.exists()
            said = self._log.read_text(errors="replace")[-2000:] if has_log else ""
            raise DiedError(f"a process ended with {code} {said}".strip())
        return pickle.loads(bytes(self._data))  # noqa: S301, it comes from a fork of this process


def answer_of(function: Callable[[], Any], seconds: float, log: Path | None = None) -> Any:
    """What `function` returns in a process of its own; DiedError says how that ended without."""
    answer = Answer(function, log)
    if not answer.is_over(seconds):
        answer.kill()
        raise DiedError(f"a process did not end within {seconds:g} s")
    return answer.result()
