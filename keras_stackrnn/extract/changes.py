"""What holds for every change of a network: it has to be right on what the old one learned from."""

from keras_stackrnn.evaluation import evaluate
from keras_stackrnn.models import NextSymbolModel
from keras_stackrnn.patterns import Pattern

# Fresh sequences for each n of training.
_SEQUENCES = 100


class ChangeError(Exception):
    """A network cannot be changed in this way and stay right."""


def right_on_training(model: NextSymbolModel, pattern: Pattern) -> bool:
    """Whether a model, rounded, is right on fresh sequences for all n of training."""
    accuracy = evaluate(model, pattern, pattern.train_sizes, _SEQUENCES, True, "validation")
    return accuracy.percent_n_correct == 100
