"""Has many runs done: what is finished is not repeated, what was stopped goes on."""

import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from keras_stackrnn.training import run_folder
from keras_stackrnn.training.configs import AnyConfig
from keras_stackrnn.training.files import RunError
from keras_stackrnn.training.interrupts import Interrupts
from keras_stackrnn.training.sweep.cores import Cores
from keras_stackrnn.training.sweep.job import FAILED, WAITING, Job
from keras_stackrnn.training.sweep.view import View
from keras_stackrnn.training.trainer_process import FAILED as FAILED_CODE


class Sweep:
    """Runs, and how they go.

    Args:
        configs: A configuration for each, with folders of their own.
        command: The command that goes on with all of it.
        processes: How many run at a time; `None`: one on each core.
        on_finished: Is called after each run that came to its end; optional.
        output: Where a table shows what runs where; standard output if not given.
    """

    def __init__(
        self,
        configs: Sequence[AnyConfig],
        command: str,
        *,
        processes: int | None = None,
        on_finished: Callable[[], object] | None = None,
        output: TextIO | None = None,
    ):
        self.jobs = [Job(config) for config in configs]
        folders = [job.folder for job in self.jobs]
        for folder in folders:
            if folders.count(folder) > 1:
                raise RunError(f"Two runs of a sweep cannot share a folder, got {folder} twice.")
        self._command = command
        self._places = Cores(processes)
        self._on_finished = on_finished or (lambda: None)
        self._view = View(self.jobs, output or sys.stdout)

    def run(self) -> list[Job]:
        """Does what is left to do, and returns those that failed."""
        for job in self.jobs:
            if (job.folder / run_folder.CONFIG).exists():
                run_folder.check_same_run(job.config, job.folder)
            if job.is_finished:
                job.end()
        with Interrupts(self._command) as interrupts:
            under_way: dict[int, tuple[Job, object]] = {}
            try:
                while self._has_more(under_way, interrupts):
                    self._start(under_way, interrupts)
                    self._view.show()
                    time.sleep(0.1)
                    for place, (job, process) in list(under_way.items()):
                        if process.poll() is not None:
                            del under_way[place]
                            self._end(job, process)
            finally:
                for _, process in under_way.values():
                    process.close()
                self._view.close()
            interrupts.check()
        return [job for job in self.jobs if job.state == FAILED]

    def _has_more(self, under_way, interrupts) -> bool:
        if interrupts.pending:
            for _, process in under_way.values():
                process.stop(interrupts.pending)
            end = time.monotonic() + 60
            while any(p.poll() is None for _, p in under_way.values()) and time.monotonic() < end:
                time.sleep(0.05)
            return False
        return bool(under_way) or any(job.state == WAITING for job in self.jobs)

    def _start(self, under_way, interrupts) -> None:
        for place in self._places:
            job = next((job for job in self.jobs if job.state == WAITING), None)
            if job is not None and place not in under_way and not interrupts.pending:
                job.begin(self._places.name_of(place))
                under_way[place] = job, self._places.start(place, job)

    def _end(self, job: Job, process) -> None:
        process.close()
        code = process.poll()
        if code == 0:
            job.end()
            self._on_finished()
        elif code == FAILED_CODE:
            job.end(process.last_words)
        else:
            how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
            job.end(f"It was ended by {how}; the same command goes on with it.")
        self._view.note(job)


def folder_of(root: str, task: str, model: str, seed: int) -> str:
    """A run's folder among those of a sweep."""
    return str(Path(root) / f"{task.replace('/', '-')}-{model}-{seed}")
