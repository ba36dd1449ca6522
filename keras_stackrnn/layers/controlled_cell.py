"""What all cells share in which a controller decides: its weights, and what it makes of a step."""

import dataclasses
from typing import Any

import keras

from keras_stackrnn import controllers
from keras_stackrnn.layers import first_order, keras_controller, second_order
from keras_stackrnn.layers.recurrent_cell import RecurrentCell
from keras_stackrnn.types import Activation, Tensor

# How weights are multiplied with what a step reads, by the order of the controller.
_WIRING = {0: keras_controller, 1: first_order, 2: second_order}


class ControlledCell(RecurrentCell):
    """Base of the cells that have a controller.

    Args:
        units: The number of hidden units.
        controller: The name of a controller, or a Keras cell.
        activation: Activation function of the hidden units, or `"auto"`.
        use_recurrent_kernel: Whether the hidden units see their last values.
        use_bias: Whether there are biases.
        writes_hidden: Whether the element written is the hidden units before the step.
        weight_options: The arguments made of the weights' names.
        **kwargs: The arguments of every Keras layer.
    """

    def __init__(
        self,
        units: int,
        controller: Any,
        activation: Activation,
        use_recurrent_kernel: bool,
        use_bias: bool,
        writes_hidden: bool,
        weight_options: dict[str, Any],
        **kwargs: Any,
    ) -> None:
        chosen = controllers.get(controller, activation, writes_hidden)
        if chosen.order != 1 and not use_recurrent_kernel:
            raise ValueError(
                f"controller={controller!r} always sees its last state: expected "
                "use_recurrent_kernel=True, got False."
            )
        if isinstance(chosen, controllers.KerasCell) and chosen.output_size != units:
            raise ValueError(
                f"The hidden units are what the controller gives: expected units="
                f"{chosen.output_size}, as {type(chosen.cell).__name__} has, got {units}."
            )
        super().__init__(units, use_bias, chosen.activation, weight_options, **kwargs)
        self.controller = dataclasses.replace(chosen, activation=_name_of(self.activation))
        self.use_recurrent_kernel = use_recurrent_kernel
        self.output_size = units

    @property
    def features(self) -> int:
        """How many features of an input it was built for."""
        return self._features

    def _build_controller(self, features, numbers_read, outputs):
        """Adds the weights.

        Args:
            features: How many an input has.
            numbers_read: How many numbers are read from the memory; `None`: there is none.
            outputs: What is decided beside the states: by name, how many numbers.
        """
        self._features = features
        _WIRING[self.controller.order].build(self, features, numbers_read, outputs)

    def projected(self, inputs: Tensor) -> Tensor:
        """What can be worked out of the inputs of all steps at once, `[…, features]`."""
        return _WIRING[self.controller.order].projected(self, inputs)

    def decide(
        self,
        projected: Tensor,
        read: Tensor | None,
        states: dict[str, Tensor],
        outputs: tuple[str, ...] = (),
        hidden_mask: Tensor | None = None,
    ) -> tuple[dict[str, Tensor], list[Tensor]]:
        """The controller's states after a step, and the outputs that are named.

        Args:
            projected: What `projected` made of the inputs.
            read: `[batch, numbers]`, what was read.
            states: The states before it, by name.
            outputs: Names of the kernels of what else is decided.
            hidden_mask: What the hidden units are multiplied by before they are seen.
        """
        wiring = _WIRING[self.controller.order]
        return wiring.decide(self, projected, read, states, outputs, hidden_mask)

    @property
    def input_bias(self) -> Tensor | None:
        """The bias of what comes from the input; `None` without."""
        is_one = self.bias is None or self.controller.biases == 1
        return self.bias if is_one else self.bias[0]


def _name_of(activation):
    """A Keras activation's name, or a callable as it is."""
    name = keras.activations.serialize(activation)
    return name if isinstance(name, str) else activation
