"""How controllers decide whose kernels add up: from what is read to logits, and the way back.

Sizes in the comments are those of `scan.py`, and G gates.
"""

import tensorflow as tf

from keras_stackrnn.kernels.lanes import masked, product, split_lanes
from keras_stackrnn.memories.soft import total


class FirstOrder:
    """Equations 6 and 3: `hidden` of what is projected, read and remembered; logits of `hidden`.

    Where there are no memories, there are no kernels of theirs.

    Args:
        layout: What the memories are.
        controller: A `Controller` of order 1.
        steps: The `Steps` of the pass.
    """

    KERNELS = ("control_kernel", "memory_kernel", "recurrent_kernel")
    WEIGHTS = (*KERNELS, "recurrent_bias", "control_bias")

    def __init__(self, layout, controller, steps):
        self.controller = controller
        self.steps = steps

    @staticmethod
    def projected(weights, inputs):
        """What steps are handed of inputs `[R, V, …]`: their product with the kernel."""
        product = tf.matmul(weights["kernel"], inputs, transpose_a=True)
        return product + weights["bias"] if "bias" in weights else product

    def step(self, inputs, projected, read, states, noise):
        """One step.

        Args:
            inputs: All inputs of the pass by name.
            projected: `[R, …, B]`, what `projected` made of the step's.
            read: `[R, K*E*S, B]`, what was read.
            states: The states before it.
            noise: Added to all logits; `None`: none.

        Returns:
            The states after it; the controls' logits, `[R, C*S, B]`; if none of these are of the
            elements written, these elements, `[R, E*S, B]`, else `None`; and the controller's
            records.
        """
        before = projected
        if "memory_kernel" in inputs:
            before += inputs["memory_kernel"] @ read
        recurrent = None
        if "recurrent_kernel" in inputs:
            hidden = masked(states["hidden"], self.steps.hidden_mask)
            recurrent = inputs["recurrent_kernel"] @ hidden
            if "recurrent_bias" in inputs:
                recurrent += inputs["recurrent_bias"]
            recurrent = self.by_gate(recurrent)
        states, record = self.controller.step(self.by_gate(before), recurrent, states)
        record = {
            name: tf.concat(each, axis=1) if isinstance(each, list) else each
            for name, each in record.items()
        }
        logits = tf.zeros_like(read[:, :0])
        if "control_kernel" in inputs:
            logits = inputs["control_kernel"] @ states["hidden"]
        if "control_bias" in inputs:
            logits += inputs["control_bias"]
        if noise is not None:
            logits += noise
        return states, logits, None, record

    def by_gate(self, tensor):
        """`[R, G*H, B]` as a list of `[R, H, B]`."""
        gates = self.controller.gates
        return [tensor] if gates == 1 else tf.split(tensor, gates, axis=1)

    def kept(self, inputs):
        """The names of the gradients that each step back leaves, beside those of the controls."""
        return ["before", *(["apart"] if self.has_gates_apart(inputs) else [])]

    def back(self, transposed, d_states, d_controls, seen, read):
        """The way back through a step.

        Args:
            transposed: The `KERNELS`, transposed.
            d_states: Gradients of the states after it, as far as steps after it gave any.
            d_controls: Gradient of the logits.
            seen: What there was at the step.
            read: What it read.

        Returns:
            The gradients that are kept, that of what was read, and those of the states before.
        """
        hidden = seen["hidden"]
        d_hidden = seen["d_hidden"]
        if "control_kernel" in transposed:
            d_hidden += transposed["control_kernel"] @ d_controls
        if "hidden" in d_states:
            d_hidden += d_states["hidden"]
        d_after = {**d_states, "hidden": d_hidden}
        kept = {name: seen[name] for name in self.controller.records}
        if kept:
            kept["gates"] = self.by_gate(kept["gates"])
        if self.controller.carries_hidden:
            kept["earlier_hidden"] = seen["earlier_hidden"]
        d_before, d_recurrent, d_earlier = self.controller.back(d_after, hidden, kept)
        now = {"before": self.all_gates(d_before, seen)}
        d_read = tf.zeros_like(read)
        if "memory_kernel" in transposed:
            d_read = masked(transposed["memory_kernel"] @ now["before"], self.steps.read_mask)
        if "counts" in seen:
            d_earlier = {
                # Where a step does not count, its controls have no gradient to add.
                name: tf.where(seen["counts"][0], d_earlier.get(name, tf.zeros_like(d)), d)
                for name, d in d_after.items()
            }
        if "recurrent_kernel" in transposed:
            if self.controller.gates_apart:
                apart = [d_recurrent[gate] for gate in self.controller.gates_apart]
                now["apart"] = self.all_gates(apart, seen)
                d_recurrent = self.with_gates_apart(now["before"], now["apart"])
            else:
                d_recurrent = now["before"]
            by_kernel = transposed["recurrent_kernel"] @ d_recurrent
            carried = [d_earlier["hidden"]] if "hidden" in d_earlier else []
            d_earlier["hidden"] = total([masked(by_kernel, self.steps.hidden_mask), *carried])
        return now, d_read, d_earlier

    def weight_gradients(self, inputs, gradients, record, reads, earlier):
        """The gradients of what is projected and of the weights, from those of all steps.

        Args:
            inputs: All inputs by name.
            gradients: `[T, R, …, B]`, those that the steps back have left, and of the logits.
            record: What the forward pass kept.
            reads: What all steps read.
            earlier: The hidden units before all steps.
        """
        d_before, d_controls = gradients["before"], gradients["controls"]
        reads = masked(split_lanes(reads, d_before), self.steps.read_mask)
        found = {
            "projected": d_before,
            "memory_kernel": product(d_before, reads),
            "control_kernel": product(d_controls, record["hiddens"]),
        }
        if "recurrent_kernel" in inputs:
            d_recurrent = d_before
            if "apart" in gradients:
                d_recurrent = self.with_gates_apart(d_before, gradients["apart"])
            earlier = masked(earlier, self.steps.hidden_mask)
            found["recurrent_kernel"] = product(d_recurrent, earlier)
            found["recurrent_bias"] = tf.reduce_sum(d_recurrent, axis=[0, 3])[..., None]
        if "control_bias" in inputs:
            found["control_bias"] = tf.reduce_sum(d_controls, axis=[0, 3])[..., None]
        return found

    def has_gates_apart(self, inputs):
        """Whether gradients of what comes from the hidden units are others than the inputs'."""
        return "recurrent_kernel" in inputs and bool(self.controller.gates_apart)

    def with_gates_apart(self, d_before, apart):
        """`[…, G*H, B]` with the gradients of some gates in place of the inputs'."""
        gates = tf.split(d_before, self.controller.gates, axis=-2)
        places = self.controller.gates_apart
        for place, gate in zip(places, tf.split(apart, len(places), axis=-2), strict=True):
            gates[place] = gate
        return tf.concat(gates, axis=-2)

    def all_gates(self, gradients, seen):
        """The gates' gradients in one tensor, `[R, G*H, B]`."""
        one = gradients[0] if len(gradients) == 1 else tf.concat(gradients, axis=1)
        return where_it_counts(one, seen)


def where_it_counts(gradient, seen):
    """The gradient, 0 where the step does not count."""
    if "counts" not in seen:
        return gradient
    return tf.where(seen["counts"][0], gradient, tf.zeros_like(gradient))
