"""Recurrent layers symbol by symbol: their states as a request carries them, and as a loop does.

An exported layer has five parts: `specs` and `initial_state` of the tensors that requests carry;
`begin`, which makes of them what the loop carries, with room for so many steps, the memories piled
or in rows; `projected`, what can be computed of the inputs of all steps at once; `stepper`, which
gives the step itself; and `end`, the way back. A step leaves rows as they are that are not `alive`,
all of them being so if it is `None`: that is how padding changes nothing. Actions may be `forced`
on its memories, `[lanes]`, by their index, where that is not -1.

In the loop a memory is `[rows, lanes]`, a lane being one memory of one batch element, all batch
elements of the first memory first: broadcast along rows, an action is one long vector operation.
"""

from typing import NamedTuple

import tensorflow as tf

from keras_stackrnn.export.deciders import decider_of
from keras_stackrnn.export.require import require, require_none
from keras_stackrnn.export.tensors import transposed
from keras_stackrnn.layers.srcn_cell import SRCNCell
from keras_stackrnn.memories.soft import EMPTY

# A logit of an action that leaves the others a weight of exactly 0 in float32.
CERTAIN = 1000.0


class PlainLayer:
    """`SimpleRNN`, `LSTM` or `RNN(SRCNCell)`: the states are vectors, and the loop carries them as
    they are."""

    def __init__(self, layer, index: int):
        self.cell = layer.cell
        sizes = tf.nest.flatten(self.cell.state_size)
        self._predicts_from_all = isinstance(self.cell, SRCNCell)
        names = ("hidden", "context" if self._predicts_from_all else "carry")
        self._sizes = {f"{name}_{index}": size for name, size in zip(names, sizes, strict=False)}

    @property
    def specs(self) -> dict[str, tf.TensorSpec]:
        sizes = self._sizes.items()
        return {name: tf.TensorSpec([None, size], tf.float32, name) for name, size in sizes}

    def initial_state(self, batch_size):
        return {name: tf.zeros([batch_size, size]) for name, size in self._sizes.items()}

    def begin(self, states, steps, piled):
        return [states[name] for name in self._sizes]

    def projected(self, inputs):
        return inputs

    def stepper(self):
        def step(inputs, states, alive, forced=None):
            if inputs.dtype.is_integer:
                inputs = tf.one_hot(inputs, self.cell.kernel.shape[0])
            _, after = self.cell(inputs, states, training=False)
            if alive is not None:
                pairs = zip(after, states, strict=True)
                after = [tf.where(alive[:, None], new, old) for new, old in pairs]
            return after, None

        return step

    def hidden(self, states):
        return tf.concat(states, axis=-1) if self._predicts_from_all else states[0]

    def end(self, states):
        return dict(zip(self._sizes, states, strict=True))


