"""Has many runs done: what is finished is not repeated, what was stopped goes on."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from keras_stackrnn.training import run_folder
from keras_stackrnn.training.configs import AnyConfig
from keras_stackrnn.training.files import RunError
from keras_stackrnn.training.interrupts import Interrupts
from keras_stackrnn.training.sweep.job import FAILED, Job
from keras_stackrnn.training.sweep.places import places
from keras_stackrnn.training.sweep.view import View
from keras_stackrnn.training.sweep.work import Work


class Sweep:
    """Runs, and how they go.

    Args:
        configs: A configuration for each, with folders of their own.
        command: The command that goes on with all of it.
        processes: How many run at a time; `None`: one on each core.
        cluster: Where a Ray cluster is that they run on; `None`: on this machine.
        mixed_nodes: Whether its nodes may differ in what results depend on.
        on_finished: Is called after each run that came to its end; optional.
        output: Where a table shows what runs where; standard output if not given.
    """

    def __init__(
        self,
        configs: Sequence[AnyConfig],
        command: str,
        *,
        processes: int | None = None,
        cluster: str | None = None,
        mixed_nodes: bool = False,
        on_finished: Callable[[], object] | None = None,
        output: TextIO | None = None,
    ):
        self.jobs = [Job(config) for config in configs]
        folders = [job.folder for job in self.jobs]
        for folder in folders:
            if folders.count(folder) > 1:
                raise RunError(f"Two runs of a sweep cannot share a folder, got {folder} twice.")
        self._command = command
        self._places = places(cluster, mixed_nodes, processes)
        self._on_finished = on_finished or (lambda: None)
        self._view = View(output or sys.stdout)

    def run(self) -> list[Job]:
        """Does what is left to do, and returns those that failed."""
        for job in self.jobs:
            if (job.folder / run_folder.CONFIG).exists():
                run_folder.check_same_run(job.config, job.folder)
            if job.is_finished:
                job.end()
        with Interrupts(self._command) as interrupts, self._places as there:
            Work(self.jobs, there, self._view, self._ended).run(interrupts)
        return [job for job in self.jobs if job.state == FAILED]

    def _ended(self, job: Job) -> None:
        if job.state != FAILED:
            self._on_finished()


def folder_of(root: str, task: str, model: str, seed: int) -> str:
    """A run's folder among those of a sweep."""
    return str(Path(root) / f"{task.replace('/', '-')}-{model}-{seed}")
