"""Reads sequences with a model, symbol by symbol in one loop that every signature shares."""

import tensorflow as tf

from keras_stackrnn.export.layers import MemoryLayer, PlainLayer
from keras_stackrnn.models import MEMORY_KINDS, NextSymbolModel


class Reader:
    """A model as the loop sees it.

    Args:
        model: A `NextSymbolModel` whose memories, if it has any, have no capacity.
    """

    def __init__(self, model: NextSymbolModel):
        self.model = model
        self.has_memory = model.kind in MEMORY_KINDS
        layer = MemoryLayer if self.has_memory else PlainLayer
        self.layers = [layer(each, i) for i, each in enumerate(model.recurrent)]

    @property
    def state_specs(self) -> dict[str, tf.TensorSpec]:
        return {name: spec for layer in self.layers for name, spec in layer.specs.items()}

    def initial_state(self, batch_size):
        states = [layer.initial_state(batch_size) for layer in self.layers]
        return {name: tensor for state in states for name, tensor in state.items()}

    def begin(self, states, steps):
        """What the loop carries, from what a request does, with room for `steps` symbols more."""
        return [layer.begin(states, steps) for layer in self.layers]

    def stepper(self):
        """The step of all layers: token ids `[batch]` and what is carried, to what is carried and
        the actions on each layer's memories."""
        steps = [layer.stepper() for layer in self.layers]

        def advance(tokens, carried, alive):
            inputs = tokens if self.model.embedding is None else self.model.embedding(tokens)
            after, actions = [], []
            for layer, step, state in zip(self.layers, steps, carried, strict=True):
                state, taken = step(inputs, state, alive)
                inputs = layer.hidden(state)
                after.append(state)
                actions.append(taken)
            return after, actions

        return advance

    def read(self, tokens, lengths, carried, advance, traced=False):
        """Reads the first `lengths` tokens of every row.

        Args:
            tokens: `[batch, steps]`.
            lengths: `[batch]`.
            carried: From `begin`.
            advance: From `stepper`.
            traced: Whether to keep what the memories did.

        Returns:
            What is carried after the last symbol of each row; and a list of records, each
            `[1 + longest, …]`, beginning with what was there before the first symbol: the last
            layer's hidden units, `[batch, units]`, and, if `traced`, each layer's actions,
            `[actions, lanes]`, then each layer's tops, `[lanes]`, then each layer's hidden units.
        """
        steps = longest(lengths)
        columns = tf.transpose(tokens)

        def record(carried, actions):
            kept = [self.hidden(carried)]
            if traced:
                pairs = list(zip(self.layers, carried, strict=True))
                kept += [*actions, *(layer.tops(state) for layer, state in pairs)]
                kept += [layer.hidden(state) for layer, state in pairs]
            return kept

        none = [self._no_actions(tf.shape(lengths)[0]) for _ in self.layers] if traced else []
        first = record(carried, none)
        records = [
            tf.TensorArray(each.dtype, steps + 1, element_shape=each.shape).write(0, each)
            for each in first
        ]

        def step(t, carried, records):
            carried, actions = advance(columns[t], carried, t < lengths)
            now = zip(records, record(carried, actions), strict=True)
            return t + 1, carried, [array.write(t + 1, each) for array, each in now]

        _, carried, records = tf.while_loop(
            lambda t, *_: t < steps, step, (0, carried, records), parallel_iterations=1
        )
        return carried, [array.stack() for array in records]

    def _no_actions(self, batch):
        cell = self.layers[0].cell
        return tf.zeros([len(cell.actions), cell.num_memories * batch])

    def hidden(self, carried):
        """The hidden units that the prediction is made from."""
        return self.layers[-1].hidden(carried[-1])

    def logits(self, hidden):
        return self.model.output_layer(hidden)

    def end(self, carried):
        """What a request carries, from what the loop does."""
        pairs = zip(self.layers, carried, strict=True)
        states = [layer.end(state) for layer, state in pairs]
        return {name: tensor for state in states for name, tensor in state.items()}


def longest(lengths):
    """The largest length, 0 of none."""
    return tf.reduce_max(tf.concat([[0], lengths], axis=0))
