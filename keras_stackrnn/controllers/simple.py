"""The paper's controller: the hidden units are one gate."""

import dataclasses
from collections.abc import Callable

from keras_stackrnn.controllers.controller import Controller


@dataclasses.dataclass(frozen=True)
class Simple(Controller):
    """`hidden = activation(inputs + recurrent)`, equation 6."""

    activation: str | Callable = "sigmoid"

    name = "simple"

    def step(self, inputs, recurrent, states):
        [before] = inputs
        if recurrent is not None:
            before = before + recurrent[0]
        return {"hidden": self._activate(before)}, {}

    def back(self, d_states, hidden, kept):
        d_before = [d_states["hidden"] * self._derivative(hidden)]
        return d_before, d_before, {}
