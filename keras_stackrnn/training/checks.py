"""Checks of single values: of their type, of the choices there are, of their range."""

import math
import types
import typing


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
