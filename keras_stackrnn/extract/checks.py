"""Which models a table can be read out of; all others are answered with one sentence."""

from keras_stackrnn.controllers import Simple
from keras_stackrnn.extract.intervals import ACTIVATIONS
from keras_stackrnn.models import NextSymbolModel


def require_extractable(model, name: str) -> NextSymbolModel:
    """The model itself, with memories that lose nothing, if it rounds and has just one layer."""
    if not isinstance(model, NextSymbolModel):
        raise ValueError(
            f"There is no table to read out of {name}: expected a NextSymbolModel, got a "
            f"{type(model).__name__}."
        )
    if not model.has_memory:
        raise ValueError(
            f"There is no table to read out of {name}, which is a {model.kind!r} and has no "
            "memory: expected a model with stacks, lists or the like."
        )
    if model.num_layers != 1:
        raise ValueError(
            f"A table is read out of one layer, and {name} has {model.num_layers}: train one with "
            "--layers=1."
        )
    if not model.rounding:
        raise ValueError(
            f"The actions of {name} are mixed, and only rounded ones make a table: take its "
            "rounded twin with --rounding, or model.twin(rounding=True)."
        )
    [layer] = model.recurrent
    controller = layer.cell.controller
    if not isinstance(controller, Simple):
        raise ValueError(
            f"Tables are read out of the controller 'simple', and that of {name} is "
            f"{controller.name!r}: train one with --controller=simple."
        )
    activation = controller.activation
    if activation not in ACTIVATIONS:
        raise ValueError(
            f"The activation of {name} is {activation!r}, and bounds are known for "
            f"{', '.join(ACTIVATIONS)}."
        )
    if model.compute_dtype not in ("float32", "float64"):
        raise ValueError(
            f"Bounds are known for float32 and float64, and {name} computes in "
            f"{model.compute_dtype}."
        )
    # Rounded memories are evaluated without a bound: so is the table.
    return model if model.capacity is None else model.twin(capacity=None)
