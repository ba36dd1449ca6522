"""What the tests of StackRNN and ListRNN on TensorFlow share."""

import keras
import numpy as np
import tensorflow as tf
from test_case import LIST, random, randomise

FEATURES = 3
LAYER_ARGUMENTS = ("return_sequences", "return_state", "go_backwards", "stateful")


def fused_and_loop(kind, options, ample=None, dtype="float64"):
    """The fused layer, and its cell with the same weights in Keras' loop.

    A cell has to have a capacity: `ample` is the one it gets where the layer's is `None`.
    """
    fused = kind.rnn(**options, use_fused=True, dtype=dtype)
    in_cell = {name: value for name, value in options.items() if name not in LAYER_ARGUMENTS}
    in_layer = {name: value for name, value in options.items() if name in LAYER_ARGUMENTS}
    cell = kind(**{**in_cell, "capacity": options["capacity"] or ample}, dtype=dtype)
    loop = keras.layers.RNN(cell, **in_layer, dtype=dtype)
    for layer in (fused, loop):
        layer.build((2, None, FEATURES))
        randomise(layer, seed=3)
    return fused, loop


def in_rows(kind, slots, memories, rows):
    """A memory's state, deepened with empty slots where they change nothing."""
    depth = tf.shape(slots)[1] // memories
    before = rows // 2 - depth // 2 if kind is LIST else 0
    edges = [before * memories, (rows - depth - before) * memories]
    return tf.pad(slots, [[0, 0], edges], constant_values=tf.constant(-1, slots.dtype))


def states_of(batch, units, memories, rows, dtype="float64", seed=1):
    """A hidden state, and memories that are empty in places."""
    hidden, slots = random(batch, units, seed=seed), random(batch, rows * memories, seed=seed + 1)
    slots = np.where(slots > 0, 1 / (1 + slots), -1)
    return [tf.constant(state, dtype) for state in (hidden, slots)]
