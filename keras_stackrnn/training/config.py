"""What a training is told: every value in one place, checked before anything runs."""

import dataclasses
import math
import shlex
import types
import typing

from keras_stackrnn import patterns
from keras_stackrnn.models import KINDS, MEMORY_KINDS
from keras_stackrnn.training import recipes
from keras_stackrnn.training.data import FIRST_TEST_N

OPTIMIZERS = ("adam", "sgd")

# They say where a run is kept and when it stops, not what it computes.
FREE_ON_RESUME = ("output_dir", "minutes", "checkpoint_seconds")


def _value(help: str, **metadata):
    return dataclasses.field(metadata={"help": help, **metadata})


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Everything that determines a run. `from_recipe` fills in what is not said.

    Example:

    >>> config = TrainingConfig.from_recipe("memorize", seed=7)
    >>> config.max_n
    19
    """

    # What is learned, by what.
    task: str = _value("What to learn: the name of a pattern.")
    model: str = _value("One of stack, list, rnn, lstm.")
    recipe: str = _value("Where defaults come from: fast, or the paper's own set-up, paper.")
    seed: int = _value("Everything random follows from it.")
    units: int = _value("Hidden units of a layer.")
    layers: int = _value("Recurrent layers; more than one only with rnn or lstm.")
    memories: int = _value("Stacks or lists; 0 with rnn or lstm.")
    no_op: bool = _value("Whether leaving the memory as it is, is one of the actions.")
    read_depth: int = _value("Elements of a memory that are read.")
    capacity: int | None = _value("Elements a memory holds in training; later it is unbounded.")
    rounding: bool = _value("Whether the finished model takes the most probable action alone.")

    # What it reads.
    max_n: int = _value(f"Largest n to train and validate on; from {FIRST_TEST_N} up is for tests.")
    lanes: int = _value("Streams of sequences that are read side by side.")
    window: int = _value("Symbols of a lane in one update; the gradient goes no further back.")
    episode: int = _value("Windows of a lane that follow one another before it begins anew, empty.")
    first_max_n: int = _value("Largest n that a restart begins with.")
    mastery: float = _value("Share of symbols to get right before n grows by one.")
    only_deterministic: bool = _value("Whether only predictable symbols make the loss.")
    validation_sequences: int = _value("Validation sequences for each n.")

    # How it searches.
    population: int = _value(
        "Random restarts: trained at once, or one after the other with rnn or lstm.",
        flag="restarts",
    )
    wanted: int = _value("The search ends when so many restarts have solved the task.")
    updates: int = _value("The search ends after so many updates.")
    updates_a_round: int = _value("Updates between two validations.")
    lifetime: int = _value("Updates of one restart.")
    hopeless_below: float = _value("Restarts below this accuracy at half their life are replaced.")
    optimizer: str = _value("One of adam, sgd.")
    learning_rate: float = _value("Initial learning rate.")
    cooling: float = _value("Share of a restart's life, at its end, in which the rate falls.")
    clip_norm: float | None = _value("Norm that a restart's gradient is cut to.")
    clip_value: float | None = _value("Size that every number of a gradient is cut to.")
    action_noise: float = _value("Standard deviation of the noise on the actions' logits.")
    initial_scale: float = _value("Standard deviation of the initial weights.")

    # Where it goes, and when it stops.
    output_dir: str = _value("Folder for everything the run leaves behind.")
    minutes: float | None = _value("Budget of the search; then the best so far is evaluated.")
    checkpoint_seconds: float = _value("Seconds between two checkpoints.")

    @classmethod
    def from_recipe(
        cls, task: str, model: str = "stack", recipe: str = "fast", **values
    ) -> "TrainingConfig":
        """A recipe's configuration, with `values` of your own in the place of its."""
        pattern = patterns.get(task)
        _check_choice("model", model, KINDS)
        _check_choice("recipe", recipe, recipes.RECIPES)
        unknown = values.keys() - {field.name for field in dataclasses.fields(cls)}
        if unknown:
            raise ValueError(f"A training has no value {min(unknown)!r}.")
        defaults = recipes.defaults(pattern.name, model, recipe)
        defaults["output_dir"] = f"runs/{task}"
        # Whoever chooses one way to clip does not want the recipe's as well.
        if "clip_value" in values and "clip_norm" not in values:
            defaults["clip_norm"] = None
        if "clip_norm" in values and "clip_value" not in values:
            defaults["clip_value"] = None
        return cls(task=task, model=model, recipe=recipe, **{**defaults, **values})

    @classmethod
    def from_json(cls, values: dict) -> "TrainingConfig":
        """The configuration whose `to_json()` this is."""
        names = {field.name for field in dataclasses.fields(cls)}
        for wrong in sorted(names ^ values.keys()):
            fault = "lacks" if wrong in names else "has an unknown value"
            raise ValueError(
                f"The configuration {fault} {wrong!r}: another version of keras_stackrnn wrote it."
            )
        return cls(**values)

    def to_json(self) -> dict:
        return dataclasses.asdict(self)

    def command(self) -> str:
        """The command that runs this again."""
        usual = TrainingConfig.from_recipe(self.task, self.model, self.recipe)
        shown = {"task": self.task}
        if self.model != "stack":
            shown["model"] = self.model
        if self.recipe != "fast":
            shown["recipe"] = self.recipe
        for name, value in self.to_json().items():
            if value != getattr(usual, name) and value is not None:
                shown[name] = value
        return _command([f"--{flag_of(name)}={value}" for name, value in shown.items()])

    def resume_command(self) -> str:
        """The command that goes on with this run."""
        if self.output_dir == f"runs/{self.task}":
            return _command([f"--task={self.task}", "--resume"])
        return _command([f"--output_dir={self.output_dir}", "--resume"])

    @property
    def planned_updates(self) -> int:
        """After how many updates the search ends if nothing ends it sooner."""
        if self.model in MEMORY_KINDS:
            return self.updates
        return min(self.updates, self.population * self.lifetime)

    def __post_init__(self):
        for field in dataclasses.fields(self):
            _check_type(field.name, getattr(self, field.name), field.type)
        patterns.get(self.task)
        _check_choice("model", self.model, KINDS)
        _check_choice("recipe", self.recipe, recipes.RECIPES)
        _check_choice("optimizer", self.optimizer, OPTIMIZERS)
        for name in _POSITIVE:
            _check_range(name, getattr(self, name), above=0)
        for name in _NOT_NEGATIVE:
            _check_range(name, getattr(self, name), least=0)
        _check_range("hopeless_below", self.hopeless_below, least=0, most=1)
        _check_range("cooling", self.cooling, above=0, most=1)
        _check_range("mastery", self.mastery, least=0, most=1)
        if self.updates_a_round % self.episode:
            raise ValueError(
                "updates_a_round must be a multiple of the windows of an episode, "
                f"{self.episode}, got {self.updates_a_round}."
            )
        _check_range("seed", self.seed, least=0, most=2**31 - 1)
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
        if self.model in MEMORY_KINDS:
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
    "learning_rate",
    "initial_scale",
    "checkpoint_seconds",
    "clip_norm",
    "clip_value",
    "capacity",
    "minutes",
)
_NOT_NEGATIVE = ("memories", "action_noise")


