"""A cell of Keras, or of a user's own, that decides: it runs as it is, in a loop."""

import dataclasses
from typing import Any

import keras
from keras import tree

from keras_stackrnn.controllers.controller import Controller


@dataclasses.dataclass(frozen=True)
class KerasCell(Controller):
    """Gives a Keras cell the inputs and what was read; its output are the hidden units.

    Attributes:
        cell: A Keras layer whose call takes inputs and a list of states, as those in
            `keras.layers.RNN` do.
    """

    activation: str = "linear"
    cell: Any = None

    name = "keras_cell"
    order = 0

    def __post_init__(self):
        if not (isinstance(self.cell, keras.layers.Layer) and hasattr(self.cell, "state_size")):
            raise ValueError(
                "Received an invalid value for argument `controller`: expected the name of one, or "
                f"a Keras cell, got {self.cell!r}."
            )

        for name in ("dropout", "recurrent_dropout"):
            if rate := getattr(self.cell, name, 0):
                raise ValueError(
                    "What is dropped of a controller's inputs is said to the layer with memory, "
                    f"not to it: expected a {type(self.cell).__name__} with {name}=0, got {rate}."
                )

    @property
    def states(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(f"controller_{i}" for i in range(len(self.state_sizes(0))))

    def state_sizes(self, units):
        return tree.flatten(self.cell.state_size)

    @property
    def output_size(self) -> int:
        """How many hidden units it gives."""
        return getattr(self.cell, "output_size", self.state_sizes(0)[0])

    def step(self, inputs, recurrent, states):
        [seen] = inputs
        output, after = self.cell(seen, [states[name] for name in self.states])
        after = dict(zip(self.states, tree.flatten(after), strict=True))
        return {**after, "hidden": output}, {}

    def back(self, d_states, hidden, kept):
        raise NotImplementedError("Of a Keras cell only Keras knows the way back.")

    @property
    def can_go_back(self):
        return False

    def description(self):
        return keras.saving.serialize_keras_object(self.cell)
