"""A run on text: it reads the text first, and the test last."""

from collections.abc import Callable
from pathlib import Path

from keras_stackrnn import corpus
from keras_stackrnn.models import NextSymbolModel
from keras_stackrnn.perplexity import PerplexityMeter
from keras_stackrnn.training import closing_words
from keras_stackrnn.training.buffers import keep_large_buffers
from keras_stackrnn.training.files import RunError
from keras_stackrnn.training.language_config import LanguageModelConfig
from keras_stackrnn.training.language_model import LanguageModelTraining, TrainingText
from keras_stackrnn.training.run_folder import CURVE
from keras_stackrnn.training.run_task import AnySearch
from keras_stackrnn.training.workers.group import join
from keras_stackrnn.training.workers.leading import Leading, check_alike, follow


class LanguageTask:
    """A text to be learned; what of it is asked is said by `RunTask`.

    Args:
        config: A `LanguageModelConfig`. What is wrong with its text is a `RunError`.
        say: Is told in words what takes long.
    """

    evaluating = "Evaluating the best weights."

    def __init__(self, config: LanguageModelConfig, say: Callable[[str], None]):
        self._config = config
        self._group = join()
        keep_large_buffers()
        self._corpus = text_of(config)
        try:
            text = TrainingText.of(self._corpus)
            self._training = LanguageModelTraining(config, text, self._group)
            if self._group.count > 1:
                check_alike(config, text, self._group)
        except ValueError as error:
            raise RunError(str(error)) from error

    def search(self) -> AnySearch:
        """The training, which sees no test."""
        if self._group.count > 1:
            return Leading(self._training, self._group)
        return self._training

    def follow(self) -> None:
        """Trains as the first worker says, until it says no more."""
        follow(self._training, self._group)

    def picture(self) -> bytes | None:
        return None

    def best_model(self) -> NextSymbolModel:
        return self._training.best_model()

    def evaluate(self, model: NextSymbolModel, check: Callable[[], None]) -> dict:
        """The perplexities. Only from here on the test is read."""
        meter, first = PerplexityMeter(model), self._corpus.end_of_line
        scores = {
            "vocabulary": len(model.vocabulary),
            "validation_tokens": len(self._corpus.validation),
            "validation_perplexity": meter.measure(self._corpus.validation, first),
            "test_tokens": 0,
            "test_perplexity": None,
        }
        if self._corpus.has_test:
            test = self._corpus.test()
            scores |= {
                "test_tokens": len(test),
                "test_perplexity": meter.measure(test, first),
            }
        return {**scores, "epochs": self._training.epochs()}

    def draw(self, folder: Path, model: NextSymbolModel, evaluation: dict) -> None:
        from keras_stackrnn.training import pictures

        if evaluation["epochs"]:
            pictures.draw_perplexities(folder, self._config, evaluation["epochs"])

    def close(self) -> None:
        self._group.close()

    def closing_words(self, evaluation: dict) -> str:
        return closing_words.of_language(self._config, evaluation, CURVE)


def text_of(config: LanguageModelConfig) -> corpus.Corpus:
    """The text of a configuration; what is wrong with it is a `RunError`."""
    try:
        config.check_text()
        if config.task == "penn_treebank":
            return corpus.penn_treebank(config.manual_dir, config.level)
        return corpus.text_files(
            config.train_file,
            config.validation_file,
            config.test_file,
            config.level,
            config.vocabulary_size,
        )
    except ValueError as error:
        raise RunError(str(error)) from error
