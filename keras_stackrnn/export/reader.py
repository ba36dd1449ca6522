"""Reads sequences with a model, symbol by symbol in one loop that every signature shares."""

import tensorflow as tf

from keras_stackrnn.export.layers import MemoryLayer, PlainLayer
from keras_stackrnn.export.tensors import longest, reshaped_first
from keras_stackrnn.models import SequenceModel

# Steps that an iteration of the loop takes: an iteration has about forty operations of its own,
# which is more than a step has.
_STEPS_AT_ONCE = 4
# Rounded memories up to so many rows go over all of them at a step in less time than the operations
# take that stacks with pointers need more.
SHALLOW = 100


class Reader:
    """A model as the loop sees it.

    Args:
        model: A `SequenceModel` whose memories, if it has any, have no capacity.
    """

    def __init__(self, model: SequenceModel):
        self.model = model
        self.has_memory = model.has_memory
        layer = MemoryLayer if self.has_memory else PlainLayer
        self.layers = [layer(each, i) for i, each in enumerate(model.recurrent)]
        self.rounds = self.has_memory and self.layers[0].cell.rounding

    @property
    def state_specs(self) -> dict[str, tf.TensorSpec]:
        return {name: spec for layer in self.layers for name, spec in layer.specs.items()}

    def initial_state(self, batch_size):
        states = [layer.initial_state(batch_size) for layer in self.layers]
        return {name: tensor for state in states for name, tensor in state.items()}

    def begin(self, states, steps, piled):
        """What the loop carries, from what a request does, with room for `steps` symbols more."""
        return [layer.begin(states, steps, piled) for layer in self.layers]

    def inputs(self, tokens):
        """What the step takes for token ids of any shape, for all of them at once."""
        embedding = self.model.embedding
        return self.layers[0].projected(tokens if embedding is None else embedding(tokens))

    def stepper(self):
        """The step of all layers: `inputs` of token ids `[batch]` and what is carried, to what is
        carried and the actions on each layer's memories."""
        steps = [layer.stepper() for layer in self.layers]

        def advance(inputs, carried, alive, forced=None):
            after, actions = [], []
            for index, (layer, step, state) in enumerate(
                zip(self.layers, steps, carried, strict=True)
            ):
                if after:
                    inputs = layer.projected(inputs)
                state, taken = step(inputs, state, alive, self._of_layer(forced, index))
                inputs = layer.hidden(state)
                after.append(state)
                actions.append(taken)
            return after, actions

        return advance

    def read(self, tokens, lengths, states, traced=False):
        """Reads the first `lengths` tokens of every row.

        Args:
            tokens: `[batch, columns]`.
            lengths: `[batch]`.
            states: What a request carries.
            traced: Whether to keep what the memories did.

        Returns:
            A list of records, each `[1 + longest, …]`, beginning with what was there before the
            first symbol: the last layer's hidden units, `[batch, units]`, and, if `traced`, each
            layer's actions, `[actions, lanes]`, then each layer's tops, `[lanes]`, then what
            each layer's written values follow from. After a row's length there is anything in them.
        """

        def read(piled):
            return self._read(tokens, lengths, states, piled, stops=False, traced=traced)[1]

        if traced or not self.rounds:
            return read(piled=self.rounds)
        # Both ways take a server longer to load than one, but most requests come here.
        rows = tf.reduce_max([layer.rows(states) for layer in self.layers])
        is_shallow = rows + longest(lengths) <= SHALLOW
        return tf.cond(is_shallow, lambda: read(piled=False), lambda: read(piled=True))

    def read_on(self, tokens, lengths, states):
        """The same, for what comes after each row's own last symbol: it costs a few operations a
        step more.

        Returns:
            The hidden units that predict what comes next, and what a request carries.
        """
        carried, _ = self._read(tokens, lengths, states, self.rounds, stops=True, traced=False)
        return self.hidden(carried), self.end(carried)

    def read_forced(self, tokens, lengths, forced, states, traced):
        """Both at once: the records of `read`, and what a request carries after each row's own last
        symbol, with actions that are forced.

        Args:
            tokens: `[batch, columns]`.
            lengths: `[batch]`.
            forced: `[batch, columns, memories of all layers]`, an action's index or -1.
            states: What a request carries.
            traced: Whether to keep what the memories did; without, the records are hidden units.
        """
        carried, records = self._read(
            tokens, lengths, states, self.rounds, stops=True, traced=traced, forced=forced
        )
        return records, carried

    @property
    def memories(self) -> int:
        """How many there are in all layers together."""
        return sum(layer.memories for layer in self.layers) if self.has_memory else 0

    def _of_layer(self, forced, index):
        """The part `[lanes]` of a layer of `forced`, `[memories of all layers, batch]`."""
        if forced is None:
            return None
        first = sum(layer.memories for layer in self.layers[:index])
        return tf.reshape(forced[first : first + self.layers[index].memories], [-1])

    def _read(self, tokens, lengths, states, piled, stops, traced, forced=None):
        """What is carried in the end, if it `stops` at each row's own last symbol; the records."""
        iterations = -(-longest(lengths) // _STEPS_AT_ONCE)
        steps = iterations * _STEPS_AT_ONCE
        missing = tf.maximum(steps - tf.shape(tokens)[1], 0)
        inputs = self.inputs(tf.transpose(tf.pad(tokens, [[0, 0], [0, missing]]))[:steps])
        inputs = reshaped_first(inputs, [iterations, _STEPS_AT_ONCE], of=1)
        if forced is not None:
            forced = tf.pad(forced, [[0, 0], [0, missing], [0, 0]], constant_values=-1)
            forced = tf.transpose(forced, [1, 2, 0])[:steps]
            forced = reshaped_first(forced, [iterations, _STEPS_AT_ONCE], of=1)
        carried = self.begin(states, steps, piled)
        advance = self.stepper()

        def record(carried, actions):
            kept = [self.hidden(carried)]
            if traced:
                pairs = list(zip(self.layers, carried, strict=True))
                kept += actions
                kept += [layer.tops(state) for layer, state in pairs]
                kept += [layer.writing(state) for layer, state in pairs]
            return kept

        none = [self._no_actions(tf.shape(lengths)[0]) for _ in self.layers] if traced else []
        # An iteration writes once. What was there before the first symbol comes last in a block of
        # its own, so that all of it is a slice of the records stacked, which needs no copy.
        blocks = [tf.stack([each] * _STEPS_AT_ONCE) for each in record(carried, none)]
        records = [
            tf.TensorArray(block.dtype, iterations + 1, element_shape=block.shape).write(0, block)
            for block in blocks
        ]

        def iterate(i, carried, records):
            kept = []
            for j, now in enumerate(tf.unstack(tf.gather(inputs, i), _STEPS_AT_ONCE)):
                alive = i * _STEPS_AT_ONCE + j < lengths if stops else None
                orders = None if forced is None else forced[i, j]
                carried, actions = advance(now, carried, alive, orders)
                kept.append(record(carried, actions))
            i += 1
            pairs = zip(records, zip(*kept, strict=True), strict=True)
            return i, carried, [array.write(i, tf.stack(each)) for array, each in pairs]

        _, carried, records = loop(iterations, iterate, (0, carried, records))
        stacked = [
            reshaped_first(array.stack(), [steps + _STEPS_AT_ONCE], of=2) for array in records
        ]
        first = _STEPS_AT_ONCE - 1
        return carried, [each[first : first + 1 + longest(lengths)] for each in stacked]

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


def loop(steps, body, variables):
    """Iterates while the first of the `variables` is less than `steps`; memories may grow."""
    return tf.while_loop(
        lambda t, *_: t < steps,
        body,
        variables,
        shape_invariants=tf.nest.map_structure(_shape_in_a_loop, variables),
        parallel_iterations=1,
    )


def _shape_in_a_loop(value):
    if isinstance(value, tf.TensorArray):
        return tf.TensorShape(None)
    shape = tf.TensorShape(getattr(value, "shape", []))
    return tf.TensorShape([None, *shape[1:]]) if shape.rank else shape
