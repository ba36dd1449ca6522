"""Gated recurrent units, with Keras' equations (`reset_after=True`) and its order of gates."""

import dataclasses

from keras import ops

from keras_stackrnn.controllers.controller import Controller


@dataclasses.dataclass(frozen=True)
class GRU(Controller):
    """`hidden = update * hidden + (1 - update) * activation(inputs + reset * recurrent)`."""

    name = "gru"
    gates = 3
    records = ("gates", "from_hidden")
    carries_hidden = True
    gates_apart = (2,)
    # Of what comes from the input, and of what comes from the hidden units.
    biases = 2

    def step(self, inputs, recurrent, states):
        update, reset, candidate = inputs
        hidden = states["hidden"]
        if recurrent is None:
            recurrent = [ops.zeros_like(hidden)] * 3
        update = ops.sigmoid(update + recurrent[0])
        reset = ops.sigmoid(reset + recurrent[1])
        candidate = self._activate(candidate + reset * recurrent[2])
        kept = {"gates": [update, reset, candidate], "from_hidden": recurrent[2]}
        return {"hidden": update * hidden + (1 - update) * candidate}, kept

    def back(self, d_states, hidden, kept):
        update, reset, candidate = kept["gates"]
        d_hidden = d_states["hidden"]
        d_update = d_hidden * (kept["earlier_hidden"] - candidate) * update * (1 - update)
        d_candidate = d_hidden * (1 - update) * self._derivative(candidate)
        d_reset = d_candidate * kept["from_hidden"] * reset * (1 - reset)
        d_before = [d_update, d_reset, d_candidate]
        d_recurrent = [d_update, d_reset, d_candidate * reset]
        return d_before, d_recurrent, {"hidden": d_hidden * update}
