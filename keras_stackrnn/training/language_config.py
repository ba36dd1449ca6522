"""What a training on text is told: every value in one place, checked before anything runs."""

import dataclasses
from typing import ClassVar

from keras_stackrnn.corpus import LEVELS
from keras_stackrnn.models import has_memory, kinds
from keras_stackrnn.training import language_recipes as recipes
from keras_stackrnn.training import values

OPTIMIZERS = ("adam", "sgd")


@dataclasses.dataclass(frozen=True, kw_only=True)
class LanguageModelConfig(values.Config):
    """Everything that determines a training on text. `from_recipe` fills in what is not said.

    Example:

    >>> config = LanguageModelConfig.from_recipe("penn_treebank", "lstm", manual_dir="ptb")
    >>> config.units
    100
    """

    # They say where a run is kept and when it stops, not what it computes.
    FREE_ON_RESUME: ClassVar = ("output_dir", "minutes", "checkpoint_seconds")

    # What is learned, by what.
    task: str = values.value("What to learn: penn_treebank or text.")
    model: str = values.value(f"One of {', '.join(kinds())}.")
    recipe: str = values.value("Where defaults come from: plain or tuned.")
    seed: int = values.value("Everything random follows from it.")
    units: int = values.value("Hidden units of a layer.")
    layers: int = values.value("Recurrent layers.")
    context_units: int = values.value("Slow context units of a layer; 0 but with srcn.")
    memories: int = values.value("Stacks or lists of a layer; 0 but with stack or list.")
    no_op: bool = values.value("Whether leaving the memory as it is, is one of the actions.")
    read_depth: int = values.value("Elements of a memory that are read.")
    capacity: int | None = values.value("Elements a memory holds; when served it is unbounded.")
    embedding: int = values.value("Size of the symbols' embedding.")

    # What it reads.
    manual_dir: str | None = values.value("Folder with Penn Treebank's files.")
    train_file: str | None = values.value("Text of your own to learn from, in UTF-8.")
    validation_file: str | None = values.value(
        "Text to validate on; without, the last tenth of the text to learn from."
    )
    test_file: str | None = values.value("Text to test on, once, at the end.")
    level: str = values.value("What a symbol is: word or char.")
    vocabulary_size: int = values.value("Words that are kept, the most frequent; not for char.")
    lanes: int = values.value("Parts of the text that are read side by side.")
    window: int = values.value("Symbols of a lane in an update; the gradient goes no further back.")

    # How it learns.
    epochs: int = values.value("Times the text is read; the learning rate falls to 0 over them.")
    updates_a_round: int = values.value("Updates between two looks at the clock.")
    initial_scale: float = values.value(
        "What the usual initial weights are multiplied by, all but the biases and the output's."
    )
    no_op_bias: float = values.value(
        "Initial bias of NO-OP: the higher, the longer a memory holds what it has."
    )
    optimizer: str = values.value("One of adam, sgd.")
    learning_rate: float = values.value("Learning rate at the beginning.")
    clip_norm: float = values.value("Norm that the gradient is cut to.")
    centred: bool = values.value(
        "Whether sigmoids are learned from as if they lay around 0; of an LSTM they do."
    )
    dropout: float = values.value("Share that is dropped of what the last layer gives.")
    input_dropout: float = values.value("Share that is dropped of what the first layer reads.")
    noising: float = values.value(
        "Share of the words that are read as others, the more of a word the less is known of it."
    )
    averaging: float = values.value("Share of the averaged weights that an update keeps; 0: none.")

    # Where it goes, and when it stops.
    output_dir: str = values.value("Folder for everything the run leaves behind.")
    minutes: float | None = values.value("Budget of the training; then the best is evaluated.")
    checkpoint_seconds: float = values.value("Seconds between two checkpoints.")

    @classmethod
    def from_recipe(
        cls, task: str, model: str = "stack", recipe: str = "plain", **given
    ) -> "LanguageModelConfig":
        """A recipe's configuration, with values of your own in the place of its."""
        values.check_choice("task", task, recipes.TASKS)
        values.check_choice("model", model, kinds())
        values.check_choice("recipe", recipe, recipes.RECIPES)
        cls.check_names(given)
        defaults = recipes.defaults(task, model, recipe)
        defaults["output_dir"] = f"runs/{task}"
        return cls(task=task, model=model, recipe=recipe, **{**defaults, **given})

    def usual(self) -> "LanguageModelConfig":
        """The recipe's own configuration."""
        return self.from_recipe(self.task, self.model, self.recipe)

    def __post_init__(self):
        self.check_types()
        values.check_choice("task", self.task, recipes.TASKS)
        values.check_choice("model", self.model, kinds())
        values.check_choice("recipe", self.recipe, recipes.RECIPES)
        values.check_choice("level", self.level, LEVELS)
        values.check_choice("optimizer", self.optimizer, OPTIMIZERS)
        for name in _POSITIVE:
            values.check_range(name, getattr(self, name), above=0)
        values.check_range("vocabulary_size", self.vocabulary_size, least=3)
        values.check_range("dropout", self.dropout, least=0, below=1)
        values.check_range("input_dropout", self.input_dropout, least=0, below=1)
        values.check_range("noising", self.noising, least=0, most=1)
        values.check_range("no_op_bias", self.no_op_bias, least=-100, most=100)
        values.check_range("averaging", self.averaging, least=0, below=1)
        values.check_range("seed", self.seed, least=0, most=2**31 - 1)
        self._check_model()

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

    def _check_model(self):
        remembers = has_memory(self.model)
        if remembers and self.memories < 1:
            raise ValueError(
                f"model={self.model!r} needs memories of 1 or more, got {self.memories}."
            )
        if remembers and (self.capacity is None or self.capacity < self.read_depth):
            raise ValueError(
                f"capacity must be at least read_depth, {self.read_depth}, got {self.capacity}."
            )
        if self.no_op_bias and not self.no_op:
            raise ValueError(
                f"no_op_bias must be 0 without no_op, the action it is for, got {self.no_op_bias}."
            )
        for name in () if remembers else ("no_op", "memories"):
            if value := getattr(self, name):
                raise ValueError(
                    f"model={self.model!r} has no memory to act on, got {name}={value}; "
                    "stack and list have one."
                )
        if (self.model == "srcn") != (self.context_units > 0):
            raise ValueError(
                "Context units are what model='srcn' has, 1 or more, and no other: "
                f"got model={self.model!r} and context_units={self.context_units}."
            )


_POSITIVE = (
    "units",
    "layers",
    "read_depth",
    "capacity",
    "embedding",
    "lanes",
    "window",
    "epochs",
    "updates_a_round",
    "initial_scale",
    "learning_rate",
    "clip_norm",
    "minutes",
    "checkpoint_seconds",
)
