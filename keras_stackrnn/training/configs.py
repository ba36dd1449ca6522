"""Which kind of configuration a task has."""

from keras_stackrnn.training.config import TrainingConfig
from keras_stackrnn.training.language_config import LanguageModelConfig
from keras_stackrnn.training.language_recipes import TASKS as LANGUAGE_TASKS

AnyConfig = TrainingConfig | LanguageModelConfig


def config_class(task: str) -> type[AnyConfig]:
    """The class of a task's configurations: everything that is no text is a pattern."""
    return LanguageModelConfig if task in LANGUAGE_TASKS else TrainingConfig
