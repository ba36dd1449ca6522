"""A run: the search, its checkpoints and its progress, and then the evaluation of the best."""

import contextlib
import dataclasses
import json
import sys
import time
from pathlib import Path
from typing import TextIO

import keras

from keras_stackrnn.export import export
from keras_stackrnn.models import NextSymbolModel
from keras_stackrnn.training import run_folder
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
from keras_stackrnn.training.run_task import RunTask
from keras_stackrnn.training.search_task import SearchTask
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
    folder = Path(config.output_dir)
    check_choice("log", log, LOGS)
    progress = LOGS[log](config.minutes, output)
    try:
        if resume:
            run_folder.check_same_run(config, folder)
        if config.CAN_SHARE and config.workers > 1 and here.count == 1:
            if not resume:
                _begin_for_workers(config, folder, overwrite)
            launch(config, folder / run_folder.CHECKPOINTS, output, log, progress.say)
            return _result_in(folder, config)
        with contextlib.ExitStack() as stack:
            task = TASKS[type(config)](config, progress.say)
            stack.callback(task.close)
            if not resume:
                folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(folder))
            interrupts = stack.enter_context(Interrupts(config.resume_command()))
            if not resume:
                run_folder.begin(config, folder, overwrite)
            progress.compile()
            run = Run(config, folder, progress, interrupts, task)
            run.search()
            return run.conclude()
    except OSError as error:
        message = f"Cannot write {error.filename or folder}: {error.strerror}"
        if (folder / run_folder.CONFIG).exists():
            message += f"; when that is put right, go on with: {config.resume_command()}"
        raise RunError(message) from error


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
    """One run under way."""

    def __init__(self, config, folder, progress, interrupts, task):
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

    def conclude(self) -> Result:
        """Saves the best model and evaluates it. Only from here on the test is read."""
        config, folder, task = self._config, self._folder, self._task
        model = task.best_model()
        run_folder.save_model(folder, model)
        self._progress.say(task.evaluating)
        found = task.evaluate(model, self._interrupts.check)
        evaluation = {
            "task": config.task,
            "model": config.model,
            "seed": config.seed,
            "wall_seconds": round(self._seconds(), 1),
            "symbols": self._search.status().symbols,
            "parameters": model.count_params(),
            **found,
        }
        run_folder.write_evaluation(folder, evaluation)
        task.draw(folder, model, evaluation)
        export(model, folder / run_folder.SERVING / run_folder.served_name(config.task))
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
