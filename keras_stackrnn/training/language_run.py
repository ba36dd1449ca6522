"""What a run on text does of its own: it reads the text first, and the test last."""

from collections.abc import Callable
from pathlib import Path

from keras_stackrnn import corpus
from keras_stackrnn.export import export
from keras_stackrnn.models import NextSymbolModel
from keras_stackrnn.perplexity import PerplexityMeter
from keras_stackrnn.training import learning_curve, report
from keras_stackrnn.training.buffers import keep_large_buffers
from keras_stackrnn.training.files import RunError, write_aside
from keras_stackrnn.training.language_config import LanguageModelConfig
from keras_stackrnn.training.language_model import LanguageModelTraining, TrainingText
from keras_stackrnn.training.progress import clock, number


class LanguageTask:
    """A text, and what is done with it.

    Args:
        config: A `LanguageModelConfig`. What is wrong with its text is a `RunError`.
    """

    def __init__(self, config: LanguageModelConfig):
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

    def conclude(
        self, folder: Path, seconds: float, say: Callable[[str], None]
    ) -> tuple[NextSymbolModel, dict]:
        """Saves the best model and evaluates it. Only from here on the test is read.

        Returns:
            The model, and what `evaluation.json` says of it.
        """
        config, training = self._config, self._training
        model = training.best_model()
        report.save_model(folder, model)
        say("Evaluating the best weights.")
        evaluation = {
            "task": config.task,
            "model": config.model,
            "seed": config.seed,
            "wall_seconds": round(seconds, 1),
            "symbols": training.status().symbols,
            "parameters": model.count_params(),
            "vocabulary": len(model.vocabulary),
            **self._perplexities(model),
            "epochs": training.epochs(),
        }
        report.write_evaluation(folder, evaluation)
        if evaluation["epochs"]:
            write_aside(folder / report.CURVE, lambda aside: _draw(aside, config, evaluation))
        export(model, folder / report.SERVING / config.task)
        say(_closing_words(config, evaluation))
        return model, evaluation

    def _perplexities(self, model):
        meter, first = PerplexityMeter(model), self._corpus.end_of_line
        figures = {
            "validation_tokens": len(self._corpus.validation),
            "validation_perplexity": meter.measure(self._corpus.validation, first),
            "test_tokens": 0,
            "test_perplexity": None,
        }
        if self._corpus.has_test:
            test = self._corpus.test()
            figures |= {
                "test_tokens": len(test),
                "test_perplexity": meter.measure(test, first),
            }
        return figures


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


def _draw(path: Path, config: LanguageModelConfig, evaluation: dict) -> None:
    epochs = evaluation["epochs"]
    curves = {
        "training, while it learns": [epoch["train_perplexity"] for epoch in epochs],
        "validation": [epoch["validation_perplexity"] for epoch in epochs],
    }
    learning_curve.draw(path, f"{config.task}, {config.model}", curves)


def _closing_words(config: LanguageModelConfig, evaluation: dict) -> str:
    test = evaluation["test_perplexity"]
    words = f"{number(evaluation['validation_perplexity'], '.2f')} on validation"
    if test is not None:
        words += f", {number(test, '.2f')} on the {evaluation['test_tokens']:,} test tokens"
    return "\n".join(
        [
            f"Perplexity: {words}.",
            f"{len(evaluation['epochs'])} epochs, {clock(evaluation['wall_seconds'])} minutes, "
            f"{evaluation['symbols']:,} symbols, {evaluation['parameters']:,} parameters.",
            "",
            report.where(config, report.CURVE),
            f"Next: {report.next_command(config)}",
        ]
    )
