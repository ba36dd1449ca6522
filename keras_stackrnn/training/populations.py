"""Several populations of restarts for one task, numbered from 0: the first that solves it wins.

Each is the search of a seed that follows from the run's and its own number, and population 0 is the
search that there would be without others. So none depends on what becomes of another, or on where
and when it runs. The lowest-numbered one that solves the task wins: who that is, is known once all
before it have ended. Those after it are not needed any more.
"""

import dataclasses
import hashlib
import shutil
from pathlib import Path

from keras_stackrnn.training import run_folder
from keras_stackrnn.training.checkpoints import Checkpoint, Checkpoints
from keras_stackrnn.training.config import TrainingConfig
from keras_stackrnn.training.configs import AnyConfig
from keras_stackrnn.training.files import RunError, write_aside
from keras_stackrnn.training.interrupts import Interrupts
from keras_stackrnn.training.sweep.job import FAILED, Job
from keras_stackrnn.training.sweep.view import Report
from keras_stackrnn.training.sweep.work import Places, Work


def are_asked_for(config: AnyConfig) -> bool:
    """Whether a run's search is not just that of its own process."""
    if not isinstance(config, TrainingConfig):
        return False
    return config.populations > 1 or config.cluster is not None


def seed_of(seed: int, number: int) -> int:
    """The seed of the population with this number in a run with that seed."""
    if number == 0:
        return seed
    digest = hashlib.sha256(f"population {number} of {seed}".encode()).digest()
    return int.from_bytes(digest[:4], "big") % 2**31


def of_number(config: TrainingConfig, number: int) -> TrainingConfig:
    """The run that one population is: alone, it is repeated by this."""
    return dataclasses.replace(
        config,
        seed=seed_of(config.seed, number),
        populations=1,
        cluster=None,
        output_dir=str(Path(config.output_dir) / run_folder.POPULATIONS / str(number)),
    )


class Populations:
    """The populations of a run, and the search of them all.

    Args:
        config: The run's configuration.
        there: Where they search.
        view: Shows how it goes.
    """

    def __init__(self, config: TrainingConfig, there: Places, view: Report):
        self._config = config
        self._jobs = [
            Job(of_number(config, number), only_search=True, name=f"population {number}")
            for number in range(config.populations)
        ]
        self._differences = there.differences
        self._work = Work(self._jobs, there, view, self._ended)

    def search(self, interrupts: Interrupts) -> None:
        """Has them search until it is known which of them wins; a signal has them saved."""
        for job in self._jobs:
            if job.is_finished:
                job.end()
        self._drop_losers()
        self._work.run(interrupts)

    @property
    def winner(self) -> int:
        """The number of the one that counts: the first to solve the task or, if none does, the
        best on validation."""
        outcomes = self._outcomes()
        for number, outcome in outcomes.items():
            if outcome["solved"]:
                return number
        return max(outcomes, key=lambda number: outcomes[number]["rank"])

    def words(self) -> str:
        """Which of them it is."""
        of_all = f"population {self.winner} of {len(self._jobs)}"
        if self._outcomes()[self.winner]["solved"]:
            return f"The first to solve it is {of_all}."
        return f"None has solved it; the best is {of_all}."

    def about(self) -> dict:
        """What `evaluation.json` says of those that had to end for the winner to be known, and of
        nodes that were not alike."""
        outcomes = self._outcomes()
        last = self.winner if outcomes[self.winner]["solved"] else max(outcomes)
        ended = [
            {
                "number": number,
                "seed": self._jobs[number].config.seed,
                "solved": outcome["solved"],
                "updates": outcome["updates"],
            }
            for number, outcome in outcomes.items()
            if number <= last
        ]
        mixed = {"mixed_nodes": list(self._differences)} if self._differences else {}
        return {"populations": ended, **mixed}

    def hand_over(self, folder: Path) -> None:
        """Makes the winner's search the one in the folder of the run."""
        theirs = self._jobs[self.winner].folder
        last = Checkpoints(theirs / run_folder.CHECKPOINTS).load()
        meta = {**last.meta, "config": self._config.to_json()}
        Checkpoints(folder / run_folder.CHECKPOINTS).save(Checkpoint(last.arrays, meta))
        write_aside(
            folder / run_folder.METRICS,
            lambda aside: shutil.copyfile(theirs / run_folder.METRICS, aside),
        )
        shutil.rmtree(folder / run_folder.EVENTS, ignore_errors=True)
        shutil.copytree(theirs / run_folder.EVENTS, folder / run_folder.EVENTS)

    def _outcomes(self) -> dict[int, dict]:
        """Those of the populations that have ended, by number."""
        found = {i: run_folder.read_outcome(job.config) for i, job in enumerate(self._jobs)}
        return {i: outcome for i, outcome in found.items() if outcome is not None}

    def _ended(self, job: Job) -> None:
        if job.state == FAILED:
            raise RunError(f"{job.name[0].upper()}{job.name[1:]} failed: {job.words}")
        self._drop_losers()

    def _drop_losers(self) -> None:
        outcomes = self._outcomes()
        solved = [number for number, outcome in outcomes.items() if outcome["solved"]]
        for job in self._jobs[min(solved) + 1 :] if solved else []:
            job.drop()
        self._work.end_dropped()
