"""How a cell's controller decides inside the loop of a served graph, by its order.

A decider has `projected`, what can be worked out of the inputs of all steps at once; `stepper`,
which gives the way from that and from what is carried to the states, the controls as
`memories/served.py` takes them, and what is written, if that does not follow from the states;
and for traces `writing` and `written`, what is kept of a step and the values that it wrote.
"""

import tensorflow as tf

from keras_stackrnn.export.tensors import transposed
from keras_stackrnn.layers import first_order


class FirstOrder:
    """Of controllers whose kernels add up."""

    def __init__(self, cell):
        self.cell = cell

    def projected(self, inputs):
        # A token id stands for a one-hot row, and that times the kernel is a row of it.
        is_token = inputs.dtype.is_integer
        kernel = tf.convert_to_tensor(self.cell.kernel)
        sums = tf.gather(kernel, inputs) if is_token else tf.matmul(inputs, kernel)
        return sums + self.cell.input_bias if self.cell.use_bias else sums

    def stepper(self):
        cell = self.cell
        memory_kernel = tf.convert_to_tensor(cell.memory_kernel)
        control_kernel = _of_controls(cell, cell.action_kernel, cell.value_kernel)
        control_bias = None
        if cell.use_bias:
            control_bias = _of_controls(cell, cell.action_bias, cell.value_bias)[:, None]

        def decide(inputs, carried):
            read = tf.reshape(carried.read, [memory_kernel.shape[0], -1])
            before = inputs + tf.matmul(read, memory_kernel, transpose_a=True)
            states = first_order.states_after(cell, before, carried.states)
            controls = tf.matmul(
                control_kernel, states["hidden"], transpose_a=True, transpose_b=True
            )
            if control_bias is not None:
                controls += control_bias
            return states, _by_lane(cell, controls), ()

        return decide

    def none_written(self, batch):
        return ()

    def writing(self, carried):
        return carried.states["hidden"]

    def written(self, hidden):
        cell = self.cell
        values = tf.tensordot(hidden, cell.value_kernel, 1)
        return tf.sigmoid(values + cell.value_bias if cell.use_bias else values)


class SecondOrder:
    """Of controllers whose input chooses a table."""

    def __init__(self, cell):
        self.cell = cell

    def projected(self, inputs):
        return tf.one_hot(inputs, self.cell.kernel.shape[0]) if inputs.dtype.is_integer else inputs

    def stepper(self):
        cell = self.cell
        numbers_read = cell.read_depth * cell.element_size * cell.num_memories

        def decide(inputs, carried):
            read = transposed(tf.reshape(carried.read, [numbers_read, -1]))
            states, logits, values = cell.controls(inputs, read, carried.states)
            # Memories take numbers before their sigmoid.
            before = tf.math.log(values) - tf.math.log1p(-values)
            controls = transposed(_of_controls(cell, logits, before))
            return states, _by_lane(cell, controls), values

        return decide

    def none_written(self, batch):
        return tf.zeros([batch, self.cell.element_size * self.cell.num_memories])

    def writing(self, carried):
        return carried.written

    def written(self, values):
        return values


def decider_of(cell) -> FirstOrder | SecondOrder:
    """How a `MemoryCell` decides."""
    return {1: FirstOrder, 2: SecondOrder}[cell.controller.order](cell)


def _by_lane(cell, controls):
    """`[numbers * memories, batch]` as `[numbers, lanes]`."""
    return tf.reshape(controls, [controls.shape[0] // cell.num_memories, -1])


def _of_controls(cell, of_actions, of_writing):
    """Kernels, biases or logits of controls; of two actions the difference is all that counts."""
    if len(cell.actions) == 2:
        first, second = tf.split(of_actions, 2, axis=-1)
        of_actions = first - second
    return tf.concat([of_actions, of_writing], axis=-1)
