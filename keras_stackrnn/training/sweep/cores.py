"""Where runs of a sweep go on this machine: a process on each core, which it has for itself."""

import os
from collections.abc import Iterator

from keras_stackrnn.training.sweep.job import Job
from keras_stackrnn.training.trainer_process import TrainerProcess


class Cores:
    """Places for so many runs at a time.

    Args:
        processes: How many; `None`: as many as this process has cores.
    """

    def __init__(self, processes: int | None = None):
        self._cores = sorted(os.sched_getaffinity(0))
        self._count = len(self._cores) if processes is None else processes
        if self._count < 1:
            raise ValueError(f"A sweep needs 1 or more processes, got {processes}.")

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._count))

    def name_of(self, place: int) -> str:
        """What people call it."""
        return f"core {self._core_of(place)}"

    def start(self, place: int, job: Job) -> TrainerProcess:
        """Has a run go on, or begin, there."""
        core = self._core_of(place)
        return TrainerProcess(job.config, log="json", on_line=job.listen, core=core)

    def _core_of(self, place: int) -> int:
        return self._cores[place % len(self._cores)]
