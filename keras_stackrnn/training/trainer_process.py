"""A training in a process of its own: how it is started, stopped and listened to."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping

from keras_stackrnn.training.configs import AnyConfig

# How it ends that cannot reach another worker: what sysexits.h calls a temporary failure.
LOST = 75
# How it ends that has a sentence to say.
FAILED = 1


class TrainerProcess:
    """Goes on with a run, or begins it, and ends with it.

    Args:
        config: The run's configuration.
        log: How it tells how it goes, the name of one of `logs.LOGS`.
        on_line: Is handed each line of it; `None`: it goes to standard output.
        environment: Variables that it has besides those of this process.
        core: The number of the one core that it may use; `None`: all.
        only_search: Whether it ends with the search, before the test.
    """

    def __init__(
        self,
        config: AnyConfig,
        *,
        log: str = "text",
        on_line: Callable[[str], object] | None = None,
        environment: Mapping[str, str] | None = None,
        core: int | None = None,
        only_search: bool = False,
    ):
        self._last_words = ""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "keras_stackrnn.training.as_told"],
            env={**os.environ, **(environment or {})},
            stdin=subprocess.PIPE,
            stdout=None if on_line is None else subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A terminal's signals are for this process, which hands them on.
            start_new_session=True,
        )
        if core is not None:
            # Before it is told what to do, so that it starts no more threads than it can use.
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(self._process.pid, {core})
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps([config.to_json(), log, only_search]) + "\n")
            self._process.stdin.flush()
        self._relays = [threading.Thread(target=self._hand_on_errors, daemon=True)]
        if on_line is not None:
            self._relays.append(
                threading.Thread(target=_hand_on, args=(self._process.stdout, on_line), daemon=True)
            )
        for relay in self._relays:
            relay.start()

    def poll(self) -> int | None:
        """Its exit code; `None` as long as it runs."""
        return self._process.poll()

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Has it save its run and end."""
        self._process.send_signal(number)

    def close(self) -> None:
        """Ends it at once, if it has not ended, and waits for its last words."""
        self._process.kill()
        self._process.wait()
        for relay in self._relays:
            relay.join()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    @property
    def last_words(self) -> str:
        """The sentence it failed with, once it is closed."""
        return self._last_words.strip() or "It ended without a word."

    def _hand_on_errors(self) -> None:
        """Writes what it writes, but for the sentence that it ends with."""
        for line in self._process.stderr:
            sys.stderr.write(self._last_words)
            self._last_words = line
        if self._process.wait() != FAILED:
            sys.stderr.write(self._last_words)


def _hand_on(source, on_line) -> None:
    for line in source:
        on_line(line)