class MemoryLayer:
    """A `MemoryRNN` of any kind with memories that grow.

    A request carries `memory`, `[batch, rows * row_size]` as in Keras, and `depth`, `[batch]`: how
    many of the rows count. A server that merges requests pads the shallower memories with
    anything; with their depth they are found again.
    """

    def __init__(self, layer, index: int):
        self.cell = layer.cell
        self.layout = layer.cell.layout
        self.memories = layer.cell.num_memories
        self._states = {name: f"{name}_{index}" for name in layer.cell.controller.states}
        self._memory, self._depth = f"memory_{index}", f"depth_{index}"
        self._decider = decider_of(self.cell)

    @property
    def specs(self) -> dict[str, tf.TensorSpec]:
        units, memory, depth = self.cell.units, self._memory, self._depth
        return {
            **{name: tf.TensorSpec([None, units], tf.float32, name) for name in self._names},
            memory: tf.TensorSpec([None, None], tf.float32, memory),
            depth: tf.TensorSpec([None], tf.int32, depth),
        }

    @property
    def _names(self):
        return self._states.values()

    def initial_state(self, batch_size):
        rows = self.cell.read_depth
        return {
            **{name: tf.zeros([batch_size, self.cell.units]) for name in self._names},
            self._memory: tf.fill([batch_size, rows * self.cell.row_size], EMPTY),
            self._depth: tf.fill([batch_size], rows),
        }

    def begin(self, states, steps, piled):
        rows = self._aligned(states[self._memory], states[self._depth])
        lanes = tf.reshape(transposed(rows, [1, 2, 0]), [tf.shape(rows)[1], -1])
        memory = self.layout.kind.served(self.layout, lanes, steps, piled)
        of_controller = {name: states[given] for name, given in self._states.items()}
        written = self._decider.none_written(tf.shape(rows)[0])
        return _Carried(of_controller, memory.read(self.layout), memory, written)

    def rows(self, states):
        """How many rows the memory has."""
        return tf.shape(states[self._memory])[1] // self.cell.row_size

    def _aligned(self, slots, depth):
        """The memory as `[batch, rows, row_size]`, empty but for each row's own `depth`."""
        name, depth_name = self._memory, self._depth
        size = tf.shape(slots)[1]
        rows = size // self.cell.row_size
        slots = require(
            slots,
            tf.equal(size % self.cell.row_size, 0) & (rows >= self.cell.read_depth),
            f"Expected {name} with {self.cell.row_size} columns for each of "
            f"{self.cell.read_depth} or more rows, got ",
            size,
            " columns",
        )
        depth = require_none(
            depth,
            tf.boolean_mask(depth, (depth < 0) | (depth > rows)),
            f"Expected {depth_name} between 0 and the rows of {name}, ",
            rows,
        )
        kind = self.layout.kind
        # Where the head is in the middle, it has to be in the middle of all rows.
        shift = tf.broadcast_to(kind.head(rows) - kind.head(depth), tf.shape(depth))
        source = tf.range(rows)[None] - shift[:, None]
        counts = (source >= 0) & (source < depth[:, None])
        memory = tf.reshape(slots, [-1, rows, self.cell.row_size])
        memory = tf.gather(memory, tf.clip_by_value(source, 0, rows - 1), batch_dims=1)
        return tf.where(counts[..., None], memory, EMPTY)

    def projected(self, inputs):
        """What is worked out of token ids `[…]`, or vectors `[…, features]`, of all steps."""
        return self._decider.projected(inputs)

    def stepper(self):
        """A step that works with the weights as they are now: a loop then reads them once."""
        cell, layout = self.cell, self.layout
        decide = self._decider.stepper()

        def step(inputs, carried, alive, forced=None):
            states, controls, written = decide(inputs, carried)
            if forced is not None:
                controls = _forced(controls, forced, len(cell.actions))
            alive_lanes = None if alive is None else tf.tile(alive, [self.memories])
            memory, actions = carried.memory.act(layout, controls, alive_lanes, cell.rounding)
            if alive is not None:
                states = {
                    name: tf.where(alive[:, None], state, carried.states[name])
                    for name, state in states.items()
                }
            return _Carried(states, memory.read(layout), memory, written), actions

        return step

    def hidden(self, carried):
        return carried.states["hidden"]

    def writing(self, carried):
        """What `written` works the values out from."""
        return self._decider.writing(carried)

    def written(self, recorded):
        """The value that each memory is given to write, `[…, memories]`, from what `writing` gave:
        of elements of several numbers their mean."""
        values, numbers = self._decider.written(recorded), self.cell.element_size
        return values if numbers == 1 else tf.add_n(tf.split(values, numbers, axis=-1)) / numbers

    def tops(self, carried):
        """`[lanes]`: the top of each stack, or what is under the head of each list."""
        return carried.read[0]

    def end(self, carried):
        rows = carried.memory.rows(self.layout)
        occupied = tf.reduce_any(tf.not_equal(rows, EMPTY), axis=1)
        start, stop = self.layout.trimmed(tf.shape(rows)[0], occupied)
        rows = rows[start:stop]
        depth, batch = tf.shape(rows)[0], tf.shape(self.hidden(carried))[0]
        slots = transposed(tf.reshape(rows, [depth * self.cell.row_size, batch]))
        states = {given: carried.states[name] for name, given in self._states.items()}
        return {**states, self._memory: slots, self._depth: tf.fill([batch], depth)}


def _forced(controls, forced, actions):
    """The same `controls`, certain of the actions that are `forced` `[lanes]`, -1 being none."""
    if actions == 2:
        logits = tf.where(tf.equal(forced, 0), CERTAIN, -CERTAIN)[None]
    else:
        logits = tf.one_hot(forced, actions, CERTAIN, -CERTAIN, axis=0)
    own, values = controls[: logits.shape[0]], controls[logits.shape[0] :]
    return tf.concat([tf.where(forced[None] >= 0, logits, own), values], axis=0)


class _Carried(NamedTuple):
    """What a loop carries from step to step.

    What will be read next, `[read_depth, lanes]`, is a part of it: the rounded memory is
    overwritten in place, and so every look at it is over before the next step writes. What the
    step has `written` is there where it does not follow from the states.
    """

    states: dict[str, tf.Tensor]
    read: tf.Tensor
    memory: tuple
    written: tf.Tensor | tuple = ()
