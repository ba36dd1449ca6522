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
