"""Between a Keras layer and the TensorFlow kernels: layouts, growth, what is worth computing."""

from collections.abc import Sequence

import tensorflow as tf

from keras_stackrnn.kernels import pointer_scan
from keras_stackrnn.kernels.lanes import dimensions
from keras_stackrnn.kernels.scan import Scan, Steps, scan
from keras_stackrnn.kernels.weights import kernel_weights, projected
from keras_stackrnn.layers.memory_budget import refuse_if_too_large
from keras_stackrnn.layers.memory_cell import MemoryCell
from keras_stackrnn.memories.soft import EMPTY, row_count


def run(
    cell: MemoryCell,
    sequences: tf.Tensor,
    states: Sequence[tf.Tensor],
    *,
    starts_empty: bool,
    training: bool | None,
    keep_state: bool,
    differentiate_state: bool,
    mask: tf.Tensor | None = None,
    resets: tf.Tensor | None = None,
) -> tuple[tf.Tensor, list[tf.Tensor | None], tf.Tensor]:
    """Takes whole sequences through a cell.

    Args:
        cell: A built `MemoryCell`.
        sequences: `[batch, steps, features]`.
        states: As the cell has them.
        starts_empty: Whether the memory is known to hold nothing yet.
        training: Whether actions are mixed even if the cell rounds, and a backward pass is likely.
        keep_state: Whether somebody wants the last memory.
        differentiate_state: Whether gradients may flow back from it.
        mask: `[batch, steps]` of booleans: a step that is masked out leaves all as it was.
        resets: `[batch, steps]` of booleans: states and memories begin anew before the step.

    Returns:
        The outputs of every step, `[batch, steps, units]`; the last states, the memory's being
        `None` unless it was asked for; and the number of elements lost at the memory's ends.
    """
    *of_controller, slots = states
    begin = dict(zip(cell.controller.states, of_controller, strict=True))
    # Loops want to know the batch of everything in them where they know that of the states.
    sequences = tf.ensure_shape(sequences, [begin["hidden"].shape[0], None, None])
    if cell.rounding and not training:
        outputs, after, slots, lost = pointer_scan.scan(cell, sequences, begin, slots, mask, resets)
        return outputs, [*(after[name] for name in cell.controller.states), slots], lost

    layout = cell.layout
    steps = dimensions(sequences)[1]
    memory = _to_rows(slots, cell.row_size)
    if cell.capacity is None:
        memory = layout.embed(memory, layout.grown(row_count(memory), steps))
    refuse_if_too_large(
        cell,
        batch=dimensions(sequences)[0],
        rows=_rows_of_a_step(layout, memory, steps, training and not differentiate_state),
        steps=steps,
        training=training,
    )

    can_lose = cell.capacity is not None and not (
        starts_empty and not tf.is_tensor(steps) and layout.grown(0, steps) <= cell.capacity
    )
    options = Scan(
        layout=layout,
        controller=cell.controller,
        last_memory=keep_state or can_lose,
        differentiate_memory=differentiate_state,
        keep_rows=bool(training),
        starts_empty=starts_empty,
    )
    masks = cell.dropout_masks(sequences[:, 0], begin["hidden"], training)
    if "inputs" in masks:
        sequences = sequences * masks["inputs"][:, None]
    done = scan(
        options,
        tf.transpose(projected(cell, sequences), [1, 2, 0])[:, None],
        {name: tf.transpose(state)[None] for name, state in begin.items()},
        memory,
        kernel_weights(cell),
        Steps(
            counts=_of_steps(mask),
            resets=_of_steps(resets),
            **{
                f"{name}_mask": tf.transpose(masks[name])[None]
                for name in masks.keys() - {"inputs"}
            },
        ),
    )
    outputs = tf.transpose(done.hiddens[:, 0], [2, 0, 1])
    after = {name: tf.transpose(state[0]) for name, state in done.states.items()}
    lost = tf.zeros([], outputs.dtype)
    if can_lose and done.lost is not None:
        lost = done.lost[0]
    slots = _to_state(done.memory, cell.row_size) if keep_state else None
    return outputs, [*(after[name] for name in cell.controller.states), slots], lost


def _of_steps(marks):
    """`[batch, steps]` as `[steps, 1, 1, batch]`."""
    return None if marks is None else tf.transpose(marks)[:, None, None]


def trim(cell: MemoryCell, slots: tf.Tensor) -> tf.Tensor:
    """A growing memory's state without the rows that are empty in every memory of the batch."""
    batch, size = dimensions(slots)
    rows = size // cell.row_size
    memory = tf.reshape(slots, [batch, rows, cell.row_size])
    occupied = tf.reduce_any(tf.not_equal(memory, tf.cast(EMPTY, memory.dtype)), axis=[0, 2])
    start, stop = cell.layout.trimmed(rows, occupied)
    memory = memory[:, start:stop]
    return tf.reshape(memory, [batch, (stop - start) * cell.row_size])


def _to_rows(slots, row_size):
    """`[batch, rows * row_size]` as `[1, rows, row_size * batch]`."""
    batch, size = dimensions(slots)
    return tf.reshape(tf.transpose(slots), [1, size // row_size, row_size * batch])


def _to_state(memory, row_size):
    """The inverse of `_to_rows`."""
    _, rows, lanes = dimensions(memory)
    return tf.transpose(tf.reshape(memory, [rows * row_size, lanes // row_size]))


def _rows_of_a_step(layout, memory, steps, only_within_reach):
    rows = row_count(memory)
    if not only_within_reach or tf.is_tensor(rows) or tf.is_tensor(steps):
        return rows
    start, stop = layout.within_reach(rows, steps)
    return stop - start
