"""The pictures of a run. Importing this imports matplotlib: runs do so when they draw."""

from pathlib import Path

from keras_stackrnn import trace
from keras_stackrnn.models import SequenceModel
from keras_stackrnn.trace import figures
from keras_stackrnn.training import learning_curve
from keras_stackrnn.training.config import TrainingConfig
from keras_stackrnn.training.files import write_aside
from keras_stackrnn.training.language_config import LanguageModelConfig
from keras_stackrnn.training.run_folder import CURVE, PLOT, TRACE


def draw_accuracy(folder: Path, config: TrainingConfig, evaluation: dict) -> None:
    """The score by n, soft and rounded."""
    smallest = config.learned_task().train_sizes[0]
    shares = {way: evaluation[way]["per_n"] for way in ("soft", "rounded") if evaluation[way]}
    title = f"{config.task}, {config.model}"
    trained_on = (smallest, config.max_n)
    picture = figures.accuracy_by_n(shares, title, trained_on, evaluation["score"])
    write_aside(folder / PLOT, lambda aside: figures.save(picture, aside))


def traced(model: SequenceModel, text: str) -> bytes:
    """A picture, as PNG, of what the memories do while they read a text."""
    # All of them, so that a row stays in its place while the algorithm forms.
    return figures.to_png(figures.action_map(trace(model, text), fold=False))


def draw_trace(folder: Path, model: SequenceModel, text: str) -> None:
    """What the memories do while they read a text, to be looked at afterwards."""
    write_aside(folder / TRACE, lambda aside: trace(model, text).plot(aside))


def draw_perplexities(folder: Path, config: LanguageModelConfig, epochs: list[dict]) -> None:
    """The perplexities by epoch."""
    curves = {
        "training, while it learns": [epoch["train_perplexity"] for epoch in epochs],
        "validation": [epoch["validation_perplexity"] for epoch in epochs],
    }
    title = f"{config.task}, {config.model}"
    write_aside(folder / CURVE, lambda aside: learning_curve.draw(aside, title, curves))