def kind_of(annotation) -> tuple[type, bool]:
    """The type of a field, and whether it may be None."""
    if isinstance(annotation, types.UnionType):
        return typing.get_args(annotation)[0], True
    return annotation, False


def flag_of(name: str) -> str:
    """The name of the flag for a value."""
    return TrainingConfig.__dataclass_fields__[name].metadata.get("flag", name)


def _command(flags: list[str]) -> str:
    return shlex.join(["python", "train.py", *flags])


def _check_type(name: str, value, annotation) -> None:
    kind, optional = kind_of(annotation)
    if value is None and optional:
        return
    fits = isinstance(value, kind) or (kind is float and isinstance(value, int))
    if not fits or (isinstance(value, bool) and kind is not bool):
        words = {str: "a text", int: "a whole number", float: "a number", bool: "True or False"}
        raise ValueError(f"{name} must be {words[kind]}, got {value!r}.")


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}.")


def _check_range(name: str, value, *, above=-math.inf, least=-math.inf, most=math.inf) -> None:
    if value is None or (above < value and least <= value <= most and math.isfinite(value)):
        return
    lower = f"above {above}" if above > -math.inf else f"{least} or more"
    upper = f" and at most {most}" if most < math.inf else ""
    raise ValueError(f"{name} must be {lower}{upper}, got {value}.")
