"""What all configurations share: values with a help text, their checks, JSON and commands."""

import dataclasses
import math
import shlex
import types
import typing


def value(help: str, **metadata):
    """A value of a configuration; `flag` names its flag where that is not the value's name."""
    return dataclasses.field(metadata={"help": help, **metadata})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
    """Base of the configurations: plain values, and where they come from."""

    @classmethod
    def check_names(cls, given: dict) -> None:
        """Raises if there are values that the configuration does not have."""
        unknown = given.keys() - {field.name for field in dataclasses.fields(cls)}
        if unknown:
            raise ValueError(f"A training has no value {min(unknown)!r}.")

    @classmethod
    def from_json(cls, given: dict):
        """The configuration whose `to_json()` this is."""
        names = {field.name for field in dataclasses.fields(cls)}
        for wrong in sorted(names ^ given.keys()):
            fault = "lacks" if wrong in names else "has an unknown value"
            raise ValueError(
                f"The configuration {fault} {wrong!r}: another version of keras_stackrnn wrote it."
            )
        return cls(**given)

    def to_json(self) -> dict:
        return dataclasses.asdict(self)

    def usual(self) -> "Config":
        raise NotImplementedError("A configuration says what its recipe has.")

    def command(self) -> str:
        """The command that runs this again."""
        usual = self.usual()
        first = type(self).from_recipe(self.task)
        shown = {"task": self.task}
        for name in ("model", "recipe"):
            if getattr(self, name) != getattr(first, name):
                shown[name] = getattr(self, name)
        for name, each in self.to_json().items():
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
        return cls.__dataclass_fields__[name].metadata.get("flag", name)

    def check_types(self) -> None:
        for field in dataclasses.fields(self):
            check_type(field.name, getattr(self, field.name), field.type)


def kind_of(annotation) -> tuple[type, bool]:
    """The type of a field, and whether it may be None."""
    if isinstance(annotation, types.UnionType):
        return typing.get_args(annotation)[0], True
    return annotation, False


def check_type(name: str, value, annotation) -> None:
    kind, optional = kind_of(annotation)
    if value is None and optional:
        return
    fits = isinstance(value, kind) or (kind is float and isinstance(value, int))
    if not fits or (isinstance(value, bool) and kind is not bool):
        words = {str: "a text", int: "a whole number", float: "a number", bool: "True or False"}
        raise ValueError(f"{name} must be {words[kind]}, got {value!r}.")


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}.")


def check_range(
    name: str, value, *, above=-math.inf, least=-math.inf, most=math.inf, below=math.inf
) -> None:
    """Raises unless a value is None, or finite and within its bounds."""
    within = value is None or (above < value < below and least <= value <= most)
    if within and (value is None or math.isfinite(value)):
        return
    lower = f"above {above}" if above > -math.inf else f"{least} or more"
    upper = f" and at most {most}" if most < math.inf else ""
    upper += f" and below {below}" if below < math.inf else ""
    raise ValueError(f"{name} must be {lower}{upper}, got {value}.")


def _command(flags: list[str]) -> str:
    return shlex.join(["python", "train.py", *flags])
