"""What all cells share: their weights' options, and the checks of their inputs."""

from collections.abc import Iterator, Sequence
from typing import Any

import keras
from keras import activations, constraints, initializers, regularizers

from keras_stackrnn.layers.arguments import refuse_unknown, require_activation
from keras_stackrnn.types import Activation, Tensor

_WEIGHT_OPTION_KINDS = {
    "initializer": initializers,
    "regularizer": regularizers,
    "constraint": constraints,
}


class RecurrentCell(keras.layers.Layer):
    """Base of the cells: each kind of weight has an initializer, a regularizer and a constraint.

    A subclass says what its weights are called; a name and `_initializer`, `_regularizer` or
    `_constraint` make an argument.

    Args:
        units: The number of hidden units.
        use_bias: Whether there are biases.
        activation: Activation function of the hidden units.
        weight_options: The arguments made of the weights' names.
        **kwargs: The arguments of every Keras layer.
    """

    def __init__(
        self,
        units: int,
        use_bias: bool,
        activation: Activation,
        weight_options: dict[str, Any],
        **kwargs: Any,
    ) -> None:
        refuse_unknown(type(self), kwargs, renamed=self.own_names())
        super().__init__(**kwargs)
        self.units = units
        self.use_bias = use_bias
        self.activation = require_activation(activation)
        for name, value in weight_options.items():
            setattr(self, name, _WEIGHT_OPTION_KINDS[name.rsplit("_", 1)[1]].get(value))

    @classmethod
    def weight_names(cls) -> Sequence[str]:
        """What the weights are called."""
        raise NotImplementedError("A cell says what its weights are called.")

    @classmethod
    def weight_options(cls) -> Iterator[str]:
        """The names of all initializers, regularizers and constraints."""
        for kind in _WEIGHT_OPTION_KINDS:
            for weight in cls.weight_names():
                yield f"{weight}_{kind}"

    @classmethod
    def own_names(cls) -> dict[str, str]:
        """What arguments are called here, by the name that a base class has for them."""
        return {}

    @property
    def features(self) -> int:
        """How many features of an input it was built for."""
        return self.kernel.shape[0]

    def _add_kernel(self, prefix, shape):
        return self.add_weight(
            shape=shape,
            name=prefix if prefix == "kernel" else f"{prefix}_kernel",
            initializer=getattr(self, f"{prefix}_initializer"),
            regularizer=getattr(self, f"{prefix}_regularizer"),
            constraint=getattr(self, f"{prefix}_constraint"),
        )

    def _add_bias(self, name, shape, initial=lambda initializer: initializer):
        """A bias, or `None`; `initial` makes its initializer of the one that was given."""
        if not self.use_bias:
            return None
        return self.add_weight(
            shape=shape if isinstance(shape, tuple) else (shape,),
            name=name,
            initializer=initial(self.bias_initializer),
            regularizer=self.bias_regularizer,
            constraint=self.bias_constraint,
        )

    def get_config(self) -> dict[str, Any]:
        config = {
            "units": self.units,
            "use_bias": self.use_bias,
            "activation": activations.serialize(self.activation),
        }
        for name in self.weight_options():
            kind = _WEIGHT_OPTION_KINDS[name.rsplit("_", 1)[1]]
            config[name] = kind.serialize(getattr(self, name))
        return {**super().get_config(), **config}

    def check_step_shape(self, shape: Sequence[int | None]) -> None:
        """Raises unless a shape is that of one step's inputs."""
        if len(shape) != 2 or shape[-1] is None:
            raise ValueError(
                f"{type(self).__name__} expects one-hot or embedded inputs of shape "
                "(batch, features) at each step, with the number of features known, "
                f"got shape {tuple(shape)}."
            )

    def check_inputs(self, inputs: Tensor) -> None:
        """Raises unless inputs are floats, of as many features as the cell was built for."""
        dtype = keras.backend.standardize_dtype(inputs.dtype)
        if "float" not in dtype:
            raise ValueError(
                f"{type(self).__name__} expects floating-point inputs, got dtype {dtype}: "
                "one-hot encode or embed token ids first."
            )
        if inputs.shape[-1] != self.features:
            raise ValueError(
                f"{type(self).__name__} was built for {self.features} input features, "
                f"got {inputs.shape[-1]} (inputs of shape {tuple(inputs.shape)})."
            )


def add_bias(tensor: Tensor, bias: Tensor | None) -> Tensor:
    """The tensor, with the bias if there is one."""
    return tensor if bias is None else tensor + bias
