"""Where jobs go on this machine: a process on each core, which it has for itself."""

import os
import time

from keras_stackrnn.training.sweep.job import Job
from keras_stackrnn.training.trainer_process import TrainerProcess


class Cores:
    """Places for so many jobs at a time.

    Args:
        processes: How many; `None`: as many as this process has cores.
    """

    differences = ()

    def __init__(self, processes: int | None = None):
        self._cores = sorted(os.sched_getaffinity(0))
        count = len(self._cores) if processes is None else processes
        if count < 1:
            raise ValueError(f"A sweep needs 1 or more processes, got {processes}.")
        self._places: list[TrainerProcess | None] = [None] * count

    def start(self, job: Job) -> TrainerProcess | None:
        """Has a job go on, or begin, on a core that is free; `None` if there is none."""
        for place, process in enumerate(self._places):
            if process is None or process.poll() is not None:
                core = self._cores[place % len(self._cores)]
                job.begin(f"core {core}")
                self._places[place] = TrainerProcess(
                    job.config,
                    log="json",
                    on_line=job.listen,
                    core=core,
                    only_search=job.only_search,
                )
                return self._places[place]
        return None

    def wait(self) -> None:
        """Waits a moment."""
        time.sleep(0.1)
