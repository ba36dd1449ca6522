"""A run: the search, its checkpoints and its progress, and then the evaluation of the best."""

import contextlib
import dataclasses
import json
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import TextIO

import keras

from keras_stackrnn.export.saved_model import Export
from keras_stackrnn.models import NextSymbolModel
from keras_stackrnn.training import populations, run_folder
from keras_stackrnn.training.checkpoints import Checkpoint, Checkpoints
from keras_stackrnn.training.checks import check_choice
from keras_stackrnn.training.config import TrainingConfig
from keras_stackrnn.training.configs import AnyConfig
from keras_stackrnn.training.files import RunError, clear_partial, locked
from keras_stackrnn.training.interrupts import Interrupts
from keras_stackrnn.training.language_config import LanguageModelConfig
from keras_stackrnn.training.language_task import LanguageTask, text_of
from keras_stackrnn.training.logs import LOGS
from keras_stackrnn.training.metrics import Metrics
from keras_stackrnn.training.populations import Populations
from keras_stackrnn.training.progress import Report
from keras_stackrnn.training.run_task import RunTask
from keras_stackrnn.training.search_task import SearchTask
from keras_stackrnn.training.sweep.places import places
from keras_stackrnn.training.sweep.view import Notes, View
from keras_stackrnn.training.workers import place
from keras_stackrnn.training.workers.launcher import launch

TASKS: dict[type, type[RunTask]] = {
    TrainingConfig: SearchTask,
    LanguageModelConfig: LanguageTask,
}


@dataclasses.dataclass(frozen=True)
class Result:
    """What a run gives: the Keras model, what `evaluation.json` says of it, and where it all is."""

    model: NextSymbolModel
    evaluation: dict
    config: AnyConfig
    output_dir: Path


def train(
    config: AnyConfig,
    *,
    resume: bool = False,
    overwrite: bool = False,
    output: TextIO | None = None,
    log: str = "text",
) -> Result | None:
    """Searches for a model that has learned the task, and evaluates the best.

    Args:
        config: A `TrainingConfig`, or a `LanguageModelConfig`.
        resume: Whether to go on with the run in `config.output_dir`, exactly from its last
            checkpoint.
        overwrite: Whether to replace the run that may be there.
        output: Where progress is shown; standard output if not given.
        log: How it is shown: "text" for people, "json" for machines (an object on each line), or
            "none".

    Returns:
        A `Result`; `None` in a worker of a cluster (TF_CONFIG) that is not the first.

    Example:

    ```python
    result = train(TrainingConfig.from_recipe("anbn", output_dir="/tmp/anbn"))
    result.evaluation["rounded"]["percent_n_correct"]
    ```
    """
    output = output or sys.stdout
    here = place.of_environment() if config.CAN_SHARE else place.ALONE
    if here.index > 0:
        TASKS[type(config)](config, lambda words: None).follow()
        return None
    check_choice("log", log, LOGS)
    folder, progress = Path(config.output_dir), LOGS[log](config.minutes, output)
    with _faults_told(config):
        if config.CAN_SHARE and config.workers > 1 and here.count == 1:
            if resume:
                run_folder.check_same_run(config, folder)
            else:
                _begin_for_workers(config, folder, overwrite)
            launch(config, folder / run_folder.CHECKPOINTS, output, log, progress.say)
            return _result_in(folder, config)
        with contextlib.ExitStack() as stack:
            several, about = None, {}
            if populations.are_asked_for(config):
                # Before there is a folder of a run: a sentence is all that is left of a wrong one.
                there = stack.enter_context(places(config.cluster, config.mixed_nodes))
                view = View(output) if log == "text" else Notes(progress.say)
                several = Populations(config, there, view)
            ours = _under_way(config, progress, resume, overwrite)
            task, interrupts = stack.enter_context(ours)
            if several is None:
                progress.compile()
            else:
                task, about = _search_populations(config, several, progress.say, interrupts)
            run = Run(config, folder, progress, interrupts, task, about)
            with ThreadPoolExecutor(1) as aside:
                # While programs are compiled, there is time for the graphs of what will be served.
                served = Export(task.best_model())
                aside.submit(lambda: served.signatures)
                run.search()
                return run.conclude(served, aside)


def search(
    config: AnyConfig,
    *,
    resume: bool = False,
    output: TextIO | None = None,
    log: str = "text",
) -> None:
    """The search of a run and nothing else: what came of it is left in the run's folder.

    Args:
        config: A `TrainingConfig`.
        resume: Whether to go on with the one in `config.output_dir`.
        output: As of `train`.
        log: As of `train`.
    """
    progress = LOGS[log](config.minutes, output or sys.stdout)
    with (
        _faults_told(config),
        _under_way(config, progress, resume) as (task, interrupts),
    ):
        progress.compile()
        run = Run(config, Path(config.output_dir), progress, interrupts, task)
        run.search()
        run.write_outcome()


@contextlib.contextmanager
def _faults_told(config: AnyConfig) -> Iterator[None]:
    """A folder that cannot be written is one sentence."""
    folder = Path(config.output_dir)
    try:
        yield
    except OSError as error:
        message = f"Cannot write {error.filename or folder}: {error.strerror}"
        if (folder / run_folder.CONFIG).exists():
            message += f"; when that is put right, go on with: {config.resume_command()}"
        raise RunError(message) from error


