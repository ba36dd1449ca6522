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


class LanguageTask:
    """A text to be learned; what of it is asked is said by `RunTask`.

    Args:
        config: A `LanguageModelConfig`. What is wrong with its text is a `RunError`.
        say: Is told in words what takes long.
    """

    evaluating = "Evaluating the best weights."

    def __init__(self, config: LanguageModelConfig, say: Callable[[str], None]):
        self._config = config
        keep_large_buffers()
        try:
            config.check_text()
            self._corpus = _read(config)
            self._training = LanguageModelTraining(config, TrainingText.of(self._corpus))
        except ValueError as error:
            raise RunError(str(error)) from error

    def search(self) -> LanguageModelTraining:
        """The training, which sees no test."""
        return self._training

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

    def closing_words(self, evaluation: dict) -> str:
        return closing_words.of_language(self._config, evaluation, CURVE)


def _read(config: LanguageModelConfig) -> corpus.Corpus:
    if config.task == "penn_treebank":
        return corpus.penn_treebank(config.manual_dir, config.level)
    return corpus.text_files(
        config.train_file,
        config.validation_file,
        config.test_file,
        config.level,
        config.vocabulary_size,
    )
