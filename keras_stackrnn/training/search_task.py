"""A run on a task of sequences: its search, the picture of it, and the test at the end."""

import dataclasses
import math
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from keras_stackrnn import tasks
from keras_stackrnn.evaluation import Accuracy, as_tested, evaluate
from keras_stackrnn.models import SequenceModel, has_memory
from keras_stackrnn.stream_evaluation import evaluate_stream
from keras_stackrnn.training import closing_words
from keras_stackrnn.training.beginnings import weights_to_begin_with
from keras_stackrnn.training.config import TrainingConfig
from keras_stackrnn.training.data import TrainingData
from keras_stackrnn.training.files import RunError
from keras_stackrnn.training.run_folder import PLOT, TRACE
from keras_stackrnn.training.search import Search

# A memory that is not rounded takes the longer for each symbol the more it holds.
_LONGEST_SOFT = 4096
# A number moves in a soft memory for each place that it may be at: half a minute has so many.
_MOST_MOVES = 50_000_000_000
# Without a memory, so many products of a weight and a number: a minute.
_MOST_PRODUCTS = 1_000_000_000_000
_LONGEST_FAR = 8192
# With more symbols to read than these, only some of the test's sizes are: all small ones.
_MOST_SYMBOLS = 200_000_000
_SIZES_OF_MANY = 400
_TRACED_SIZE = 6
_SECONDS_BETWEEN_PICTURES = 2.0


class SearchTask:
    """A task to be learned by a search; what of it is asked is said by `RunTask`.

    Args:
        config: A `TrainingConfig`. If it cannot begin with what it says, that is a `RunError`.
        say: Is told in words what takes long.
    """

    def __init__(self, config: TrainingConfig, say: Callable[[str], None]):
        self._config = config
        self._say = say
        self._task = config.learned_task()
        self._has_memory = has_memory(config.model)
        self._drawn, self._drawn_at, self._picture = None, -math.inf, None
        if config.begin_with is not None:
            self._check_beginning(config.begin_with)

    @property
    def evaluating(self) -> str:
        return f"Evaluating the best on n up to {self._task.test_sizes[-1]}."

    def search(self) -> Search:
        if self._task.division:
            self._say(f"{self._config.task}: {self._task.division}")
        data = TrainingData.of(self._config)
        self._search = Search(self._config, data, self._say)
        return self._search

    def picture(self) -> bytes | None:
        """The best so far at work; it is drawn anew when it is another one than before, but not
        all the time."""
        if not self._has_memory:
            return None
        from keras_stackrnn.training import pictures

        status = self._search.status()
        scores = status.soft_accuracy, status.rounded_accuracy, status.best_entropy
        waited = time.monotonic() - self._drawn_at >= _SECONDS_BETWEEN_PICTURES
        if scores != self._drawn and waited:
            self._drawn, self._drawn_at = scores, time.monotonic()
            self._picture = pictures.traced(self._search.best_model(), self._example())
        return self._picture

    def best_model(self) -> SequenceModel:
        return self._search.best_model(rounding=self._config.rounding)

    def evaluate(self, model: SequenceModel, check: Callable[[], None]) -> dict:
        """Soft, rounded, and rounded on sequences that are longer by far."""
        task = self._task
        sizes = tested_sizes(task)
        soft, sequences = sizes, task.test_sequences
        if self._has_memory:
            soft = [n for n in sizes if task.places(n) <= _LONGEST_SOFT]
            elements = self._config.memories * self._config.element_size
            moves = elements * sum(task.places(n) ** 2 for n in soft)
            sequences = max(1, min(sequences, _MOST_MOVES // moves))
        else:
            products = model.count_params() * sum(map(task.places, sizes))
            sequences = max(1, min(sequences, _MOST_PRODUCTS // products))
        found = {
            **({"data": task.division} if task.division else {}),
            "score": task.scores[0],
            "soft": scores(evaluate(model, task, soft, sequences), sequences),
        }
        check()
        found["in_a_row"] = self._evaluate_in_a_row(model, check) if task.flows else None
        found["rounded"] = self._evaluate_rounded(model, sizes, check) if self._has_memory else None
        return {**found, "restarts": self._search.restarts()}

    def draw(self, folder: Path, model: SequenceModel, evaluation: dict) -> None:
        from keras_stackrnn.training import pictures

        pictures.draw_accuracy(folder, self._config, evaluation)
        if self._has_memory:
            pictures.draw_trace(folder, model, self._example())

    def closing_words(self, evaluation: dict) -> str:
        drawn = (PLOT, TRACE) if self._has_memory else (PLOT,)
        return closing_words.of_search(self._config, evaluation, *drawn)

    def close(self) -> None:
        pass

    def _check_beginning(self, begin_with: str) -> None:
        """Before there is a folder of a run: a sentence is all that is left of a wrong one."""
        architecture = self._config.architecture(self._task.symbols, len(self._task.outputs))
        try:
            weights_to_begin_with(begin_with, architecture, self._task)
        except ValueError as error:
            raise RunError(str(error)) from error

    def _evaluate_rounded(self, model, sizes: list[int], check: Callable[[], None]) -> dict:
        task = self._task
        model = as_tested(model, rounding=True)
        far = [n for n in task.far_sizes if task.places(n) <= _LONGEST_FAR]
        found = evaluate(model, task, [*sizes, *far], rounding=True)
        check()
        beyond = found.of(far).per_n if far else None
        return {**scores(found.of(sizes), task.test_sequences), "beyond": beyond}

    def _evaluate_in_a_row(self, model, check: Callable[[], None]) -> dict:
        """Sequences of all sizes one after the other, the memory not being emptied."""
        sizes = range(self._task.train_sizes[0], self._task.test_sizes[-1] + 1)
        found = {}
        for way in ("soft", "rounded") if self._has_memory else ("soft",):
            right = evaluate_stream(model, self._task, sizes, rounding=way == "rounded")
            found[way] = dataclasses.asdict(right)
            check()
        return found

    def _example(self) -> str:
        """A validation sequence that is short enough for a picture."""
        sizes = self._task.train_sizes
        return self._task.as_read(min(max(_TRACED_SIZE, sizes[0]), sizes[-1]))


def tested_sizes(task: tasks.Task) -> list[int]:
    """The sizes of a task's test: all, or of a test that is too large some hundred, the small ones
    among them."""
    sizes = task.test_sizes
    symbols = task.test_sequences * sum(map(task.places, sizes))
    if symbols <= _MOST_SYMBOLS or len(sizes) <= _SIZES_OF_MANY:
        return list(sizes)
    steps = np.geomspace(1, len(sizes), _SIZES_OF_MANY).round().astype(int)
    return [sizes[step - 1] for step in np.unique(steps).tolist()]


def scores(accuracy: Accuracy, sequences: int) -> dict:
    """What `evaluation.json` says of a score, from so many sequences of each size."""
    threshold = {} if accuracy.threshold is None else {"threshold": accuracy.threshold}
    return {
        "per_n": accuracy.per_n,
        "percent_n_correct": accuracy.percent_n_correct,
        "mean": accuracy.mean,
        "sequences": sequences,
        **threshold,
        "further": accuracy.further,
    }
