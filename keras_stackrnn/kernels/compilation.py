"""Whether the function that is being traced will be compiled."""

import tensorflow as tf

# Not public; but it is how TensorFlow's own operations know.
from tensorflow.python.ops import control_flow_util


def is_being_compiled() -> bool:
    """Whether this is within a `tf.function` with `jit_compile=True`, at any depth."""
    return control_flow_util.GraphOrParentsInXlaContext(tf.compat.v1.get_default_graph())
