"""Training: streams of windows, recipes, restarts, checkpoints and the loop."""

from keras_stackrnn.training.config import TrainingConfig
from keras_stackrnn.training.files import RunError
from keras_stackrnn.training.interrupts import InterruptedRunError
from keras_stackrnn.training.language_config import LanguageModelConfig
from keras_stackrnn.training.run import Result, train

__all__ = [
    "InterruptedRunError",
    "LanguageModelConfig",
    "Result",
    "RunError",
    "TrainingConfig",
    "train",
]
