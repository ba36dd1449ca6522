"""Has jobs done wherever there is a place for them, until all have ended or a signal comes."""

import signal
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from keras_stackrnn.training.interrupts import Interrupts
from keras_stackrnn.training.sweep.job import DROPPED, WAITING, Job
from keras_stackrnn.training.sweep.view import Report
from keras_stackrnn.training.trainer_process import FAILED

_SECONDS_TO_SAVE = 60.0


class Process(Protocol):
    """A job under way."""

    last_words: str

    def poll(self) -> int | None:
        """Its exit code; `None` as long as it runs."""

    def stop(self, number: int) -> None:
        """Has it save its run and end."""

    def close(self) -> None:
        """Ends it at once, if it has not ended."""


class Places(Protocol):
    """Where jobs can go; `differences` says of its nodes what may make results differ."""

    differences: Sequence[str]

    def start(self, job: Job) -> Process | None:
        """Has a job go on, or begin; `None` if there is no place for it now."""

    def wait(self) -> None:
        """Waits a moment, or until something has happened."""


class Work:
    """Jobs, and how they go.

    Args:
        jobs: What is to be done, in this order; those that do not wait are left alone.
        places: Where.
        view: Shows how it goes.
        on_ended: Is called after each job that has ended, well or not.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        places: Places,
        view: Report,
        on_ended: Callable[[Job], object],
    ):
        self._jobs = jobs
        self._places = places
        self._view = view
        self._on_ended = on_ended
        self._under_way: list[tuple[Job, Process]] = []

    def run(self, interrupts: Interrupts) -> None:
        """Does it all; a signal has what is under way saved first."""
        try:
            self._start()
            while self._under_way and not interrupts.pending:
                self._view.show(self._jobs)
                self._places.wait()
                for job, process in list(self._under_way):
                    if (job, process) in self._under_way and process.poll() is not None:
                        self._end(job, process)
                if not interrupts.pending:
                    self._start()
            if interrupts.pending:
                self._stop(interrupts.pending)
        finally:
            for _, process in self._under_way:
                process.close()
            self._view.close()
        interrupts.check()

    def end_dropped(self) -> None:
        """Ends those that nobody needs any more."""
        for job, process in list(self._under_way):
            if job.state == DROPPED:
                self._under_way.remove((job, process))
                process.close()

    def _start(self) -> None:
        under_way = [job for job, _ in self._under_way]
        for job in self._jobs:
            if job.state != WAITING or job in under_way:
                continue
            process = self._places.start(job)
            if process is None:
                return
            self._under_way.append((job, process))

    def _end(self, job: Job, process: Process) -> None:
        self._under_way.remove((job, process))
        process.close()
        job.end(_failure(process))
        self._view.note(job)
        self._on_ended(job)

    def _stop(self, number: int) -> None:
        for _, process in self._under_way:
            process.stop(number)
        end = time.monotonic() + _SECONDS_TO_SAVE
        while any(p.poll() is None for _, p in self._under_way) and time.monotonic() < end:
            self._places.wait()


def _failure(process: Process) -> str | None:
    """The sentence that a process failed with; `None` of one that did not."""
    code = process.poll()
    if code == 0:
        return None
    if code == FAILED:
        return process.last_words
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    return f"It was ended by {how}; the same command goes on with it."
