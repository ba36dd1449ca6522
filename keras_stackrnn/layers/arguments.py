"""What cells and layers are given: how it is handed on, and how bad input is refused."""

import difflib
import inspect
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from keras import activations

from keras_stackrnn.types import Activation, Tensor

# What every Keras layer takes, beside what its signature names.
_OF_ANY_LAYER = ("input_dim", "input_shape", "batch_shape", "batch_input_shape", "build_config")


def arguments(given: dict[str, Any]) -> dict[str, Any]:
    """What an `__init__` was given, of its first `locals()`, for the one of its base class.

    A class shows its users all that it takes; its base class is then called with
    `super().__init__(**arguments(locals()))`.
    """
    cls = type(given["self"])
    renamed = cls.own_names()
    refuse_unknown(cls, given["kwargs"].keys() & renamed.keys(), renamed=renamed)
    own = {name: given[name] for name in given if name not in ("self", "__class__", "kwargs")}
    return {**own, **given["kwargs"]}


def by_own_names(given: dict[str, Any], own_names: Mapping[str, str]) -> dict[str, Any]:
    """Arguments by the names that a class has for them, where its base class has others."""
    names = {general: given[general] for general in own_names}
    return {**{own_names[general]: value for general, value in names.items()}, **given}


def refuse_unknown(
    cls: type, given: Iterable[str], more: Iterable[str] = (), renamed: Mapping[str, str] = {}
) -> None:
    """Raises if a class has no argument of a name, and says which one may have been meant.

    Args:
        cls: A Keras layer or cell.
        given: The names of the keyword arguments it was given.
        more: What it takes beside what the signatures of the class and its bases name.
        renamed: What it calls arguments for which its bases have another name.
    """
    known = {*_OF_ANY_LAYER, *more, *signature_names(cls.__mro__[:-1]), *renamed.values()}
    known -= renamed.keys()
    for name in given:
        if name not in known:
            close = renamed.get(name) or _closest(name, known)
            hint = f": did you mean `{close}`?" if close else "."
            raise ValueError(f"{cls.__name__} has no argument `{name}`{hint}")


def signature_names(classes: Iterable[type]) -> set[str]:
    """The names of all arguments that classes are made with."""
    initialisers = [vars(cls)["__init__"] for cls in classes if "__init__" in vars(cls)]
    return {name for each in initialisers for name in inspect.signature(each).parameters}


def _closest(name, known):
    return next(iter(difflib.get_close_matches(name, sorted(known), n=1)), None)


def require_positive_integer(name: str, value: Any) -> int:
    """Returns an integer of any kind, NumPy's too, as the `int` that serialises."""
    try:
        integer = 0 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        integer = 0
    if integer <= 0:
        raise ValueError(
            f"Received an invalid value for argument `{name}`: expected a positive integer, "
            f"got {value!r}."
        )
    return integer


def require_rate(name: str, value: Any) -> float:
    """Returns a share of what is dropped, as the `float` that serialises."""
    try:
        rate = float(value)
    except (TypeError, ValueError):
        rate = -1.0
    if not 0 <= rate < 1:
        raise ValueError(
            f"Received an invalid value for argument `{name}`: expected a number from 0 to below "
            f"1, got {value!r}."
        )
    return rate


def require_activation(value: Activation) -> Callable[..., Tensor]:
    """Returns the Keras activation of a name, or a callable as it is."""
    try:
        return activations.get(value)
    except ValueError:
        raise ValueError(
            "Received an invalid value for argument `activation`: expected the name of a Keras "
            f"activation or a callable, got {value!r}."
        ) from None
