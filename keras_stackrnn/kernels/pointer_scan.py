"""Whole sequences with rounded actions, over memories that are arrays and pointers.

A lane is one number of one memory of one batch element, `[batch * numbers * memories]` of them.
"""

from typing import NamedTuple

import tensorflow as tf

from keras_stackrnn.kernels.lanes import dimensions

# How many steps are taken between two looks at whether the arrays are still large enough.
CHUNK = 1024


class Watch(NamedTuple):
    """What is done to, and wanted from, every step of a scan that is looked at.

    Args:
        forced: `[steps, lanes]`, the index of the action that is taken whatever the cell wants, or
            -1 where the cell decides.
        depth: How many elements of every memory are wanted after each step.
    """

    forced: tf.Tensor
    depth: int

    def at(self, steps):
        return self._replace(forced=self.forced[steps])


def scan(cell, sequences, hidden, memory):
    """Takes whole sequences through a cell with rounded actions.

    Args:
        cell: A `MemoryCell`.
        sequences: `[batch, steps, features]`.
        hidden: `[batch, units]`.
        memory: `[batch, rows * memories]`, a state of the soft memory.

    Returns:
        The hidden units of every step, `[batch, steps, units]`; the memory's last state, of
        `capacity` rows or, without a capacity, as deep as its elements need; and the number of
        elements lost at its ends.
    """
    [hiddens], pointers = _scan(cell, sequences, hidden, memory)
    lost = pointers.lost() // cell.element_size
    return tf.transpose(hiddens, [1, 0, 2]), _state_of(cell, pointers), lost


def watched_scan(cell, sequences, hidden, memory, watch: Watch):
    """`scan`, run eagerly and looked at.

    Returns:
        The hidden units and the memory's last state, as `scan` does; and of every step and lane the
        action taken and the value written, `[steps, lanes]`, and the elements afterwards in the
        order in which they are read, `[steps, lanes, depth]`.
    """
    (hiddens, *seen), pointers = _scan(cell, sequences, hidden, memory, watch)
    return tf.transpose(hiddens, [1, 0, 2]), _state_of(cell, pointers), *seen


def _scan(cell, sequences, hidden, memory, watch=None):
    pointers = _pointers_of(cell, memory)
    projected = tf.transpose(tf.matmul(sequences, cell.kernel), [1, 0, 2])
    steps = dimensions(projected)[0]
    if not tf.is_tensor(steps) and steps <= CHUNK:
        pointers = pointers.with_room_for(steps)
        done, _, pointers = _take_steps(cell, projected, hidden, pointers, watch)
        return done, pointers
    if tf.executing_eagerly():
        return _take_chunks_eagerly(cell, projected, hidden, pointers, watch)
    return _take_chunks_in_graph(cell, projected, hidden, pointers)


def _pointers_of(cell, memory):
    batch, size = dimensions(memory)
    depth, elements = size // cell.row_size, cell.element_size * cell.num_memories
    rows = tf.reshape(memory, [batch, depth, cell.row_size])
    rows = tf.transpose(rows, [0, 2, 1])
    marks = None
    if cell.layout.kind.marks:
        marks = tf.reshape(tf.tile(rows[:, elements:], [1, cell.element_size, 1]), [-1, depth])
    return cell.layout.kind.pointers(tf.reshape(rows[:, :elements], [-1, depth]), marks)


def _state_of(cell, pointers):
    kind, elements = cell.layout.kind, cell.element_size * cell.num_memories
    rows = pointers.rows(kind, cell.capacity, cell.read_depth)
    lanes, depth = dimensions(rows)
    batch = lanes // elements
    rows = tf.reshape(rows, [batch, elements, depth])
    if kind.marks:
        marks = tf.reshape(pointers.marks(depth), [batch, elements, depth])
        rows = tf.concat([rows, marks[:, : cell.num_memories]], axis=1)
    return tf.reshape(tf.transpose(rows, [0, 2, 1]), [batch, depth * cell.row_size])


