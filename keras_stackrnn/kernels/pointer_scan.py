"""Whole sequences with rounded actions, over memories that are arrays and pointers.

A lane is one number of one memory of one batch element, `[batch * numbers * memories]` of them.
"""

from typing import Any, NamedTuple

import tensorflow as tf

from keras_stackrnn.kernels.lanes import dimensions
from keras_stackrnn.types import Tensor

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

    def at(self, steps: Tensor) -> Any:
        return self._replace(forced=self.forced[steps])


def scan(
    cell: Any,
    sequences: Tensor,
    states: dict[str, Tensor],
    memory: Tensor,
    counts: Tensor | None = None,
    resets: Tensor | None = None,
) -> tuple[Tensor, dict[str, Tensor], Tensor | None, Tensor]:
    """Takes whole sequences through a cell with rounded actions.

    Args:
        cell: A `MemoryCell`.
        sequences: `[batch, steps, features]`.
        states: The controller's states, `[batch, units]` each, by name.
        memory: `[batch, rows * row_size]`, a state of the soft memory.
        counts: `[batch, steps]` of booleans: a step that does not count leaves all as it was.
        resets: `[batch, steps]` of booleans: states and memories begin anew before the step.

    Returns:
        The hidden units of every step, `[batch, steps, units]`; the controller's last states; the
        memory's, of
        `capacity` rows or, without a capacity, as deep as its elements need; and the number of
        elements lost at its ends.
    """
    marks = {
        name: tf.transpose(each)
        for name, each in (("counts", counts), ("resets", resets))
        if each is not None
    }
    [hiddens], states, pointers = _scan(cell, sequences, states, memory, marks=marks)
    lost = pointers.lost() // cell.element_size
    return tf.transpose(hiddens, [1, 0, 2]), states, _state_of(cell, pointers), lost


def watched_scan(
    cell: Any, sequences: Tensor, states: dict[str, Tensor], memory: Tensor, watch: Watch
) -> tuple[Tensor, Any]:
    """`scan`, run eagerly and looked at.

    Returns:
        The hidden units and the last states, as `scan` does; and of every step and lane the
        action taken and the value written, `[steps, lanes]`, and the elements afterwards in the
        order in which they are read, `[steps, lanes, depth]`.
    """
    (hiddens, *seen), states, pointers = _scan(cell, sequences, states, memory, watch)
    return tf.transpose(hiddens, [1, 0, 2]), states, _state_of(cell, pointers), *seen


def _scan(cell, sequences, states, memory, watch=None, marks=None):
    pointers = _pointers_of(cell, memory)
    projected = tf.transpose(cell.projected(sequences), [1, 0, 2])
    steps = dimensions(projected)[0]
    if not tf.is_tensor(steps) and steps <= CHUNK:
        pointers = pointers.with_room_for(steps)
        return _take_steps(cell, projected, states, pointers, marks or {}, watch)
    if tf.executing_eagerly():
        return _take_chunks_eagerly(cell, projected, states, pointers, marks or {}, watch)
    return _take_chunks_in_graph(cell, projected, states, pointers, marks or {})


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


def _take_steps(cell, projected, states, pointers, marks, watch=None):
    """All steps of `projected`, `[steps, batch, units]`; the arrays have room for them.

    Returns:
        What `_take_step` has done, of all steps; the controller's last states; and the pointers.
    """
    steps = dimensions(projected)[0]

    def step(t, states, pointers, written):
        watched = None if watch is None else watch.at(t)
        now = {name: each[t] for name, each in marks.items()}
        done, states, pointers = _take_step(cell, projected[t], states, pointers, now, watched)
        written = [array.write(t, each) for array, each in zip(written, done, strict=True)]
        return t + 1, states, pointers, written

    of_floats = projected.dtype
    dtypes = [of_floats] if watch is None else [of_floats, tf.int32, of_floats, of_floats]
    _, states, pointers, written = tf.while_loop(
        lambda t, *_: t < steps,
        step,
        (0, states, pointers, [tf.TensorArray(dtype, size=steps) for dtype in dtypes]),
        maximum_iterations=steps,
    )
    return [array.stack() for array in written], states, pointers


