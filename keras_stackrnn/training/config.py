"""What a training is told: every value in one place, checked before anything runs."""

import dataclasses
from typing import ClassVar

from keras_stackrnn import patterns
from keras_stackrnn.models import has_memory, kinds
from keras_stackrnn.training import recipes, values
from keras_stackrnn.training.data import FIRST_TEST_N

OPTIMIZERS = ("adam", "sgd")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingConfig(values.Config):
    """Everything that determines a run. `from_recipe` fills in what is not said.

    Example:

    >>> config = TrainingConfig.from_recipe("memorize", seed=7)
    >>> config.max_n
    19
    """

    # They say where a run is kept and when it stops, not what it computes.
    FREE_ON_RESUME: ClassVar = ("output_dir", "minutes", "checkpoint_seconds")

    # What is learned, by what.
    task: str = values.value("What to learn: the name of a pattern.")
    model: str = values.value("One of stack, list, rnn, lstm.")
    recipe: str = values.value("Where defaults come from: fast, or the paper's own set-up, paper.")
    seed: int = values.value("Everything random follows from it.")
    units: int = values.value("Hidden units of a layer.")
    layers: int = values.value("Recurrent layers; more than one only with rnn or lstm.")
    memories: int = values.value("Stacks or lists; 0 with rnn or lstm.")
    no_op: bool = values.value("Whether leaving the memory as it is, is one of the actions.")
    use_recurrent_kernel: bool = values.value(
        "Whether hidden units see the ones before them; without, the memory is all there is."
    )
    read_depth: int = values.value("Elements of a memory that are read.")
    capacity: int | None = values.value(
        "Elements a memory holds in training; later it is unbounded."
    )
    rounding: bool = values.value(
        "Whether the finished model takes the most probable action alone."
    )

    # What it reads.
    max_n: int = values.value(
        f"Largest n to train and validate on; from {FIRST_TEST_N} up is for tests."
    )
    lanes: int = values.value("Streams of sequences that are read side by side.")
    window: int = values.value(
        "Symbols of a lane in one update; the gradient goes no further back."
    )
    episode: int = values.value(
        "Windows of a lane that follow one another before it begins anew, empty."
    )
    first_max_n: int = values.value("Largest n that a restart begins with.")
    mastery: float = values.value("Share of symbols to get right before sequences grow.")
    only_deterministic: bool = values.value("Whether only predictable symbols make the loss.")
    validation_sequences: int = values.value("Validation sequences for each n.")
    exam_sequences: int = values.value(
        "Further validation sequences for each n, an exam at the end of a life; 0 for none."
    )
    exam_confidence: float = values.value(
        "How sure a restart has to be of every symbol of its exam."
    )

    # How it searches.
    population: int = values.value(
        "Random restarts: trained at once, or one after the other with rnn or lstm.",
        flag="restarts",
    )
    wanted: int = values.value("The search ends when so many restarts have solved the task.")
    updates: int = values.value("The search ends after so many updates.")
    updates_a_round: int = values.value("Updates between two validations.")
    lifetime: int = values.value("Updates of one restart.")
    hopeless_below: float = values.value(
        "Restarts below this accuracy at half their life are replaced."
    )
    inherit_every: int | None = values.value(
        "Updates after which restarts that lag go on from the weights of those that lead."
    )
    optimizer: str = values.value("One of adam, sgd.")
    learning_rate: float = values.value("Initial learning rate.")
    cooling: float = values.value("Share of a restart's life, at its end, in which the rate falls.")
    clip_norm: float | None = values.value("Norm that a restart's gradient is cut to.")
    clip_value: float | None = values.value("Size that every number of a gradient is cut to.")
    action_noise: float = values.value("Standard deviation of the noise on the actions' logits.")
    initial_scale: float = values.value("Standard deviation of the initial weights.")
    centred: bool = values.value(
        "Whether sigmoids are learned from as if they lay around 0, with biases to make up for it."
    )

    # Where it goes, and when it stops.
    output_dir: str = values.value("Folder for everything the run leaves behind.")
    minutes: float | None = values.value("Budget of the search; then the best so far is evaluated.")
    checkpoint_seconds: float = values.value("Seconds between two checkpoints.")

    @classmethod
    def from_recipe(
        cls, task: str, model: str = "stack", recipe: str = "fast", **given
    ) -> "TrainingConfig":
        """A recipe's configuration, with values of your own in the place of its."""
        pattern = patterns.get(task)
        values.check_choice("model", model, kinds())
        values.check_choice("recipe", recipe, recipes.RECIPES)
        cls.check_names(given)
        defaults = recipes.defaults(pattern.name, model, recipe)
        defaults["output_dir"] = f"runs/{task}"
        # Whoever chooses one way to clip does not want the recipe's as well.
        if "clip_value" in given and "clip_norm" not in given:
            defaults["clip_norm"] = None
        if "clip_norm" in given and "clip_value" not in given:
            defaults["clip_value"] = None
        return cls(task=task, model=model, recipe=recipe, **{**defaults, **given})

    def usual(self) -> "TrainingConfig":
        """The recipe's own configuration."""
        return self.from_recipe(self.task, self.model, self.recipe)

    @property
    def planned_updates(self) -> int:
        """After how many updates the search ends if nothing ends it sooner."""
        if has_memory(self.model):
            return self.updates
        return min(self.updates, self.population * self.lifetime)

    def __post_init__(self):
        self.check_types()
        patterns.get(self.task)
        values.check_choice("model", self.model, kinds())
        values.check_choice("recipe", self.recipe, recipes.RECIPES)
        values.check_choice("optimizer", self.optimizer, OPTIMIZERS)
        for name in _POSITIVE:
            values.check_range(name, getattr(self, name), above=0)
        for name in _NOT_NEGATIVE:
            values.check_range(name, getattr(self, name), least=0)
        values.check_range("hopeless_below", self.hopeless_below, least=0, most=1)
        values.check_range("exam_confidence", self.exam_confidence, least=0, most=1)
        values.check_range("cooling", self.cooling, above=0, most=1)
        values.check_range("mastery", self.mastery, least=0, most=1)
        if self.updates_a_round % self.episode:
            raise ValueError(
                "updates_a_round must be a multiple of the windows of an episode, "
                f"{self.episode}, got {self.updates_a_round}."
            )
        values.check_range("seed", self.seed, least=0, most=2**31 - 1)
        self._check_n()
        self._check_model()
        if (self.clip_norm is None) == (self.clip_value is None):
            raise ValueError(
                "Gradients are clipped either by clip_norm or by clip_value, "
                f"got {self.clip_norm} and {self.clip_value}."
            )

    def _check_n(self):
        pattern = patterns.get(self.task)
        if not pattern.smallest_n <= self.max_n < FIRST_TEST_N:
            raise ValueError(
                f"max_n must be from {pattern.smallest_n}, the smallest n of {self.task!r}, to "
                f"{FIRST_TEST_N - 1}, because longer sequences are for tests, got {self.max_n}."
            )

    def _check_model(self):
        if has_memory(self.model):
            if self.layers != 1:
                raise ValueError(
                    f"model={self.model!r} is trained with one layer, got layers={self.layers}; "
                    "rnn and lstm can have more."
                )
            if self.memories < 1:
                raise ValueError(
                    f"model={self.model!r} needs memories of 1 or more, got {self.memories}."
                )
            if self.capacity is None or self.capacity < self.read_depth:
                raise ValueError(
                    f"capacity must be at least read_depth, {self.read_depth}, got {self.capacity}."
                )
            return
        for name in ("rounding", "no_op", "memories"):
            if value := getattr(self, name):
                raise ValueError(
                    f"model={self.model!r} has no memory to act on, got {name}={value}; "
                    "stack and list have one."
                )
        if self.exam_sequences:
            raise ValueError(
                f"model={self.model!r} takes no exam, got exam_sequences={self.exam_sequences}; "
                "stack and list do."
            )
        if self.centred:
            raise ValueError(
                f"model={self.model!r} is not trained centred, got centred=True; stack and list "
                "can be."
            )
        if not self.use_recurrent_kernel:
            raise ValueError(
                f"model={self.model!r} has nothing but its hidden units to remember with, "
                "got use_recurrent_kernel=False; stack and list can do without."
            )


_POSITIVE = (
    "units",
    "layers",
    "read_depth",
    "lanes",
    "window",
    "episode",
    "first_max_n",
    "validation_sequences",
    "population",
    "wanted",
    "updates",
    "updates_a_round",
    "lifetime",
    "inherit_every",
    "learning_rate",
    "initial_scale",
    "checkpoint_seconds",
    "clip_norm",
    "clip_value",
    "capacity",
    "minutes",
)
_NOT_NEGATIVE = ("memories", "action_noise", "exam_sequences")
