"""A run: the search, its checkpoints and its progress, and then the evaluation of the best."""

import contextlib
import dataclasses
import shutil
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TextIO

from keras_stackrnn import patterns
from keras_stackrnn.evaluation import Accuracy, evaluate
from keras_stackrnn.export import export
from keras_stackrnn.models import NextSymbolModel, has_memory
from keras_stackrnn.training import report
from keras_stackrnn.training.baselines import BaselineSearch
from keras_stackrnn.training.checkpoints import Checkpoint, Checkpoints
from keras_stackrnn.training.config import TrainingConfig
from keras_stackrnn.training.data import TrainingData
from keras_stackrnn.training.files import RunError, locked
from keras_stackrnn.training.language_config import LanguageModelConfig
from keras_stackrnn.training.language_run import LanguageTask
from keras_stackrnn.training.progress import Progress
from keras_stackrnn.training.search import Search

CHECKPOINTS = "checkpoints"

LARGEST_TEST_N = 60
_FAR_N = (200, 1000)
_LONGEST_SEQUENCE = 8192
_TRACED_N = 6


class InterruptedRunError(RunError):
    """A signal has ended the run, which is saved and can be resumed."""

    def __init__(self, message: str, signal_number: int):
        super().__init__(message)
        self.signal_number = signal_number


@dataclasses.dataclass(frozen=True)
class Result:
    """What a run gives: the Keras model, what `evaluation.json` says of it, and where it all is."""

    model: NextSymbolModel
    evaluation: dict
    config: TrainingConfig | LanguageModelConfig
    output_dir: Path


def train(
    config: TrainingConfig | LanguageModelConfig,
    *,
    resume: bool = False,
    overwrite: bool = False,
    output: TextIO | None = None,
) -> Result:
    """Searches for a model that has learned the task, and evaluates the best.

    Args:
        config: A `TrainingConfig`, or a `LanguageModelConfig`.
        resume: Whether to go on with the run in `config.output_dir`, exactly from its last
            checkpoint.
        overwrite: Whether to replace the run that may be there.
        output: Where progress is shown; standard output if not given.

    Returns:
        A `Result`.

    Example:

    ```python
    result = train(TrainingConfig.from_recipe("anbn", output_dir="/tmp/anbn"))
    result.evaluation["rounded"]["percent_n_correct"]
    ```
    """
    folder = Path(config.output_dir)
    progress = Progress(config, output or sys.stdout)
    try:
        if resume:
            _check_same_run(config, report.read_config(folder))
            language = _language_of(config)
        else:
            language = _language_of(config)
            folder.mkdir(parents=True, exist_ok=True)
        with locked(folder), _Interrupts(config) as interrupts:
            if not resume:
                _begin_folder(config, folder, overwrite)
            run = _Run(config, folder, progress, interrupts, language)
            run.search()
            return run.conclude()
    except OSError as error:
        message = f"Cannot write {error.filename or folder}: {error.strerror}"
        if (folder / report.CONFIG).exists():
            message += f"; when that is put right, go on with: {config.resume_command()}"
        raise RunError(message) from error


def _language_of(config: TrainingConfig | LanguageModelConfig) -> LanguageTask | None:
    return LanguageTask(config) if isinstance(config, LanguageModelConfig) else None


def _begin_folder(
    config: TrainingConfig | LanguageModelConfig, folder: Path, overwrite: bool
) -> None:
    names = (report.CONFIG, report.METRICS, report.EVENTS, report.MODEL, report.EVALUATION)
    pictures = (report.PLOT, report.TRACE, report.CURVE)
    there = [folder / name for name in (*names, *pictures, CHECKPOINTS)]
    there = [path for path in there if path.exists()]
    if there and not overwrite:
        raise RunError(
            f"{folder} already holds a run: add --resume to go on with it, --overwrite to replace "
            "it, or choose another --output_dir."
        )
    for path in there:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    # The checkpoint comes first: where there is a configuration, there is something to resume.
    try:
        Checkpoints(folder / CHECKPOINTS).save(Checkpoint({}, {"seconds": 0.0, "search": None}))
        report.write_config(folder, config)
    except OSError:
        shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
        raise


def _check_same_run(config, saved) -> None:
    for name, value in saved.to_json().items():
        if name not in config.FREE_ON_RESUME and getattr(config, name) != value:
            raise RunError(
                f"The run in {config.output_dir} has {name}={value!r} and cannot go on with "
                f"{getattr(config, name)!r}: give it the same, or choose another --output_dir."
            )


