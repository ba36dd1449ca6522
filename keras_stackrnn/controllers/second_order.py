"""For discrete states: the input chooses the table that says which state comes next."""

import dataclasses
from collections.abc import Callable

from keras import ops

from keras_stackrnn.controllers.controller import Controller


@dataclasses.dataclass(frozen=True)
class SecondOrder(Controller):
    """`hidden = softmax(kernel[input] ([hidden; 1] ⊗ [read; 1]))`.

    The hidden units are the probabilities of states. Actions come from the same pairs of a state
    and a number that was read, as in the table of a pushdown automaton; for inputs that are not
    one-hot, `kernel[input]` is the sum of the tables that their features choose.

    Attributes:
        writes_hidden: Whether the element written is the hidden units before the step.
    """

    activation: str | Callable = "softmax"
    writes_hidden: bool = False

    name = "second_order"
    order = 2
    records = ("inputs",)
    carries_hidden = True

    def __post_init__(self):
        if self.activation != "softmax":
            raise ValueError(
                "The hidden units of controller='second_order' are the probabilities of states: "
                f"expected activation='auto', got {self.activation!r}."
            )

    def step(self, inputs, recurrent, states, axis=-1):
        """`inputs` are the states' logits, along an axis."""
        [logits] = inputs
        # Not ops.softmax, which transposes where the axis is not the last one.
        powers = ops.exp(logits - ops.max(logits, axis=axis, keepdims=True))
        return {"hidden": powers / ops.sum(powers, axis=axis, keepdims=True)}, {}

    def back(self, d_states, hidden, kept, axis=-1):
        d_hidden = d_states["hidden"]
        mean = ops.sum(hidden * d_hidden, axis=axis, keepdims=True)
        d_logits = [hidden * (d_hidden - mean)]
        return d_logits, d_logits, {}

    @property
    def can_go_back(self):
        return True
