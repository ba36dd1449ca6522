"""Shapes in the kernels: sizes that may be tensors, and memories' rows as lanes and back."""

import tensorflow as tf

from keras_stackrnn.types import Count, Tensor


def dimensions(tensor: Tensor) -> list:
    """The shape, as integers where they are known and as tensors where not."""
    dynamic = tf.shape(tensor)
    return [dynamic[i] if size is None else size for i, size in enumerate(tensor.shape)]


def join_lanes(tensor: Tensor, rows: Count) -> Tensor:
    """`[R, rows * S, B]` as `[R, rows, S * B]`."""
    replicas, size, batch = dimensions(tensor)
    return tf.reshape(tensor, [replicas, rows, size // rows * batch])


def split_lanes(tensor: Tensor, projected: Tensor) -> Tensor:
    """`[…, rows, S * B]` as `[…, rows * S, B]`, B being that of `projected`."""
    *lead, rows, lanes = dimensions(tensor)
    batch = dimensions(projected)[-1]
    return tf.reshape(tensor, [*lead, rows * (lanes // batch), batch])


def steps_first(tensor: Tensor, steps: int) -> Tensor:
    """`[R, M, T * B]`, which one product for all steps gives, as the `[T, R, M, B]` of a `scan`."""
    replicas, size, columns = dimensions(tensor)
    batch = columns // steps
    # Three axes are moved in one pass; for four XLA takes two.
    moved = tf.transpose(tf.reshape(tensor, [replicas * size, steps, batch]), [1, 0, 2])
    return tf.reshape(moved, [steps, replicas, size, batch])


def steps_last(tensor: Tensor) -> Tensor:
    """`[T, R, M, B]` as `[R, M, T * B]`, the inverse of `steps_first`."""
    steps, replicas, size, batch = dimensions(tensor)
    moved = tf.transpose(tf.reshape(tensor, [steps, replicas * size, batch]), [1, 0, 2])
    return tf.reshape(moved, [replicas, size, steps * batch])


def masked(tensor: Tensor, mask: Tensor | None) -> Tensor:
    """The product with a mask, if there is one."""
    return tensor if mask is None else tensor * mask


def product(gradients: Tensor, values: Tensor) -> Tensor:
    """The gradient of a kernel: `[T, R, M, B]` times `[T, R, N, B]`, over T and B."""
    return tf.matmul(steps_last(gradients), steps_last(values), transpose_b=True)