@contextlib.contextmanager
def _under_way(
    config: AnyConfig, progress: Report, resume: bool, overwrite: bool = False
) -> Iterator[tuple[RunTask, Interrupts]]:
    """While it is entered, the run's folder is there, and this process' own."""
    folder = Path(config.output_dir)
    if resume:
        run_folder.check_same_run(config, folder)
    with contextlib.ExitStack() as stack:
        task = TASKS[type(config)](config, progress.say)
        stack.callback(task.close)
        if not resume:
            folder.mkdir(parents=True, exist_ok=True)
        stack.enter_context(locked(folder))
        interrupts = stack.enter_context(Interrupts(config.resume_command()))
        if not resume:
            run_folder.begin(config, folder, overwrite)
        yield task, interrupts


def _search_populations(
    config: TrainingConfig,
    several: Populations,
    say: Callable[[str], None],
    interrupts: Interrupts,
) -> tuple[SearchTask, dict]:
    """Has populations search, and the run go on from the end of the one that wins: the task as that
    one has it, and what `evaluation.json` says of them."""
    if config.minutes is not None:
        say("With a limit in minutes, what a population finds depends on how fast its core is.")
    several.search(interrupts)
    say(several.words())
    several.hand_over(Path(config.output_dir))
    winner = populations.of_number(config, several.winner)
    winner = dataclasses.replace(winner, output_dir=config.output_dir)
    return SearchTask(winner, say), several.about()


def _begin_for_workers(config: LanguageModelConfig, folder: Path, overwrite: bool) -> None:
    text_of(config)  # what is wrong with it is said before anything is begun
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        run_folder.begin(config, folder, overwrite)


def _result_in(folder: Path, config: AnyConfig) -> Result:
    """The result of a run that other processes have finished."""
    evaluation = json.loads((folder / run_folder.EVALUATION).read_text())
    model = keras.models.load_model(folder / run_folder.MODEL)
    return Result(model, evaluation, config, folder)


class Run:
    """One run under way; `about` is what `evaluation.json` says besides."""

    def __init__(self, config, folder, progress, interrupts, task, about=None):
        self._about = about or {}
        self._config = config
        self._folder = folder
        self._progress = progress
        self._interrupts = interrupts
        self._task = task
        self._checkpoints = Checkpoints(folder / run_folder.CHECKPOINTS)
        checkpoint = self._checkpoints.load()
        run_folder.check_checkpoint(config, checkpoint)
        self._search = task.search()
        try:
            if checkpoint.meta["search"] is not None:
                self._search.restore(checkpoint.arrays, checkpoint.meta["search"])
            self._seconds_before = float(checkpoint.meta["seconds"])
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            why = f"{type(error).__name__}: {error}".partition("\n")[0]
            raise RunError(
                f"The checkpoint in {self._checkpoints.folder} is not one of this run ({why}): "
                "start the run anew with --overwrite."
            ) from error
        self._started = time.monotonic()
        self._saved_at = self._seconds()
        # Earlier versions kept no rows.
        self._metrics = Metrics(folder, self._search.status(), checkpoint.meta.get("metrics"))

    def search(self) -> None:
        """Advances the search until it is done or its time is up."""
        status, metrics = self._search.status(), self._metrics
        self._progress.begin(status, self._seconds(), self._search.planned_updates)
        with contextlib.closing(metrics):
            while not (self._search.done or self._time_is_up()):
                self._search.advance()
                status = self._search.status()
                metrics.add(status, self._seconds())
                picture = self._task.picture()
                if picture is not None:
                    metrics.add_trace(picture, status.updates)
                self._progress.show(status, self._seconds())
                if self._seconds() >= self._saved_at + self._config.checkpoint_seconds:
                    self._save()
                if self._interrupts.pending:
                    break
        self._save()
        self._interrupts.check()

    def write_outcome(self) -> None:
        """Leaves what came of a search that is all that was asked for."""
        status = self._search.status()
        outcome = {
            "solved": status.solved > 0,
            # JSON knows no infinity.
            "rank": [max(float(each), -sys.float_info.max) for each in self._search.rank()],
            "updates": status.updates,
            "seconds": self._seconds(),
            "done": self._search.done,
        }
        run_folder.write_outcome(self._folder, outcome)

    def conclude(self, served: Export, aside: Executor) -> Result:
        """Saves the best model, and evaluates it while it is written for a server. Only from here
        on the test is read."""
        config, folder, task = self._config, self._folder, self._task
        model = task.best_model()
        run_folder.save_model(folder, model)
        self._progress.say(task.evaluating)
        served.set_weights(model.get_weights())
        serving = folder / run_folder.SERVING / run_folder.served_name(config.task)
        written = aside.submit(served.write, serving)
        found = task.evaluate(model, self._interrupts.check)
        evaluation = {
            "task": config.task,
            "model": config.model,
            "seed": config.seed,
            "wall_seconds": round(self._seconds(), 1),
            "symbols": self._search.status().symbols,
            "parameters": model.count_params(),
            **found,
            **self._about,
        }
        run_folder.write_evaluation(folder, evaluation)
        task.draw(folder, model, evaluation)
        written.result()
        clear_partial(folder, run_folder.OF_A_RUN)
        self._progress.conclude(task.closing_words(evaluation), evaluation)
        return Result(model, evaluation, config, folder)

    def _save(self) -> None:
        arrays, meta = self._search.state()
        rows = self._metrics.rows
        about = {"seconds": self._seconds(), "metrics": rows, "config": self._config.to_json()}
        self._checkpoints.save(Checkpoint(arrays, {**about, "search": meta}))
        self._saved_at = self._seconds()

    def _seconds(self) -> float:
        return self._seconds_before + time.monotonic() - self._started

    def _time_is_up(self) -> bool:
        if self._config.minutes is None or self._search.status().updates == 0:
            return False
        return self._seconds() >= 60 * self._config.minutes
