"""Long short-term memory, with Keras' equations and its order of gates."""

import dataclasses

import numpy as np
from keras import ops

from keras_stackrnn.controllers.controller import Controller


@dataclasses.dataclass(frozen=True)
class LSTM(Controller):
    """`cell = forget * cell + input * candidate; hidden = output * activation(cell)`."""

    name = "lstm"
    gates = 4
    states = ("hidden", "cell")
    records = ("gates", "earlier_cell")

    def step(self, inputs, recurrent, states):
        if recurrent is not None:
            inputs = [one + other for one, other in zip(inputs, recurrent, strict=True)]
        write, forget, candidate, output = inputs
        write, forget, output = (ops.sigmoid(gate) for gate in (write, forget, output))
        candidate = self._activate(candidate)
        cell = forget * states["cell"] + write * candidate
        kept = {"gates": [write, forget, candidate, output], "earlier_cell": states["cell"]}
        return {"hidden": output * self._activate(cell), "cell": cell}, kept

    def back(self, d_states, hidden, kept):
        write, forget, candidate, output = kept["gates"]
        earlier = kept["earlier_cell"]
        activated = self._activate(forget * earlier + write * candidate)
        d_hidden = d_states["hidden"]
        d_cell = d_states["cell"] + d_hidden * output * self._derivative(activated)
        d_before = [
            d_cell * candidate * write * (1 - write),
            d_cell * earlier * forget * (1 - forget),
            d_cell * write * self._derivative(candidate),
            d_hidden * activated * output * (1 - output),
        ]
        return d_before, d_before, {"cell": d_cell * forget}

    def initial_bias(self, initializer):
        """The forget gate's are 1, so that cells remember from the start."""

        def initialise(shape, dtype=None):
            bias = np.array(ops.convert_to_numpy(initializer(shape, dtype=dtype)))
            units = shape[-1] // self.gates
            bias[..., units : 2 * units] = 1
            return ops.convert_to_tensor(bias, dtype=dtype)

        return initialise
