"""What decides: controllers read the input, their state and the memory, and give hidden units."""

from typing import Any

import keras

from keras_stackrnn.controllers.controller import Controller
from keras_stackrnn.controllers.gru import GRU
from keras_stackrnn.controllers.keras_cell import KerasCell
from keras_stackrnn.controllers.lstm import LSTM
from keras_stackrnn.controllers.second_order import SecondOrder
from keras_stackrnn.controllers.simple import Simple

_CONTROLLERS = {controller.name: controller for controller in (Simple, GRU, LSTM, SecondOrder)}

__all__ = ["GRU", "LSTM", "Controller", "KerasCell", "SecondOrder", "Simple", "get", "names"]


def names() -> tuple[str, ...]:
    """The names of all controllers."""
    return tuple(_CONTROLLERS)


def get(name: Any, activation="auto", writes_hidden: bool = False) -> Controller:
    """A controller by its name, or a Keras cell as one.

    Args:
        name: A name, a Keras cell, or the `description()` of a controller.
        activation: `"auto"`: the controller's own, `None`: none.
        writes_hidden: Whether the element written is the hidden units before the step.
    """
    if not isinstance(name, str):
        return _of_keras(name, activation, writes_hidden)
    if name not in _CONTROLLERS:
        raise ValueError(
            "Received an invalid value for argument `controller`: expected one of "
            f"{', '.join(map(repr, _CONTROLLERS))}, got {name!r}."
        )
    controller = _CONTROLLERS[name]
    options: dict[str, Any] = {}
    if writes_hidden:
        if controller.order == 1:
            raise ValueError(
                f"controller={name!r} decides what is written: expected writes_hidden=False, got "
                f"True; {SecondOrder.name!r} can write its hidden units."
            )
        options["writes_hidden"] = True
    if isinstance(activation, str) and activation == "auto":
        return controller(**options)
    return controller("linear" if activation is None else activation, **options)


def _of_keras(cell, activation, writes_hidden):
    controller = KerasCell(
        cell=keras.saving.deserialize_keras_object(cell) if isinstance(cell, dict) else cell
    )
    for name, got, expected in (
        ("activation", activation, "auto"),
        ("writes_hidden", writes_hidden, False),
    ):
        if got not in (expected, controller.activation):
            raise ValueError(
                f"A Keras cell decides by itself: expected {name}={expected!r}, got {got!r}."
            )
    return controller
