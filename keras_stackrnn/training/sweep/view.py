"""What a person sees of a sweep: on a terminal a table that changes, in a pipe a line a run."""

import shutil
import time
from collections.abc import Callable, Sequence
from typing import Protocol, TextIO

from keras_stackrnn.training.sweep.job import DONE, FAILED, RUNNING, Job
from keras_stackrnn.training.wording import clock

_SECONDS_BETWEEN = 0.5


class Report(Protocol):
    """Whom jobs are shown to."""

    def show(self, jobs: Sequence[Job]) -> None:
        """How all of them stand now."""

    def note(self, job: Job) -> None:
        """A job has ended."""

    def close(self) -> None:
        """There is no more to see."""


class View:
    """Shows what runs where.

    Args:
        output: Where to write.
    """

    def __init__(self, output: TextIO):
        self._output = output
        self._live = output.isatty()
        self._lines = 0
        self._shown_at = 0.0

    def show(self, jobs: Sequence[Job]) -> None:
        """The table as it is now, on a terminal."""
        now = time.monotonic()
        if not self._live or now < self._shown_at + _SECONDS_BETWEEN:
            return
        self._shown_at = now
        size = shutil.get_terminal_size()
        self._replace([line[: size.columns - 1] for line in _table(jobs)][: size.lines - 1])

    def note(self, job: Job) -> None:
        """A run has ended."""
        self._replace([])
        self._output.write(f"{_at_its_end(job)}\n")
        self._output.flush()

    def close(self) -> None:
        """Takes the table away."""
        self._replace([])

    def _replace(self, lines: list[str]) -> None:
        if self._lines:
            self._output.write(f"\x1b[{self._lines}F\x1b[J")
        self._lines = len(lines)
        self._output.write("".join(f"{line}\n" for line in lines))
        self._output.flush()


class Notes:
    """Says of each job how it ended, and nothing else.

    Args:
        say: Is told.
    """

    def __init__(self, say: Callable[[str], None]):
        self._say = say

    def show(self, jobs: Sequence[Job]) -> None:
        pass

    def note(self, job: Job) -> None:
        self._say(_at_its_end(job))

    def close(self) -> None:
        pass


def _at_its_end(job: Job) -> str:
    words = job.words if job.state == FAILED else "finished"
    return f"{job.name}: {words} ({clock(time.monotonic() - job.started)})"


def _table(jobs: Sequence[Job]) -> list[str]:
    done, failed = (sum(job.state == state for job in jobs) for state in (DONE, FAILED))
    running = [job for job in jobs if job.state == RUNNING]
    width = max((len(job.name) for job in running), default=0)
    return [
        f"{done} of {len(jobs)} done" + (f", {failed} failed" if failed else ""),
        *(
            f"  {job.where}  {job.name:<{width}}  "
            f"{clock(time.monotonic() - job.started)}  {job.words}"
            for job in running
        ),
    ]