def _take_step(cell, projected, states, pointers, marks, watch=None):
    """One step: the hidden units and what `watched_scan` wants; the states; and the pointers."""
    kind, batch = cell.layout.kind, dimensions(projected)[0]
    if "resets" in marks:
        resets = marks["resets"]
        pointers = pointers.emptied(tf.repeat(resets, cell.element_size * cell.num_memories))
        states = _where(
            resets, {name: tf.zeros_like(each) for name, each in states.items()}, states
        )
    read = [tf.reshape(row, [batch, -1]) for row in pointers.read(kind, cell.read_depth)]
    after, logits, value = cell.controls(projected, tf.concat(read, axis=1), states)
    logits = tf.reshape(logits, [batch, len(cell.actions), cell.num_memories])
    action = tf.reshape(tf.argmax(logits, axis=1, output_type=tf.int32), [-1])
    value = tf.reshape(value, [-1])
    if watch is not None:
        action = tf.where(watch.forced < 0, action, watch.forced)
    if "counts" in marks:
        # No action at all is taken where the step does not count.
        action = tf.where(tf.repeat(marks["counts"], cell.num_memories), action, -1)
        after = _where(marks["counts"], after, states)
    pointers = pointers.act(kind, _of_elements(cell, action), value, cell.capacity)
    if watch is None:
        return [after["hidden"]], after, pointers
    seen = tf.stack(pointers.read(kind, watch.depth), axis=1)
    return [after["hidden"], action, value, seen], after, pointers


def _where(rows, states, others):
    """Of each state those rows of a batch, and of the others the rest."""
    return {name: tf.where(rows[:, None], each, others[name]) for name, each in states.items()}


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


def _take_chunks_eagerly(cell, projected, states, pointers, marks, watch=None):
    chunks = []
    # With room for a chunk more than the first needs, one program does where memories stay shallow.
    pointers = pointers.grown_for(2 * CHUNK)
    for begin in range(0, projected.shape[0], CHUNK):
        part = slice(begin, begin + CHUNK)
        pointers = pointers.grown_for(CHUNK)
        watched = None if watch is None else watch.at(part)
        now = {name: each[part] for name, each in marks.items()}
        done, states, pointers = _take_steps_compiled(
            cell, projected[part], states, pointers, now, watched
        )
        chunks.append(done)
    return [tf.concat(each, axis=0) for each in zip(*chunks, strict=True)], states, pointers


def _take_chunks_in_graph(cell, projected, states, pointers, marks):
    steps = dimensions(projected)[0]

    def chunk(begin, states, pointers, hiddens):
        end = tf.minimum(begin + CHUNK, steps)

        def step(t, states, pointers, hiddens):
            now = {name: each[t] for name, each in marks.items()}
            [hidden], states, pointers = _take_step(cell, projected[t], states, pointers, now)
            return t + 1, states, pointers, hiddens.write(t, hidden)

        return tf.while_loop(
            lambda t, *_: t < end, step, (begin, states, pointers.grown_for(CHUNK), hiddens)
        )

    hiddens = tf.TensorArray(projected.dtype, size=steps, element_shape=states["hidden"].shape)
    loop = (tf.constant(0), states, pointers.in_place(), hiddens)
    shapes = tf.nest.map_structure(_shape_in_a_growing_loop, loop)
    _, states, pointers, hiddens = tf.while_loop(
        lambda begin, *_: begin < steps, chunk, loop, shape_invariants=shapes
    )
    return [hiddens.stack()], states, pointers


def _shape_in_a_growing_loop(value):
    if isinstance(value, tf.TensorArray):
        return tf.TensorShape(None)
    return tf.TensorShape([None]) if len(value.shape) == 1 else value.shape
