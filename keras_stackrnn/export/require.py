"""Checks inside the graph: what is wrong with a request comes back as INVALID_ARGUMENT."""

import tensorflow as tf


def require(tensor, condition, *message):
    """A tensor that is there only if `condition` holds; otherwise the request fails.

    Args:
        tensor: What is to be used only then.
        condition: Boolean scalar.
        *message: Strings, string tensors and integer tensors that make up the sentence.
    """
    parts = [
        part if isinstance(part, str) or part.dtype == tf.string else tf.strings.as_string(part)
        for part in message
    ]
    # `tf.debugging.Assert` would put every check into a branch with functions of its own, and a
    # server takes the longer to load them.
    check = tf.raw_ops.Assert(condition=condition, data=[tf.strings.join(parts)])
    with tf.control_dependencies([check]):
        return tf.identity(tensor)


def require_none(tensor, wrong, *message):
    """The same, if there are no `wrong` values; they complete the sentence."""
    return require(tensor, tf.equal(tf.size(wrong), 0), *message, ", got ", listed(wrong))


def listed(tensor, limit: int = 3):
    """The first entries of a tensor as one string, with commas."""
    flat = tf.reshape(tensor, [-1])[:limit]
    if flat.dtype != tf.string:
        flat = tf.strings.as_string(flat, shortest=flat.dtype.is_floating)
    return tf.strings.reduce_join(flat, separator=", ")
