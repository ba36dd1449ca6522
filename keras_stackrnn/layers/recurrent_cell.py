"""What all cells share: their weights' options, and the checks of what they are given."""

import difflib
import inspect
import operator
from collections.abc import Iterable

import keras
from keras import activations, constraints, initializers, regularizers

_WEIGHT_OPTION_KINDS = {
    "initializer": initializers,
    "regularizer": regularizers,
    "constraint": constraints,
}


class RecurrentCell(keras.layers.Layer):
    """Base of the cells: each kind of weight has an initializer, a regularizer and a constraint.

    A subclass says what its weights are called; a name and `_initializer`, `_regularizer` or
    `_constraint` make an argument.
    """

    def __init__(self, units, use_bias, activation, **kwargs):
        refuse_unknown(type(self), kwargs, [name for name, _ in self._weight_options()])
        options = {name: kwargs.pop(name, default) for name, default in self._weight_options()}
        super().__init__(**kwargs)
        self.units = units
        self.use_bias = use_bias
        self.activation = require_activation(activation)
        for name, value in options.items():
            setattr(self, name, _WEIGHT_OPTION_KINDS[name.rsplit("_", 1)[1]].get(value))

    @classmethod
    def weight_initializers(cls) -> dict[str, str]:
        """The default initializer of every kind of weight."""
        raise NotImplementedError("A cell says what its weights are called.")

    @classmethod
    def _weight_options(cls):
        """Yields the name and the default of every initializer, regularizer and constraint."""
        for prefix, initializer in cls.weight_initializers().items():
            yield f"{prefix}_initializer", initializer
            yield f"{prefix}_regularizer", None
            yield f"{prefix}_constraint", None

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

    def get_config(self):
        config = {
            "units": self.units,
            "use_bias": self.use_bias,
            "activation": activations.serialize(self.activation),
        }
        for name, _ in self._weight_options():
            kind = _WEIGHT_OPTION_KINDS[name.rsplit("_", 1)[1]]
            config[name] = kind.serialize(getattr(self, name))
        return {**super().get_config(), **config}

    def check_step_shape(self, shape):
        if len(shape) != 2 or shape[-1] is None:
            raise ValueError(
                f"{type(self).__name__} expects one-hot or embedded inputs of shape "
                "(batch, features) at each step, with the number of features known, "
                f"got shape {tuple(shape)}."
            )

    def check_inputs(self, inputs):
        dtype = keras.backend.standardize_dtype(inputs.dtype)
        if "float" not in dtype:
            raise ValueError(
                f"{type(self).__name__} expects floating-point inputs, got dtype {dtype}: "
                "one-hot encode or embed token ids first."
            )
        if inputs.shape[-1] != self.kernel.shape[0]:
            raise ValueError(
                f"{type(self).__name__} was built for {self.kernel.shape[0]} input features, "
                f"got {inputs.shape[-1]} (inputs of shape {tuple(inputs.shape)})."
            )


# What every Keras layer takes, beside what its signature names.
_OF_ANY_LAYER = ("input_dim", "input_shape", "batch_shape", "batch_input_shape", "build_config")


def refuse_unknown(cls: type, given: Iterable[str], more: Iterable[str] = ()) -> None:
    """Raises if a class has no argument of a name, and says which one may have been meant.

    Args:
        cls: A Keras layer or cell.
        given: The names of the keyword arguments it was given.
        more: What it takes beside what the signatures of the class and its bases name.
    """
    signatures = [inspect.signature(base.__init__).parameters for base in cls.__mro__[:-1]]
    known = {*_OF_ANY_LAYER, *more, *(name for names in signatures for name in names)}
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, sorted(known), n=1)
            hint = f": did you mean `{close[0]}`?" if close else "."
            raise ValueError(f"{cls.__name__} has no argument `{name}`{hint}")


def require_positive_integer(name: str, value) -> int:
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


def require_rate(name: str, value) -> float:
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


def require_activation(value):
    try:
        return activations.get(value)
    except ValueError:
        raise ValueError(
            "Received an invalid value for argument `activation`: expected the name of a Keras "
            f"activation or a callable, got {value!r}."
        ) from None


def add_bias(tensor, bias):
    return tensor if bias is None else tensor + bias
