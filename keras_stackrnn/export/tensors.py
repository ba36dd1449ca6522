"""Small functions of tensors that the exported graph is made of."""

import tensorflow as tf


def longest(lengths):
    """The largest length, 0 of none."""
    return tf.reduce_max(tf.concat([[0], lengths], axis=0))


def transposed(tensor, order=None):
    """`tf.transpose` of float32: oneDNN's takes ten times as long to begin as that of integers."""
    return tf.bitcast(tf.transpose(tf.bitcast(tensor, tf.int32), order), tf.float32)


def softmax(logits):
    """`tf.nn.softmax`, which is oneDNN's and takes ten times as long to begin."""
    return tf.exp(tf.nn.log_softmax(logits))


def reshaped_first(tensor, sizes, of):
    """The tensor with other `sizes` in place of the first `of` ones."""
    return tf.reshape(tensor, tf.concat([sizes, tf.shape(tensor)[of:]], axis=0))


def at(lengths, records):
    """Of records `[1 + longest, B, …]` those of each row's own length, `[B, …]`."""
    rows = tf.range(tf.shape(lengths)[0])
    return tf.gather_nd(records, tf.stack([lengths, rows], axis=1))


def padded(tensor, lengths, columns, filler):
    """`[B, longest, …]` as `[B, columns, …]`, with `filler` after each row's length."""
    missing = columns - tf.shape(tensor)[1]
    extra = len(tensor.shape) - 2
    tensor = tf.pad(tensor, [[0, 0], [0, missing]] + [[0, 0]] * extra, constant_values=filler)
    counts = tf.sequence_mask(lengths, columns)
    counts = tf.reshape(counts, tf.concat([tf.shape(counts), [1] * extra], axis=0))
    return tf.where(counts, tensor, filler)
