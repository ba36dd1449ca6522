"""A cell's weights as the kernels take them, for a population of one."""

from typing import Any

import tensorflow as tf


def kernel_weights(cell: Any) -> dict[str, tf.Tensor]:
    """The weights of a built memory cell as `scan` takes them."""
    return {1: _of_first_order, 2: _of_second_order}[cell.controller.order](cell)


def projected(cell: Any, sequences: tf.Tensor) -> tf.Tensor:
    """Sequences, `[batch, steps, features]`, as a `scan` is given them, features last."""
    done = cell.projected(sequences)
    if cell.use_bias and cell.controller.order == 1:
        done += cell.input_bias
    return done


def _of_first_order(cell):
    weights = {
        "memory_kernel": tf.transpose(cell.memory_kernel),
        "control_kernel": tf.transpose(_controls(cell, cell.action_kernel, cell.value_kernel)),
    }
    if cell.use_recurrent_kernel:
        weights["recurrent_kernel"] = tf.transpose(cell.recurrent_kernel)
        if cell.controller.biases > 1 and cell.use_bias:
            weights["recurrent_bias"] = cell.bias[1][:, None]
    if cell.use_bias:
        bias = _controls(cell, cell.action_bias[None], cell.value_bias[None])
        weights["control_bias"] = tf.transpose(bias)
    return {name: weight[None] for name, weight in weights.items()}


def _of_second_order(cell):
    values = None if cell.writes_hidden else cell.value_kernel
    decided = _controls(cell, cell.action_kernel, values)
    kernel = tf.transpose(tf.concat([cell.kernel, decided], axis=-1), [0, 2, 1])
    weights = {"kernel": tf.reshape(kernel, [1, -1, kernel.shape[2]])}
    if cell.use_bias:
        values = None if cell.writes_hidden else cell.value_bias
        decided = _controls(cell, cell.action_bias, values)
        weights["bias"] = tf.concat([cell.bias, decided], axis=0)[None, :, None]
    return weights


def _controls(cell, actions, write):
    """The actions' columns relative to the last action's, then those of the elements written."""
    actions = tf.convert_to_tensor(actions)
    relative = actions[..., : -cell.num_memories]
    many = [1] * (actions.shape.rank - 1) + [len(cell.actions) - 1]
    last = tf.tile(actions[..., -cell.num_memories :], many)
    written = [] if write is None else [tf.convert_to_tensor(write)]
    return tf.concat([relative - last, *written], axis=-1)
