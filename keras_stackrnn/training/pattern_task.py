"""A run on a pattern: its search, the picture of it, and the test at the end."""

from collections.abc import Callable
from pathlib import Path

from keras_stackrnn import patterns
from keras_stackrnn.evaluation import Accuracy, evaluate
from keras_stackrnn.models import NextSymbolModel, has_memory
from keras_stackrnn.training import closing_words
from keras_stackrnn.training.baselines import BaselineSearch
from keras_stackrnn.training.config import TrainingConfig
from keras_stackrnn.training.data import TrainingData
from keras_stackrnn.training.run_folder import PLOT, TRACE
from keras_stackrnn.training.search import Search

_FAR_N = (200, 1000)
_LONGEST_SEQUENCE = 8192
_TRACED_N = 6


class PatternTask:
    """A pattern to be learned; what of it is asked is said by `RunTask`.

    Args:
        config: A `TrainingConfig`.
        say: Is told in words what takes long.
    """

    evaluating = f"Evaluating the best on n up to {patterns.LARGEST_TEST_N}."

    def __init__(self, config: TrainingConfig, say: Callable[[str], None]):
        self._config = config
        self._say = say
        self._pattern = patterns.get(config.task)
        self._has_memory = has_memory(config.model)
        self._drawn, self._picture = None, None

    def search(self) -> Search | BaselineSearch:
        data = TrainingData.of(self._config)
        if self._has_memory:
            self._search = Search(self._config, data, self._say)
        else:
            self._search = BaselineSearch(self._config, data)
        return self._search

    def picture(self) -> bytes | None:
        """The best so far at work; it is drawn anew when it is another one than before."""
        if not self._has_memory:
            return None
        from keras_stackrnn.training import pictures

        status = self._search.status()
        scores = status.soft_accuracy, status.rounded_accuracy, status.best_entropy
        if scores != self._drawn:
            self._drawn = scores
            self._picture = pictures.traced(self._search.best_model(), self._example())
        return self._picture

    def best_model(self) -> NextSymbolModel:
        return self._search.best_model(rounding=self._config.rounding)

    def evaluate(self, model: NextSymbolModel, check: Callable[[], None]) -> dict:
        """Soft, rounded, and rounded on sequences that are longer by far."""
        soft = evaluate(_as(model, rounding=False), self._pattern, self._pattern.test_sizes)
        check()
        return {
            "soft": _scores(soft),
            "rounded": self._evaluate_rounded(model, check) if self._has_memory else None,
            "restarts": self._search.restarts(),
        }

    def draw(self, folder: Path, model: NextSymbolModel, evaluation: dict) -> None:
        from keras_stackrnn.training import pictures

        pictures.draw_accuracy(folder, self._config, evaluation)
        if self._has_memory:
            pictures.draw_trace(folder, model, self._example())

    def close(self) -> None:
        pass

    def closing_words(self, evaluation: dict) -> str:
        drawn = (PLOT, TRACE) if self._has_memory else (PLOT,)
        return closing_words.of_pattern(self._config, evaluation, *drawn)

    def _evaluate_rounded(self, model, check: Callable[[], None]) -> dict:
        model = _as(model, rounding=True)
        rounded = evaluate(model, self._pattern, self._pattern.test_sizes, rounding=True)
        check()
        lengths = {n: len(self._pattern.sample(n, "test", 0).text) for n in _FAR_N}
        far = [n for n, length in lengths.items() if length <= _LONGEST_SEQUENCE]
        beyond = evaluate(model, self._pattern, far, rounding=True).per_n if far else None
        check()
        return {**_scores(rounded), "beyond": beyond}

    def _example(self) -> str:
        """A validation sequence that is short enough for a picture."""
        return self._pattern.sample(max(_TRACED_N, self._pattern.smallest_n), "validation", 0).text


def _as(model: NextSymbolModel, rounding: bool) -> NextSymbolModel:
    return model if model.rounding == rounding else model.twin(rounding=rounding)


def _scores(accuracy: Accuracy) -> dict:
    return {"per_n": accuracy.per_n, "percent_n_correct": accuracy.percent_n_correct}