def _take_steps(cell, projected, hidden, pointers, watch=None):
    """All steps of `projected`, `[steps, batch, units]`; the arrays have room for them.

    Returns:
        What `_take_step` has done, of all steps; the last hidden units; and the pointers.
    """
    steps = dimensions(projected)[0]

    def step(t, hidden, pointers, written):
        watched = None if watch is None else watch.at(t)
        done, pointers = _take_step(cell, projected[t], hidden, pointers, watched)
        written = [array.write(t, each) for array, each in zip(written, done, strict=True)]
        return t + 1, done[0], pointers, written

    of_floats = projected.dtype
    dtypes = [of_floats] if watch is None else [of_floats, tf.int32, of_floats, of_floats]
    _, hidden, pointers, written = tf.while_loop(
        lambda t, *_: t < steps,
        step,
        (0, hidden, pointers, [tf.TensorArray(dtype, size=steps) for dtype in dtypes]),
        maximum_iterations=steps,
    )
    return [array.stack() for array in written], hidden, pointers


def _take_step(cell, projected, hidden, pointers, watch=None):
    """One step: a list of the hidden units and of what `watched_scan` wants; and the pointers."""
    kind, batch = cell.layout.kind, dimensions(projected)[0]
    read = [tf.reshape(row, [batch, -1]) for row in pointers.read(kind, cell.read_depth)]
    before = projected + tf.matmul(tf.concat(read, axis=1), cell.memory_kernel)
    if cell.use_recurrent_kernel:
        before += tf.matmul(hidden, cell.recurrent_kernel)
    if cell.use_bias:
        before += cell.bias
    hidden = cell.activation(before)
    logits, value = tf.matmul(hidden, cell.action_kernel), tf.matmul(hidden, cell.value_kernel)
    if cell.use_bias:
        logits, value = logits + cell.action_bias, value + cell.value_bias
    logits = tf.reshape(logits, [batch, len(cell.actions), cell.num_memories])
    action = tf.reshape(tf.argmax(logits, axis=1, output_type=tf.int32), [-1])
    value = tf.reshape(tf.sigmoid(value), [-1])
    if watch is not None:
        action = tf.where(watch.forced < 0, action, watch.forced)
    pointers = pointers.act(kind, _of_elements(cell, action), value, cell.capacity)
    if watch is None:
        return [hidden], pointers
    seen = tf.stack(pointers.read(kind, watch.depth), axis=1)
    return [hidden, action, value, seen], pointers


def _of_elements(cell, action):
    """The action on each memory, `[batch * memories]`, for all numbers of its elements."""
    if cell.element_size == 1:
        return action
    action = tf.reshape(action, [-1, 1, cell.num_memories])
    return tf.reshape(tf.tile(action, [1, cell.element_size, 1]), [-1])


# Compiled once for each size of the arrays, which double: a handful of times in a million steps.
_take_steps_compiled = tf.function(
    _take_steps, autograph=False, jit_compile=True, reduce_retracing=True
)


def _take_chunks_eagerly(cell, projected, hidden, pointers, watch=None):
    chunks = []
    for begin in range(0, projected.shape[0], CHUNK):
        part = slice(begin, begin + CHUNK)
        pointers = pointers.grown_for(CHUNK)
        watched = None if watch is None else watch.at(part)
        done, hidden, pointers = _take_steps_compiled(
            cell, projected[part], hidden, pointers, watched
        )
        chunks.append(done)
    return [tf.concat(each, axis=0) for each in zip(*chunks, strict=True)], pointers


def _take_chunks_in_graph(cell, projected, hidden, pointers):
    steps = dimensions(projected)[0]

    def chunk(begin, hidden, pointers, hiddens):
        end = tf.minimum(begin + CHUNK, steps)

        def step(t, hidden, pointers, hiddens):
            [hidden], pointers = _take_step(cell, projected[t], hidden, pointers)
            return t + 1, hidden, pointers, hiddens.write(t, hidden)

        return tf.while_loop(
            lambda t, *_: t < end, step, (begin, hidden, pointers.grown_for(CHUNK), hiddens)
        )

    hiddens = tf.TensorArray(projected.dtype, size=steps, element_shape=hidden.shape)
    loop = (tf.constant(0), hidden, pointers.in_place(), hiddens)
    shapes = tf.nest.map_structure(_shape_in_a_growing_loop, loop)
    *_, pointers, hiddens = tf.while_loop(
        lambda begin, *_: begin < steps, chunk, loop, shape_invariants=shapes
    )
    return [hiddens.stack()], pointers


def _shape_in_a_growing_loop(value):
    if isinstance(value, tf.TensorArray):
        return tf.TensorShape(None)
    return tf.TensorShape([None]) if len(value.shape) == 1 else value.shape
