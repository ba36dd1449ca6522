"""How a second-order controller decides: the input chooses the table, and the way back.

Sizes in the comments are those of `scan.py`; V features of an input, U pairs of a hidden unit and a
number that was read, Z logits of a step: those of the hidden units, then those of the controls.
"""

import tensorflow as tf

from keras_stackrnn.kernels.first_order import where_it_counts
from keras_stackrnn.kernels.lanes import (
    dimensions,
    masked,
    product,
    split_lanes,
    steps_first,
    steps_last,
)


class SecondOrder:
    """`logits = sum over v of input[v] * kernel[v] @ ([hidden; 1] ⊗ [read; 1]) + bias`.

    `kernel` is `[R, V*Z, U]`, `bias` `[R, Z, 1]`. What is projected are the inputs themselves.

    Args:
        layout: What the memories are.
        controller: A `Controller` of order 2.
        steps: The `Steps` of the pass.
    """

    KERNELS = ("kernel",)
    WEIGHTS = ("kernel", "bias")

    def __init__(self, layout, controller, steps):
        self.layout = layout
        self.controller = controller
        self.steps = steps

    @staticmethod
    def projected(weights, inputs):
        """What steps are handed of inputs `[R, V, …]`: these themselves."""
        return inputs

    def step(self, inputs, projected, read, states, noise):
        """See `FirstOrder.step`."""
        earlier = states["hidden"]
        of_each = _by_feature(inputs["kernel"] @ self.pairs(earlier, read), projected)
        logits = tf.reduce_sum(projected[:, :, None] * of_each, axis=1)
        if "bias" in inputs:
            logits += inputs["bias"]
        if noise is not None:
            logits += noise
        units = earlier.shape[1]
        states, _ = self.controller.step([logits[:, :units]], None, states, axis=1)
        written = None
        if self.controller.writes_hidden:
            # The kernel's shape is known, whatever the size of the batch.
            numbers_read = inputs["kernel"].shape[2] // (units + 1) - 1
            of_a_memory = self.layout.read_depth * self.layout.element_size
            written = tf.repeat(earlier, numbers_read // of_a_memory, axis=1)
        return states, logits[:, units:], written, {"inputs": projected}

    def pairs(self, hidden, read):
        """`[hidden; 1] ⊗ [read; 1]`, `[…, U, B]`."""
        hidden, read = _with_one(masked(hidden, self.steps.hidden_mask)), _with_one(read)
        return _flat(hidden[..., :, None, :] * read[..., None, :, :])

    def kept(self, inputs):
        """The names of the gradients that each step back leaves, beside those of the controls."""
        return ["logits"]

    def back(self, transposed, d_states, d_controls, seen, read):
        """See `FirstOrder.back`."""
        hidden, earlier = seen["hidden"], seen["earlier_hidden"]
        d_after = seen["d_hidden"] + d_states["hidden"]
        [d_logits], _, _ = self.controller.back({"hidden": d_after}, hidden, {}, axis=1)
        d_decided, d_written, units = d_controls, None, hidden.shape[1]
        if self.controller.writes_hidden:
            count = dimensions(d_controls)[1] // self.layout.controls
            d_decided, d_written = tf.split(d_controls, [-1, units * count], axis=1)
        d_logits = where_it_counts(tf.concat([d_logits, d_decided], axis=1), seen)
        d_pairs = transposed["kernel"] @ _outer(seen["inputs"], d_logits)

        replicas, _, batch = dimensions(d_pairs)
        left, right = _with_one(masked(earlier, self.steps.hidden_mask)), _with_one(read)
        d_pairs = tf.reshape(d_pairs, [replicas, units + 1, -1, batch])
        d_hidden = tf.reduce_sum(d_pairs * right[:, None], axis=2)[:, :-1]
        d_read = tf.reduce_sum(d_pairs * left[:, :, None], axis=1)[:, :-1]
        d_hidden = masked(d_hidden, self.steps.hidden_mask)
        if d_written is not None:
            d_written = tf.reshape(d_written, [replicas, units, count, batch])
            d_hidden += tf.reduce_sum(d_written, axis=2)
        if "counts" in seen:
            d_hidden = tf.where(seen["counts"][0], d_hidden, d_after)
        return {"logits": d_logits}, masked(d_read, self.steps.read_mask), {"hidden": d_hidden}

    def weight_gradients(self, inputs, gradients, record, reads, earlier):
        """See `FirstOrder.weight_gradients`."""
        d_logits, projected = gradients["logits"], inputs["projected"]
        steps = dimensions(projected)[0]
        reads = masked(split_lanes(reads, projected), self.steps.read_mask)
        pairs = self.pairs(earlier, reads)
        of_each = _by_feature(inputs["kernel"] @ steps_last(pairs), projected)
        d_projected = tf.reduce_sum(steps_last(d_logits)[:, None] * of_each, axis=2)
        found = {
            "projected": steps_first(d_projected, steps),
            "kernel": product(_outer(projected, d_logits), pairs),
        }
        if "bias" in inputs:
            found["bias"] = tf.reduce_sum(d_logits, axis=[0, 3])[..., None]
        return found


def _with_one(tensor):
    """`[…, N, B]` with a row of ones below."""
    none_before = [[0, 0]] * (tensor.shape.rank - 2)
    return tf.pad(tensor, [*none_before, [0, 1], [0, 0]], constant_values=1)


def _outer(features, logits):
    """`[…, V, B]` and `[…, Z, B]` as `[…, V*Z, B]`."""
    return _flat(features[..., :, None, :] * logits[..., None, :, :])


def _flat(tensor):
    """`[…, M, N, B]` as `[…, M*N, B]`."""
    *lead, rows, columns, batch = dimensions(tensor)
    return tf.reshape(tensor, [*lead, rows * columns, batch])


def _by_feature(tensor, features):
    """`[R, V*Z, B]` as `[R, V, Z, B]`, V being that of `features`, `[…, V, B]`."""
    replicas, size, batch = dimensions(tensor)
    count = features.shape[-2]
    return tf.reshape(tensor, [replicas, count, size // count, batch])
