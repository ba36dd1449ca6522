"""Starts the workers of this machine, and all of them again when one is lost."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from keras_stackrnn.training.files import RunError
from keras_stackrnn.training.interrupts import Interrupts
from keras_stackrnn.training.language_config import LanguageModelConfig
from keras_stackrnn.training.workers import place

# How a worker ends that cannot reach another one: what sysexits.h calls a temporary failure.
LOST = 75
_FAILED = 1
# Losses in a row, without a checkpoint between them, after which it is given up.
_PATIENCE = 3
# After one has ended; the others notice within a few.
_SECONDS_TO_END = 20.0


def launch(
    config: LanguageModelConfig,
    checkpoints: Path,
    output: TextIO,
    log: str,
    say: Callable[[str], None],
) -> None:
    """Goes on with the run of a configuration until it is finished.

    A signal has all workers end, saved. If one is lost, all go on from the last checkpoint.

    Args:
        config: With two workers or more; its run was begun.
        checkpoints: The folder of the run's checkpoints.
        output: Where the first worker shows its progress.
        log: How it does.
        say: Is told in words what becomes of workers.
    """
    losses, last = 0, _newest(checkpoints)
    with Interrupts(config.resume_command()) as interrupts:
        while True:
            with contextlib.closing(_Workers(config, output, log)) as workers:
                codes = workers.wait(interrupts)
            interrupts.check()
            if codes[0] == 0:
                return
            if codes[0] == _FAILED:
                raise RunError(workers.last_words)
            before, last = last, _newest(checkpoints)
            losses = losses + 1 if last == before else 1
            if losses == _PATIENCE:
                raise RunError(
                    f"{_loss(codes)}, {losses} times without a checkpoint between them: see to it, "
                    f"and go on with: {config.resume_command()}"
                )
            say(f"{_loss(codes)}: all {config.workers} go on from the last checkpoint.")


class _Workers:
    """The processes. Each reads its configuration from standard input."""

    def __init__(self, config: LanguageModelConfig, output: TextIO, log: str):
        addresses = [f"127.0.0.1:{port}" for port in _free_ports(config.workers)]
        self.last_words = ""
        self._processes: list[subprocess.Popen] = []
        self._relays: list[threading.Thread] = []
        for index in range(config.workers):
            is_first = index == 0
            process = subprocess.Popen(  # noqa: S603 a module of this package, nothing from outside
                [sys.executable, "-m", __package__],
                env={**os.environ, place.VARIABLE: place.for_worker(index, addresses)},
                stdin=subprocess.PIPE,
                stdout=_where(output) if is_first else subprocess.DEVNULL,
                stderr=subprocess.PIPE if is_first else None,
                text=True,
                # A terminal's signals are for this process, which hands them on.
                start_new_session=True,
            )
            self._processes.append(process)
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(json.dumps([config.to_json(), log]) + "\n")
                process.stdin.flush()
        if self._first.stdout is not None:
            self._relay(lambda: _copy(self._first.stdout, output))
        self._relay(self._copy_errors)

    def wait(self, interrupts: Interrupts) -> list[int | None]:
        """The exit codes once one has ended and the others had time to; `None`: it has not."""
        is_told = False
        while not self._has_ended(any):
            if interrupts.pending and not is_told:
                is_told = True
                self._first.send_signal(interrupts.pending)
            time.sleep(0.05)
        end = time.monotonic() + _SECONDS_TO_END
        while not self._has_ended(all) and time.monotonic() < end:
            time.sleep(0.05)
        return [process.poll() for process in self._processes]

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
        for relay in self._relays:
            relay.join()
        for process in self._processes:
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    with contextlib.suppress(BrokenPipeError):
                        pipe.close()

    @property
    def _first(self) -> subprocess.Popen:
        return self._processes[0]

    def _has_ended(self, how) -> bool:
        return how(process.poll() is not None for process in self._processes)

    def _relay(self, copy) -> None:
        self._relays.append(threading.Thread(target=copy, daemon=True))
        self._relays[-1].start()

    def _copy_errors(self) -> None:
        """Hands on the first worker's errors, but for the sentence that it ends with."""
        for line in self._first.stderr:
            sys.stderr.write(self.last_words)
            self.last_words = line
        if self._first.wait() == _FAILED:
            self.last_words = self.last_words.strip() or "The first worker ended without a word."
        else:
            sys.stderr.write(self.last_words)


def _loss(codes: list[int | None]) -> str:
    """What happened, in words."""
    for worker, code in enumerate(codes):
        if code not in (None, 0, LOST):
            why = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
            return f"Worker {worker} was lost ({why})"
        if code is None:
            return f"Worker {worker} does not answer"
    return "The workers have lost each other"


def _where(output: TextIO):
    """A terminal, or whatever standard output is, is the worker's own; others are copied to."""
    return None if output is sys.stdout else subprocess.PIPE


def _copy(source: TextIO, output: TextIO) -> None:
    for line in source:
        output.write(line)


def _newest(checkpoints: Path) -> str:
    return max((path.name for path in checkpoints.glob("*.checkpoint")), default="")


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
