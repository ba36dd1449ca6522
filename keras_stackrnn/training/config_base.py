"""What every configuration has: the model, its lanes, where it goes; checks, JSON and commands."""

import dataclasses
import shlex
from typing import ClassVar, Self

from keras_stackrnn import controllers, startup
from keras_stackrnn.models import has_memory, kinds
from keras_stackrnn.training.architecture import Architecture
from keras_stackrnn.training.checks import check_choice, check_range, check_type

OPTIMIZERS = ("adam", "sgd")
# What models without a memory have nothing of.
_OF_MEMORIES = {"element_size": 1, "controller": "simple", "writes_hidden": False}


def value(help: str, *, flag: str | None = None, choices: tuple[str, ...] = (), **bounds):
    """A value of a configuration.

    Args:
        help: What it is, in a sentence.
        flag: The name of its flag, where that is not the value's name.
        choices: What it can be; anything of its type if not given.
        **bounds: Those of `check_range`.
    """
    metadata = {"help": help, "flag": flag, "choices": choices, "bounds": bounds}
    return dataclasses.field(metadata=metadata)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
    """Base of the configurations: what all of them have, and where the values come from.

    A subclass adds values of its own, and says which tasks and recipes there are.
    """

    # Whether processes can train one model together.
    CAN_SHARE: ClassVar[bool] = False
    # They say where a run is kept and when it stops, not what it computes.
    FREE_ON_RESUME: ClassVar = ("output_dir", "minutes", "checkpoint_seconds")
    # What configurations did not have from the first, and what runs without it did.
    LATER: ClassVar[dict] = _OF_MEMORIES
    # The first is the default.
    RECIPES: ClassVar[tuple[str, ...]] = ()
    # Values that say what the task is and not how it is learned: no recipe has them.
    OF_TASK: ClassVar[tuple[str, ...]] = ()

    # What is learned, by what.
    task: str = value("What to learn: the name of a pattern, penn_treebank, or text.")
    model: str = value(f"One of {', '.join(kinds())}.")
    recipe: str = value(
        "Where defaults come from: fast, or the paper's own set-up, paper; for text plain or tuned."
    )
    seed: int = value("Everything random follows from it.", least=0, most=2**31 - 1)
    units: int = value("Hidden units of a layer.", above=0)
    layers: int = value("Recurrent layers.", above=0)
    memories: int = value("Memories of a layer; 0 of a model that has none.", least=0)
    no_op: bool = value("Whether leaving the memory as it is, is one of the actions.")
    read_depth: int = value("Elements of a memory that are read.", above=0)
    element_size: int = value("Numbers of an element of a memory.", above=0)
    controller: str = value(
        f"What decides about the memory: {', '.join(controllers.names())}.",
        choices=controllers.names(),
    )
    writes_hidden: bool = value(
        "Whether the element written is the hidden units before the step; with second_order, and "
        "an element_size of as many as units."
    )
    capacity: int | None = value(
        "Elements a memory holds in training; later it is unbounded.", above=0
    )

    # What it reads.
    lanes: int = value(
        "Streams of sequences, or parts of a text, that are read side by side.", above=0
    )
    window: int = value(
        "Symbols of a lane in one update; the gradient goes no further back.", above=0
    )

    # How it learns.
    updates_a_round: int = value(
        "Updates between two validations, or between two looks at the clock.", above=0
    )
    optimizer: str = value("One of adam, sgd.", choices=OPTIMIZERS)
    learning_rate: float = value("Learning rate at the beginning.", above=0)
    centred: bool = value("Whether sigmoids are learned from as if they lay around 0.")

    # Where it goes, and when it stops.
    output_dir: str = value("Folder for everything the run leaves behind.")
    minutes: float | None = value(
        "Budget of the training; then the best so far is evaluated.", above=0
    )
    checkpoint_seconds: float = value("Seconds between two checkpoints.", above=0)

    @classmethod
    def from_recipe(
        cls, task: str, model: str | None = None, recipe: str | None = None, **given
    ) -> Self:
        """A recipe's configuration, with values of your own in the place of its."""
        recipe = cls.RECIPES[0] if recipe is None else recipe
        cls.check_task(task)
        model = cls.model_for(task) if model is None else model
        check_choice("model", model, kinds())
        check_choice("recipe", recipe, cls.RECIPES)
        unknown = given.keys() - {field.name for field in dataclasses.fields(cls)}
        if unknown:
            raise ValueError(f"A training has no value {min(unknown)!r}.")
        usual = {"output_dir": f"runs/{task}", **cls.defaults(task, model, recipe, given)}
        return cls(task=task, model=model, recipe=recipe, **{**usual, **given})

    @classmethod
    def check_task(cls, task: str) -> None:
        """Raises unless there is such a task."""
        raise NotImplementedError("A configuration says which tasks there are.")

    @classmethod
    def model_for(cls, task: str) -> str:
        """The model that a task is learned by if none is asked for."""
        return "stack"

    @classmethod
    def defaults(cls, task: str, model: str, recipe: str, given: dict) -> dict:
        """The recipe's values beside those that are given."""
        raise NotImplementedError("A configuration says where its defaults come from.")

    @classmethod
    def from_json(cls, given: dict) -> Self:
        """The configuration whose `to_json()` this is."""
        given = {**cls.LATER, **given}
        names = {field.name for field in dataclasses.fields(cls)}
        for wrong in sorted(names ^ given.keys()):
            fault = "lacks" if wrong in names else "has an unknown value"
            raise ValueError(
                f"The configuration {fault} {wrong!r}: another version of keras_stackrnn wrote it."
            )
        return cls(**given)

    def to_json(self) -> dict:
        return dataclasses.asdict(self)

    def __post_init__(self):
        fields = dataclasses.fields(self)
        for field in fields:
            check_type(field.name, getattr(self, field.name), field.type)
        self.check_task(self.task)
        # Kinds of memory may be registered at any time, so that this is no constant.
        check_choice("model", self.model, kinds())
        check_choice("recipe", self.recipe, self.RECIPES)
        for field in fields:
            if field.metadata["choices"]:
                check_choice(field.name, getattr(self, field.name), field.metadata["choices"])
        for field in fields:
            if field.metadata["bounds"]:
                check_range(field.name, getattr(self, field.name), **field.metadata["bounds"])

    def check_memory(self, *further: str) -> None:
        """Raises unless there are memories where there have to be, and none elsewhere.

        `further` are values that also have a meaning for memories alone.
        """
        if has_memory(self.model):
            if self.memories < 1:
                raise ValueError(
                    f"model={self.model!r} needs memories of 1 or more, got {self.memories}."
                )
            if self.capacity is None or self.capacity < self.read_depth:
                raise ValueError(
                    f"capacity must be at least read_depth, {self.read_depth}, got {self.capacity}."
                )
            controllers.get(self.controller, writes_hidden=self.writes_hidden)
            if self.writes_hidden and self.element_size != self.units:
                raise ValueError(
                    "With writes_hidden an element is as large as the hidden units: element_size "
                    f"must be {self.units}, got {self.element_size}."
                )
            return
        for name, usual in _OF_MEMORIES.items():
            if (value := getattr(self, name)) != usual:
                raise ValueError(
                    f"model={self.model!r} has no memory to act on, got {name}={value}; "
                    "stack, for example, has one."
                )
        for name in (*further, "no_op", "memories"):
            if value := getattr(self, name):
                raise ValueError(
                    f"model={self.model!r} has no memory to act on, got {name}={value}; "
                    "stack, for example, has one."
                )

    def architecture(self, symbols: int, outputs: int | None = None) -> Architecture:
        """The model to train, for so many symbols, and as many answers if nothing else is said."""
        return Architecture(
            self.model,
            symbols,
            self.units,
            self.layers,
            self.memories,
            self.capacity,
            self.read_depth,
            self.no_op,
            element_size=self.element_size,
            controller=self.controller,
            writes_hidden=self.writes_hidden,
            outputs=outputs,
        )

    def command(self) -> str:
        """The command that runs this again."""
        of_task = {name: getattr(self, name) for name in self.OF_TASK}
        of_task = {name: each for name, each in of_task.items() if each is not None}
        usual = self.from_recipe(self.task, self.model, self.recipe, **of_task)
        first = self.from_recipe(self.task, **of_task)
        shown = {"task": self.task, **of_task}
        for name in ("model", "recipe"):
            if getattr(self, name) != getattr(first, name):
                shown[name] = getattr(self, name)
        names = [field.name for field in dataclasses.fields(self)]
        for name in sorted(names, key=self.FREE_ON_RESUME.__contains__):
            each = getattr(self, name)
            if each != getattr(usual, name) and each is not None:
                shown[name] = each
        return _command([f"--{self.flag_of(name)}={each}" for name, each in shown.items()])

    def resume_command(self) -> str:
        """The command that goes on with this run."""
        if self.output_dir == f"runs/{self.task}":
            return _command([f"--task={self.task}", "--resume"])
        return _command([f"--output_dir={self.output_dir}", "--resume"])

    @classmethod
    def flag_of(cls, name: str) -> str:
        """The name of the flag for a value."""
        return cls.__dataclass_fields__[name].metadata["flag"] or name


def _command(flags: list[str]) -> str:
    return f"{startup.training_call()} {shlex.join(flags)}"
