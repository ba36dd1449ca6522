"""What a training on text is told: every value in one place, checked before anything runs."""

import dataclasses
from typing import ClassVar

from keras_stackrnn.corpus import LEVELS
from keras_stackrnn.training import language_recipes as recipes
from keras_stackrnn.training.architecture import Architecture
from keras_stackrnn.training.checks import check_choice
from keras_stackrnn.training.config_base import Config, value


@dataclasses.dataclass(frozen=True, kw_only=True)
class LanguageModelConfig(Config):
    """Everything that determines a training on text. `from_recipe` fills in what is not said.

    Example:

    >>> config = LanguageModelConfig.from_recipe("penn_treebank", "lstm", manual_dir="ptb")
    >>> config.units
    100
    """

    RECIPES: ClassVar = recipes.RECIPES
    CAN_SHARE: ClassVar = True
    # Checkpoints are the same for any number of workers.
    FREE_ON_RESUME: ClassVar = (*Config.FREE_ON_RESUME, "workers")
    PATHS: ClassVar = ("manual_dir", "train_file", "validation_file", "test_file")
    LATER: ClassVar = {**Config.LATER, "workers": 1}

    # What learns.
    context_units: int = value("Slow context units of a layer; 0 but with srcn.")
    embedding: int = value("Size of the symbols' embedding.", above=0)

    # What it reads.
    manual_dir: str | None = value("Folder with Penn Treebank's files.")
    train_file: str | None = value("Text of your own to learn from, in UTF-8.")
    validation_file: str | None = value(
        "Text to validate on; without, the last tenth of the text to learn from."
    )
    test_file: str | None = value("Text to test on, once, at the end.")
    level: str = value("What a symbol is: word or char.", choices=LEVELS)
    vocabulary_size: int = value("Words that are kept, the most frequent; not for char.", least=3)

    # How it learns.
    workers: int = value(
        "Processes of this machine that share the lanes; more machines: see TF_CONFIG.", above=0
    )
    epochs: int = value("Times the text is read, while the learning rate falls to 0.", above=0)
    initial_scale: float = value(
        "What the usual initial weights are multiplied by, all but the biases and the output's.",
        above=0,
    )
    no_op_bias: float = value(
        "Initial bias of NO-OP: the higher, the longer a memory holds what it has.",
        least=-100,
        most=100,
    )
    clip_norm: float = value("Norm that the gradient is cut to.", above=0)
    dropout: float = value("Share that is dropped of what the last layer gives.", least=0, below=1)
    input_dropout: float = value(
        "Share that is dropped of what the first layer reads.", least=0, below=1
    )
    noising: float = value(
        "Share of the words that are read as others, the more of a word the less is known of it.",
        least=0,
        most=1,
    )
    averaging: float = value(
        "Share of the averaged weights that an update keeps; 0: none.", least=0, below=1
    )

    @classmethod
    def check_task(cls, task: str) -> None:
        check_choice("task", task, recipes.TASKS)

    @classmethod
    def defaults(cls, task: str, model: str, recipe: str, given: dict) -> dict:
        return recipes.defaults(task, model, recipe)

    def architecture(self, symbols: int) -> Architecture:
        return dataclasses.replace(
            super().architecture(symbols),
            embedding_size=self.embedding,
            context_units=self.context_units,
        )

    def __post_init__(self):
        super().__post_init__()
        self.check_memory()
        if self.no_op_bias and not self.no_op:
            raise ValueError(
                f"no_op_bias must be 0 without no_op, the action it is for, got {self.no_op_bias}."
            )
        if self.lanes % self.workers:
            raise ValueError(
                f"Workers share the lanes evenly: expected workers that divide {self.lanes} lanes, "
                f"got {self.workers}."
            )
        if (self.model == "srcn") != (self.context_units > 0):
            raise ValueError(
                "Context units are what model='srcn' has, 1 or more, and no other: "
                f"got model={self.model!r} and context_units={self.context_units}."
            )

    def check_text(self) -> None:
        """Raises unless it is said where the text is."""
        if self.task == "penn_treebank":
            for name in ("train_file", "validation_file", "test_file"):
                if getattr(self, name) is not None:
                    raise ValueError(
                        f"task='penn_treebank' has a text of its own, got {name}="
                        f"{getattr(self, name)!r}; task='text' reads yours."
                    )
            return
        if self.train_file is None:
            raise ValueError("train_file is missing: task='text' needs a text to learn from.")
        if self.manual_dir is not None:
            raise ValueError(
                f"task='text' reads train_file, got manual_dir={self.manual_dir!r} as well."
            )
