"""Starts the workers of this machine, and all of them again when one is lost."""

import contextlib
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from keras_stackrnn.training.files import RunError
from keras_stackrnn.training.interrupts import Interrupts
from keras_stackrnn.training.language_config import LanguageModelConfig
from keras_stackrnn.training.trainer_process import FAILED, LOST, TrainerProcess
from keras_stackrnn.training.workers import place

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
            workers = _start(config, output, log)
            try:
                codes = _wait(workers, interrupts)
            finally:
                for worker in workers:
                    worker.close()
            interrupts.check()
            if codes[0] == 0:
                return
            if codes[0] == FAILED:
                raise RunError(workers[0].last_words)
            before, last = last, _newest(checkpoints)
            losses = losses + 1 if last == before else 1
            if losses == _PATIENCE:
                raise RunError(
                    f"{_loss(codes)}, {losses} times without a checkpoint between them: see to it, "
                    f"and go on with: {config.resume_command()}"
                )
            say(f"{_loss(codes)}: all {config.workers} go on from the last checkpoint.")


def _start(config: LanguageModelConfig, output: TextIO, log: str) -> list[TrainerProcess]:
    addresses = [f"127.0.0.1:{port}" for port in _free_ports(config.workers)]

    def worker(index: int) -> TrainerProcess:
        # A terminal, or whatever standard output is, is the first worker's own.
        on_line = None if output is sys.stdout else output.write
        return TrainerProcess(
            config,
            log=log if index == 0 else "none",
            on_line=on_line,
            environment={place.VARIABLE: place.for_worker(index, addresses)},
        )

    return [worker(index) for index in range(config.workers)]


def _wait(workers: list[TrainerProcess], interrupts: Interrupts) -> list[int | None]:
    """The exit codes once one has ended and the others had time to; `None`: it has not."""

    def have_ended(how) -> bool:
        return how(worker.poll() is not None for worker in workers)

    is_told = False
    while not have_ended(any):
        if interrupts.pending and not is_told:
            is_told = True
            workers[0].stop(interrupts.pending)
        time.sleep(0.05)
    end = time.monotonic() + _SECONDS_TO_END
    while not have_ended(all) and time.monotonic() < end:
        time.sleep(0.05)
    return [worker.poll() for worker in workers]


def _loss(codes: list[int | None]) -> str:
    """What happened, in words."""
    for worker, code in enumerate(codes):
        if code not in (None, 0, LOST):
            why = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
            return f"Worker {worker} was lost ({why})"
    if None in codes:
        return f"Worker {codes.index(None)} does not answer"
    return "The workers have lost each other"


def _newest(checkpoints: Path) -> str:
    return max((path.name for path in checkpoints.glob("*.checkpoint")), default="")


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
