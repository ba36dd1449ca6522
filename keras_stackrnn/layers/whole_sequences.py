"""Between a Keras layer and the TensorFlow kernels: layouts, growth, what is worth computing."""

import keras
import tensorflow as tf

from keras_stackrnn.kernels import pointer, topology
from keras_stackrnn.kernels import scan as fused
from keras_stackrnn.kernels.topology import dimensions, row_count
from keras_stackrnn.layers.memory_budget import refuse_if_too_large
from keras_stackrnn.memories.soft import EMPTY


def run(cell, sequences, states, *, starts_empty, training, keep_state, differentiate_state):
    """Takes whole sequences through a cell.

    Args:
        cell: A built `StackCell` or `ListCell`.
        sequences: `[batch, steps, features]`.
        states: `[hidden, memory]`.
        starts_empty: Whether the memory is known to hold nothing yet.
        training: Whether actions are mixed even if the cell rounds, and a backward pass is likely.
        keep_state: Whether somebody wants the last memory.
        differentiate_state: Whether gradients may flow back from it.

    Returns:
        The outputs of every step, `[batch, steps, units]`; the last states, the memory's being
        `None` unless it was asked for; and the number of elements lost at the memory's ends.
    """
    hidden, slots = states
    # Loops want to know the batch of everything in them where they know that of the states.
    sequences = tf.ensure_shape(sequences, [hidden.shape[0], None, None])
    if cell.rounding and not training:
        outputs, slots, lost = pointer.scan(cell, sequences, hidden, slots)
        return outputs, [outputs[:, -1], slots], lost

    kind = topology_of(cell)
    steps = dimensions(sequences)[1]
    memory = _to_rows(slots, cell.num_memories)
    if cell.capacity is None:
        memory = kind.embed(memory, kind.grown(row_count(memory), steps))
    refuse_if_too_large(
        cell,
        batch=dimensions(sequences)[0],
        rows=_rows_of_a_step(kind, memory, steps, training and not differentiate_state),
        steps=steps,
        training=training,
    )

    can_lose = cell.capacity is not None and not (
        starts_empty and not tf.is_tensor(steps) and kind.grown(0, steps) <= cell.capacity
    )
    options = fused.Scan(
        topology=kind,
        activation=activation_name(cell),
        last_memory=keep_state or can_lose,
        differentiate_memory=differentiate_state,
        keep_rows=bool(training),
        starts_empty=starts_empty,
    )
    projected = tf.matmul(sequences, cell.kernel)
    if cell.use_bias:
        projected += cell.bias
    hiddens, _, last, lost = fused.scan(
        options,
        tf.transpose(projected, [1, 2, 0])[:, None],
        tf.transpose(hidden)[None],
        memory,
        kernel_weights(cell),
    )
    outputs = tf.transpose(hiddens[:, 0], [2, 0, 1])
    lost = lost[0] if can_lose else tf.zeros([], outputs.dtype)
    slots = _to_state(last, cell.num_memories) if keep_state else None
    return outputs, [outputs[:, -1], slots], lost


def topology_of(cell) -> topology.Topology:
    kind = topology.Stack if cell.MEMORIES == "stacks" else topology.List
    return kind(len(cell.actions), cell.read_depth)


def activation_name(cell) -> str:
    return keras.activations.serialize(cell.activation)


def kernel_weights(cell) -> dict[str, tf.Tensor]:
    """The cell's weights as `fused.scan` takes them, for a population of one."""
    weights = {
        "memory_kernel": tf.transpose(cell.memory_kernel),
        "control_kernel": tf.transpose(_controls(cell, cell.action_kernel, cell.write_kernel)),
    }
    if cell.use_recurrent_kernel:
        weights["recurrent_kernel"] = tf.transpose(cell.recurrent_kernel)
    if cell.use_bias:
        bias = _controls(cell, cell.action_bias[None], cell.write_bias[None])
        weights["control_bias"] = tf.transpose(bias)
    return {name: weight[None] for name, weight in weights.items()}


def _controls(cell, actions, write):
    """The actions' columns relative to the last action's, then those of the value written."""
    actions = tf.convert_to_tensor(actions)
    relative = actions[:, : -cell.num_memories]
    last = tf.tile(actions[:, -cell.num_memories :], [1, len(cell.actions) - 1])
    return tf.concat([relative - last, write], axis=1)


def trim(cell, slots):
    """A growing memory's state without the rows that are empty in every memory of the batch."""
    kind = topology_of(cell)
    batch, size = dimensions(slots)
    rows = size // cell.num_memories
    memory = tf.reshape(slots, [batch, rows, cell.num_memories])
    occupied = tf.reduce_any(tf.not_equal(memory, tf.cast(EMPTY, memory.dtype)), axis=[0, 2])
    start, stop = kind.trimmed(rows, occupied)
    memory = memory[:, start:stop]
    return tf.reshape(memory, [batch, (stop - start) * cell.num_memories])


def _to_rows(slots, memories):
    """`[batch, rows * memories]` as `[1, rows, memories * batch]`."""
    batch, size = dimensions(slots)
    return tf.reshape(tf.transpose(slots), [1, size // memories, memories * batch])


def _to_state(memory, memories):
    """The inverse of `_to_rows`."""
    _, rows, lanes = dimensions(memory)
    return tf.transpose(tf.reshape(memory, [rows * memories, lanes // memories]))


def _rows_of_a_step(kind, memory, steps, only_within_reach):
    rows = row_count(memory)
    if not only_within_reach or tf.is_tensor(rows) or tf.is_tensor(steps):
        return rows
    start, stop = kind.within_reach(rows, steps)
    return stop - start
