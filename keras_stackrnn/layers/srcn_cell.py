"""SRCNCell: one step of a simple recurrent network with slow linear context units."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_stackrnn.layers.arguments import arguments, require_positive_integer
from keras_stackrnn.layers.recurrent_cell import RecurrentCell, add_bias
from keras_stackrnn.types import Activation, Constraint, Initializer, Regularizer, Tensor


@keras.saving.register_keras_serializable(package="keras_stackrnn")
class SRCNCell(RecurrentCell):
    """Cell class for the structurally constrained network of Mikolov et al. (2014).

    Beside its hidden units it has context units without a nonlinearity, each of which sees itself
    through a fixed weight close to 1 and so remembers for long:

    ```
    context = (1 - self_connection) * inputs @ slow_kernel + self_connection * context
    hidden  = activation(context @ context_kernel + inputs @ kernel + hidden @ recurrent_kernel)
    ```

    The output is both, hidden units first, as the prediction is made from both. The states are
    `[hidden, context]`, of sizes `units` and `context_units`.

    Args:
        units: Positive integer, the number of hidden units.
        context_units: Positive integer, the number of context units.
        self_connection: How much of its last value a context unit keeps, from 0 to 1.
        use_bias: Boolean, whether hidden units have biases.
        activation: Activation function of the hidden units.
        kernel_initializer, recurrent_initializer, slow_initializer, context_initializer,
            bias_initializer: Initializers of the weights.
        kernel_regularizer, …: Regularizers of the same weights.
        kernel_constraint, …: Constraints of the same weights.
        **kwargs: The arguments of every Keras layer.

    Call arguments:
        inputs: A 2D tensor of floats, with shape `(batch, features)`.
        states: List of two tensors, `[hidden, context]`.

    Example:

    ```python
    inputs = np.random.random((32, 10, 8)).astype("float32")
    rnn = keras.layers.RNN(keras_stackrnn.SRCNCell(100, context_units=40), return_sequences=True)
    outputs = rnn(inputs)  # The outputs have shape `(32, 10, 140)`.
    ```
    """

    def __init__(
        self,
        units: int,
        context_units: int = 40,
        self_connection: float = 0.95,
        use_bias: bool = False,
        activation: Activation = "sigmoid",
        *,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        slow_initializer: Initializer = "glorot_uniform",
        context_initializer: Initializer = "glorot_uniform",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        slow_regularizer: Regularizer = None,
        context_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        slow_constraint: Constraint = None,
        context_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        **kwargs: Any,
    ) -> None:
        given = arguments(locals())
        units = require_positive_integer("units", units)
        context_units = require_positive_integer("context_units", context_units)
        if isinstance(self_connection, bool) or not _is_share(self_connection):
            raise ValueError(
                "Received an invalid value for argument `self_connection`: expected a number from "
                f"0 to 1, got {self_connection!r}."
            )
        weight_options = {name: given[name] for name in self.weight_options()}
        super().__init__(units, use_bias, activation, weight_options, **kwargs)
        self.context_units = context_units
        self.self_connection = float(self_connection)
        self.state_size = [units, context_units]
        self.output_size = units + context_units

    @classmethod
    def weight_names(cls) -> Sequence[str]:
        return ("kernel", "recurrent", "slow", "context", "bias")

    def build(self, input_shape: Sequence[int | None]) -> None:
        self.check_step_shape(input_shape)
        features = input_shape[-1]
        self.kernel = self._add_kernel("kernel", (features, self.units))
        self.recurrent_kernel = self._add_kernel("recurrent", (self.units, self.units))
        self.slow_kernel = self._add_kernel("slow", (features, self.context_units))
        self.context_kernel = self._add_kernel("context", (self.context_units, self.units))
        self.bias = self._add_bias("bias", self.units)

    def call(
        self, inputs: Tensor, states: Sequence[Tensor], training: bool | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        self.check_step_shape(inputs.shape)
        self.check_inputs(inputs)
        self._check_states(states)
        hidden, context = states
        kept = self.self_connection
        context = (1 - kept) * ops.matmul(inputs, self.slow_kernel) + kept * context
        before = ops.matmul(context, self.context_kernel)
        before = before + ops.matmul(inputs, self.kernel)
        before = before + ops.matmul(hidden, self.recurrent_kernel)
        hidden = self.activation(add_bias(before, self.bias))
        return ops.concatenate([hidden, context], axis=-1), [hidden, context]

    def get_initial_state(self, batch_size: int | Tensor | None = None) -> list[Tensor]:
        return [ops.zeros((batch_size, size), dtype=self.compute_dtype) for size in self.state_size]

    def get_config(self) -> dict[str, Any]:
        config = {"context_units": self.context_units, "self_connection": self.self_connection}
        return {**super().get_config(), **config}

    def _check_states(self, states):
        if len(states) != 2:
            raise ValueError(
                f"{type(self).__name__} expects two states, [hidden, context], got {len(states)}."
            )
        for name, state, size in zip(("hidden", "context"), states, self.state_size, strict=True):
            if len(state.shape) != 2 or state.shape[-1] not in (None, size):
                raise ValueError(
                    f"{type(self).__name__} expects a {name} state of shape (batch, {size}), "
                    f"got shape {tuple(state.shape)}."
                )


def _is_share(value) -> bool:
    try:
        return 0 <= float(value) <= 1
    except (TypeError, ValueError):
        return False
