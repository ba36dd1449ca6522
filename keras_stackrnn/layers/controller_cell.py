"""ControllerCell: a controller alone, without a memory."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_stackrnn.layers.arguments import arguments, require_positive_integer
from keras_stackrnn.layers.controlled_cell import ControlledCell
from keras_stackrnn.types import Activation, Constraint, Initializer, Regularizer, Tensor


@keras.saving.register_keras_serializable(package="keras_stackrnn")
class ControllerCell(ControlledCell):
    """Cell class for a controller that has no memory to decide about.

    `"simple"`, `"gru"` and `"lstm"` are Keras' own cells. `"second_order"` is for discrete states:
    its hidden units are the probabilities of states, and the symbol read chooses the table that
    says which one comes next:

    ```
    hidden = softmax(sum over i of inputs[i] * kernel[i] @ [hidden; 1] + bias)
    ```

    Such tables are found from large weights: initialise them with a standard deviation of 1.

    Args:
        units: Positive integer, the number of hidden units and of outputs.
        controller: `"simple"`, `"gru"`, `"lstm"` or `"second_order"`.
        use_bias: Boolean, whether hidden units have biases.
        activation: Activation function of the hidden units; `"auto"`: the controller's own.
        kernel_initializer, recurrent_initializer, bias_initializer: Initializers of the weights.
        kernel_regularizer, …: Regularizers of the same weights.
        kernel_constraint, …: Constraints of the same weights.
        **kwargs: The arguments of every Keras layer.

    Call arguments:
        inputs: A 2D tensor of floats, with shape `(batch, features)`.
        states: List of the controller's states, `[hidden]`, of an LSTM `[hidden, cell]`.

    Example:

    ```python
    cell = keras_stackrnn.ControllerCell(
        8, controller="second_order", kernel_initializer=keras.initializers.RandomNormal(stddev=1)
    )
    outputs = keras.layers.RNN(cell)(np.eye(3, dtype="float32")[[[0, 2, 1]]])  # `(1, 8)`
    ```
    """

    def __init__(
        self,
        units: int,
        controller: str = "simple",
        use_bias: bool = False,
        activation: Activation = "auto",
        *,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        **kwargs: Any,
    ) -> None:
        given = arguments(locals())
        units = require_positive_integer("units", units)
        options = {name: given[name] for name in self.weight_options()}
        super().__init__(units, controller, activation, True, use_bias, False, options, **kwargs)
        self.state_size = [units] * len(self.controller.states)

    @classmethod
    def weight_names(cls) -> Sequence[str]:
        return ("kernel", "recurrent", "bias")

    def build(self, input_shape: Sequence[int | None]) -> None:
        self.check_step_shape(input_shape)
        self._build_controller(input_shape[-1], None, {})

    def call(
        self, inputs: Tensor, states: Sequence[Tensor], training: bool | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        self.check_step_shape(inputs.shape)
        self.check_inputs(inputs)
        earlier = dict(zip(self.controller.states, states, strict=True))
        after, _ = self.decide(self.projected(inputs), None, earlier)
        return after["hidden"], [after[name] for name in self.controller.states]

    def get_initial_state(self, batch_size: int | Tensor | None = None) -> list[Tensor]:
        return [ops.zeros((batch_size, size), dtype=self.compute_dtype) for size in self.state_size]

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "controller": self.controller.name}
