"""A cell's weights as the kernels take them, for a population of one."""

from typing import Any

import tensorflow as tf


def kernel_weights(cell: Any) -> dict[str, tf.Tensor]:
    """The weights of a built memory cell as `scan` takes them."""
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


def _controls(cell, actions, write):
    """The actions' columns relative to the last action's, then those of the elements written."""
    actions = tf.convert_to_tensor(actions)
    relative = actions[:, : -cell.num_memories]
    last = tf.tile(actions[:, -cell.num_memories :], [1, len(cell.actions) - 1])
    return tf.concat([relative - last, write], axis=1)
