"""What a controller is: how many gates it has, what its state is, one step and the way back."""

import abc
import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

from keras import activations, ops

# The derivatives of the activations that steps back know, from the activation's output.
DERIVATIVES: dict[Any, Callable] = {
    "sigmoid": lambda y: y * (1 - y),
    "tanh": lambda y: 1 - y * y,
    "relu": lambda y: ops.cast(y > 0, y.dtype),
    "linear": ops.ones_like,
}


@dataclasses.dataclass(frozen=True)
class Controller(abc.ABC):
    """Turns what a step reads into hidden units.

    A gate is a block of `units` numbers. All tensors here are one gate's or one state's, of any
    shape: the same equations serve Keras' layout and the kernels'.

    Attributes:
        activation: Name of the activation of the candidate for the hidden units, or a callable.
    """

    activation: str | Callable = "tanh"

    name = ""
    # 1: what comes from the input, from what was read and from the hidden units is added up. 2: it
    # is multiplied, and decides about the memories with the hidden units, not by them. 0: it has
    # weights of its own.
    order = 1
    # Whether the element written is the hidden units before the step.
    writes_hidden = False
    gates = 1
    states: ClassVar[tuple[str, ...]] = ("hidden",)
    # What a step back is handed of its step, beside the hidden units; the first has all gates.
    records: ClassVar[tuple[str, ...]] = ()
    # Whether the hidden units see the ones before them also without a recurrent kernel. A step back
    # is then handed those, too, as `earlier_hidden`.
    carries_hidden = False
    # Which gates' gradients of `recurrent` are others than those of `inputs`.
    gates_apart: ClassVar[tuple[int, ...]] = ()
    # How many biases each gate has.
    biases = 1

    @abc.abstractmethod
    def step(self, inputs: list, recurrent: list | None, states: dict) -> tuple[dict, dict]:
        """One step.

        Args:
            inputs: For each gate what comes from the input and what was read, biases included.
            recurrent: For each gate what comes from the hidden units; `None` if nothing does.
            states: The states before the step, by name.

        Returns:
            The states after it, and for each name in `records` a tensor, or a list of one for
            each gate.
        """

    @abc.abstractmethod
    def back(self, d_states: dict, hidden, kept: dict) -> tuple[list, list, dict]:
        """The gradients of `inputs`, of `recurrent`, and of the states before the step as far as
        they do not come by `recurrent`.

        Args:
            d_states: The gradients of the states after it.
            hidden: The hidden units after it.
            kept: What `step` gave for `records`; gates are a list.
        """

    def state_sizes(self, units: int) -> list[int]:
        """The sizes of the states, for so many hidden units."""
        return [units] * len(self.states)

    def description(self) -> Any:
        """What `controllers.get` makes the same controller of, fit for JSON."""
        return self.name

    @property
    def can_go_back(self) -> bool:
        """Whether the derivative of the activation is known."""
        return self.activation in DERIVATIVES

    def initial_bias(self, initializer):
        """The initializer of all gates' biases, of the one that is given."""
        return initializer

    def _activate(self, tensor):
        return activations.get(self.activation)(tensor)

    def _derivative(self, activated):
        return DERIVATIVES[self.activation](activated)