class _Run:
    """One run under way."""

    def __init__(self, config, folder, progress, interrupts, language):
        self._config = config
        self._folder = folder
        self._progress = progress
        self._interrupts = interrupts
        self._checkpoints = Checkpoints(folder / CHECKPOINTS)
        checkpoint = self._checkpoints.load()
        self._language = language
        if language is not None:
            self._search = language.search()
        elif has_memory(config.model):
            self._search = Search(config, TrainingData.of(config), progress.say)
        else:
            self._search = BaselineSearch(config, TrainingData.of(config))
        if checkpoint.meta["search"] is not None:
            self._search.restore(checkpoint.arrays, checkpoint.meta["search"])
        self._seconds_before = checkpoint.meta["seconds"]
        self._started = time.monotonic()
        self._saved_at = self._seconds()
        self._traced, self._picture = None, b""

    def search(self) -> None:
        """Advances the search until it is done or its time is up."""
        status = self._search.status()
        metrics = report.Metrics(self._folder, status.updates, type(status))
        planned = self._language and self._search.planned_updates
        self._progress.begin(status, self._seconds(), planned)
        with contextlib.closing(metrics):
            while not (self._search.done or self._time_is_up()):
                self._search.advance()
                status = self._search.status()
                metrics.add(status, self._seconds())
                self._add_trace(metrics, status)
                self._progress.show(status, self._seconds())
                if self._seconds() >= self._saved_at + self._config.checkpoint_seconds:
                    self._save()
                if self._interrupts.pending:
                    break
        self._save()
        self._interrupts.check()

    def _add_trace(self, metrics: report.Metrics, status) -> None:
        """Shows the best so far at work; it is drawn anew when it is another one than before."""
        if not has_memory(self._config.model) or self._language is not None:
            return
        figures = status.soft_accuracy, status.rounded_accuracy, status.best_entropy
        if figures != self._traced:
            self._traced = figures
            self._picture = report.traced(self._search.best_model(), self._example())
        metrics.add_trace(self._picture, status.updates)

    def _example(self) -> str:
        """A validation sequence that is short enough for a picture."""
        pattern = patterns.get(self._config.task)
        return pattern.sample(max(_TRACED_N, pattern.smallest_n), "validation", 0).text

    def conclude(self) -> Result:
        """Saves the best model and evaluates it. Only from here on test sequences are read."""
        config, folder = self._config, self._folder
        if self._language is not None:
            finished = self._language.conclude(folder, self._seconds(), self._progress.say)
            return Result(*finished, config, folder)
        model = self._search.best_model().twin(rounding=config.rounding)
        report.save_model(folder, model)
        self._progress.say(f"Evaluating the best on n up to {LARGEST_TEST_N}.")
        soft, rounded, beyond = self._evaluate(model)
        evaluation = {
            "task": config.task,
            "model": config.model,
            "seed": config.seed,
            "wall_seconds": round(self._seconds(), 1),
            "symbols": self._search.status().symbols,
            "parameters": model.count_params(),
            "soft": _figures(soft),
            "rounded": rounded and {**_figures(rounded), "beyond": beyond and beyond.per_n},
            "restarts": self._search.restarts(),
        }
        report.write_evaluation(folder, evaluation)
        report.draw_accuracy(folder, config, soft, rounded)
        if has_memory(config.model):
            report.draw_trace(folder, model, self._example())
        export(model, folder / report.SERVING / config.task)
        self._progress.say(report.closing_words(config, evaluation))
        return Result(model, evaluation, config, folder)

    def _evaluate(self, model) -> tuple[Accuracy, Accuracy | None, Accuracy | None]:
        """Soft, rounded, and rounded on sequences that are longer by far."""
        pattern = patterns.get(self._config.task)
        n_values = range(pattern.smallest_n, LARGEST_TEST_N + 1)
        soft = evaluate(model, pattern, n_values)
        self._interrupts.check()
        if not has_memory(self._config.model):
            return soft, None, None
        rounded = evaluate(model, pattern, n_values, rounding=True)
        self._interrupts.check()
        far = [n for n in _FAR_N if len(pattern.sample(n, "test", 0).text) <= _LONGEST_SEQUENCE]
        beyond = evaluate(model, pattern, far, rounding=True) if far else None
        self._interrupts.check()
        return soft, rounded, beyond

    def _save(self) -> None:
        arrays, meta = self._search.state()
        self._checkpoints.save(Checkpoint(arrays, {"seconds": self._seconds(), "search": meta}))
        self._saved_at = self._seconds()

    def _seconds(self) -> float:
        return self._seconds_before + time.monotonic() - self._started

    def _time_is_up(self) -> bool:
        if self._config.minutes is None or self._search.status().updates == 0:
            return False
        return self._seconds() >= 60 * self._config.minutes


def _figures(accuracy: Accuracy) -> dict:
    return {"per_n": accuracy.per_n, "percent_n_correct": accuracy.percent_n_correct}


class _Interrupts:
    """While it is entered, the first SIGINT or SIGTERM is noted; a second one acts at once."""

    def __init__(self, config: TrainingConfig | LanguageModelConfig):
        self._config = config
        self._handlers = {}
        self.pending: int | None = None

    def __enter__(self):
        # Python hands signals to the main thread alone.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._handlers[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, kind, *_):
        self._restore()
        if self.pending and kind is None:
            # It came too late to stop this run, not to stop what would follow.
            signal.raise_signal(self.pending)

    def check(self) -> None:
        """Raises if there was a signal."""
        if self.pending:
            raise InterruptedRunError(
                f"Stopped; everything is saved, go on with: {self._config.resume_command()}",
                self.pending,
            )

    def _note(self, number, _):
        self.pending = number
        self._restore()

    def _restore(self):
        while self._handlers:
            signal.signal(*self._handlers.popitem())
