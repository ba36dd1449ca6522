"""What a person sees of a sweep: on a terminal a table that changes, in a pipe a line a run."""

import shutil
import time
from typing import TextIO

from keras_stackrnn.training.sweep.job import DONE, FAILED, RUNNING, Job
from keras_stackrnn.training.wording import clock

_SECONDS_BETWEEN = 0.5


class View:
    """Shows what runs where.

    Args:
        jobs: The runs of the sweep, which change.
        output: Where to write.
    """

    def __init__(self, jobs: list[Job], output: TextIO):
        self._jobs = jobs
        self._output = output
        self._live = output.isatty()
        self._lines = 0
        self._shown_at = 0.0

    def show(self) -> None:
        """The table as it is now, on a terminal."""
        now = time.monotonic()
        if not self._live or now < self._shown_at + _SECONDS_BETWEEN:
            return
        self._shown_at = now
        size = shutil.get_terminal_size()
        self._replace([line[: size.columns - 1] for line in self._table()][: size.lines - 1])

    def note(self, job: Job) -> None:
        """A run has ended."""
        self._replace([])
        words = job.words if job.state == FAILED else "finished"
        self._output.write(f"{job.name}: {words} ({clock(time.monotonic() - job.started)})\n")
        self._output.flush()

    def close(self) -> None:
        """Takes the table away."""
        self._replace([])

    def _table(self) -> list[str]:
        done, failed = (sum(job.state == state for job in self._jobs) for state in (DONE, FAILED))
        running = [job for job in self._jobs if job.state == RUNNING]
        width = max((len(job.name) for job in running), default=0)
        return [
            f"{done} of {len(self._jobs)} done" + (f", {failed} failed" if failed else ""),
            *(
                f"  {job.where}  {job.name:<{width}}  "
                f"{clock(time.monotonic() - job.started)}  {job.words}"
                for job in running
            ),
        ]

    def _replace(self, lines: list[str]) -> None:
        if self._lines:
            self._output.write(f"\x1b[{self._lines}F\x1b[J")
        self._lines = len(lines)
        self._output.write("".join(f"{line}\n" for line in lines))
        self._output.flush()
