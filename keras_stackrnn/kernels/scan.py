"""Whole-sequence kernels for TensorFlow, with gradients written by hand.

One compiled loop over time forward, one backward. Four things make them fast:

- The batch is the minor axis everywhere (`[…, units, batch]`, memories as `[…, rows, memories *
  batch]`): reading the tops of all stacks is one contiguous slice, acting on them one long vector
  operation, and nothing is transposed inside the loops.
- The backward loop yields the gradients of the pre-activations only; each weight's gradient is one
  large product after it.
- A symbol's prediction depends only on rows that the steps still to come can bring to the head,
  and in memories that were empty only the steps before can have filled any: each block of steps
  works on just those (`_blocks`).
- What the steps do to deeper rows matters to the next window alone: the forward pass works on them
  if somebody asks for the last memory, the backward pass only if gradients flow back from it.

All tensors carry a replica axis: a population of independent models, each with weights and
memories of its own, runs as one program. An ordinary layer is a population of one.

Sizes in the comments: T steps, R replicas, B batch, H units, S memories, A actions, K read depth,
P rows, E numbers an element, N numbers a row; C = A - 1 + E controls, L = S * B lanes.
"""

import dataclasses

import tensorflow as tf

from keras_stackrnn.kernels.lanes import dimensions, join_lanes, split_lanes, steps_last
from keras_stackrnn.memories.layout import MemoryLayout
from keras_stackrnn.memories.soft import EMPTY, padded, row_count, total

# More blocks, or shorter ones, touch fewer rows but start more loops and take longer to compile.
BLOCKS = 5
SHORTEST_BLOCK = 8

# XLA adds up to so many rows lane by lane, in a chain of additions that wait for each other; more
# rows, and products with ones, many lanes at a time.
MOST_ROWS_SUMMED_BY_LANE = 32

# The derivatives of the activations that the kernels know, from the activation's output.
ACTIVATIONS = {
    "sigmoid": (tf.sigmoid, lambda y: y * (1 - y)),
    "tanh": (tf.tanh, lambda y: 1 - y * y),
    "relu": (tf.nn.relu, lambda y: tf.cast(y > 0, y.dtype)),
    "linear": (tf.identity, tf.ones_like),
}


@dataclasses.dataclass(frozen=True)
class Scan:
    """What a fused pass is told once: the memory's kind and how to treat it.

    Args:
        layout: What the memories are.
        activation: Name of the hidden units' activation, a key of `ACTIVATIONS`.
        rounding: Whether the most probable action alone is taken; then no gradient reaches the
            actions. (For one model `pointer_scan.py` does the same at a constant cost a step.)
        last_memory: Whether the memory after the last step comes out of the pass, and how many
            elements were lost on the way; then the forward pass works on all rows.
        differentiate_memory: Whether gradients can flow back from the last memory; then the
            backward pass works on all rows, too.
        keep_rows: Whether the forward pass keeps each step's rows for the backward pass, which
            otherwise works them out again: faster, for memory.
        starts_empty: Whether the memories are known to be empty before the first step. Unless
            `differentiate_memory`, fewer rows are worked on then, and the memories get no gradient.
    """

    layout: MemoryLayout
    activation: str
    rounding: bool = False
    last_memory: bool = False
    differentiate_memory: bool = False
    keep_rows: bool = True
    starts_empty: bool = False

    def __post_init__(self):
        if self.differentiate_memory and not self.last_memory:
            raise ValueError("differentiate_memory=True needs last_memory=True, got False")


def scan(options: Scan, projected, hidden, memory, weights, control_noise=None):
    """Takes a whole sequence through the cell's equations.

    Args:
        options: A `Scan`.
        projected: `[T, R, H, B]`, the inputs times their kernel, bias included.
        hidden: `[R, H, B]`, the hidden units before the first step.
        memory: `[R, P, N*L]`, the memories before the first step.
        weights: Dict of `memory_kernel` `[R, H, K*E*S]`; `control_kernel` `[R, C*S, H]`, for the
            logits of all actions but the last, which are relative to the last one's, and for the
            element written; optionally `recurrent_kernel` `[R, H, H]` and `control_bias`
            `[R, C*S, 1]`.
        control_noise: `[T, R, C*S, B]`, added to the logits; optional, gets no gradient.

    Returns:
        `hiddens` `[T, R, H, B]`; `controls` `[T, R, C, L]`, the weights of all actions but the
        last and the element written, which pass no gradient on; and if `options.last_memory`, the
        last memory, `[R, P, N*L]`, and how many elements went past its ends, `[R]`, else `None`s.
    """
    tensors = {"projected": projected, "hidden": hidden, "memory": memory, **weights}
    pass_ = _Pass(options, list(tensors), control_noise)
    hiddens, controls, *memory_and_lost = tf.custom_gradient(pass_.run)(*tensors.values())
    last, lost = memory_and_lost if options.last_memory else (None, None)
    return hiddens, tf.stop_gradient(controls), last, lost


def split_controls(controls, element_size: int):
    """`[…, C, L]` as the weights of all actions, each `[…, 1, L]`, and the element written,
    `[…, 1, E*L]`.

    The last action takes what the others leave over, as in `soft.action_weights`.
    """
    parts = tf.split(controls, controls.shape[-2], axis=-2)
    weights, elements = parts[:-element_size], parts[-element_size:]
    value = elements[0] if element_size == 1 else tf.concat(elements, axis=-1)
    return [*weights, 1 - total(weights)], value


class _Pass:
    """One forward pass and the way back."""

    def __init__(self, options, names, control_noise):
        self.options = options
        self.layout = options.layout
        self.names = names
        self.control_noise = control_noise
        self.activation, self.derivative = ACTIVATIONS[options.activation]

    def run(self, *tensors):
        inputs = dict(zip(self.names, tensors, strict=True))
        blocks, backward_blocks = self.blocks(inputs)
        before = blocks[0]
        memory, hidden = inputs["memory"][:, before.start : before.stop], inputs["hidden"]
        # In a list that is empty if nobody asks: loops that carry a constant may fail to compile.
        lost = [self.none_lost(memory)] if self.options.last_memory else []
        arrays = self.arrays(inputs, ["hiddens", "controls"])
        # Each step reads what is projected, then writes its hidden units in the same place.
        arrays["hiddens"] = arrays["hiddens"].unstack(inputs["projected"])
        first_rows, all_rows = [], []
        for block, backward_block in zip(blocks, backward_blocks, strict=True):
            memory, before = _fit(memory, before, block, EMPTY), block
            first_rows.append(_fit(memory, block, backward_block, EMPTY))
            hidden, memory, lost, arrays, rows = self.forward(
                block, backward_block, inputs, hidden, memory, lost, arrays
            )
            all_rows.append(rows)
        record = {name: array.stack() for name, array in arrays.items()}

        def gradients(d_hiddens, _, d_memory, *__):
            kept = zip(backward_blocks, first_rows, all_rows, strict=True)
            return self.backward(inputs, record, list(kept), d_hiddens, d_memory)

        lost = [tf.reduce_sum(elements, axis=[1, 2]) for elements in lost]
        return (record["hiddens"], record["controls"], memory, *lost), gradients

    def none_lost(self, memory):
        lanes = dimensions(memory)[-1] // self.layout.numbers
        return tf.zeros_like(memory[:, :1, :lanes])

    def arrays(self, inputs, names):
        """An array of a value at each step, for each name."""
        steps, dtype = dimensions(inputs["projected"])[0], inputs["projected"].dtype
        return {name: tf.TensorArray(dtype, steps, clear_after_read=False) for name in names}

    def blocks(self, inputs):
        """The steps in blocks, as the forward pass works on them and as the backward pass does."""
        steps, rows = dimensions(inputs["projected"])[0], row_count(inputs["memory"])
        head = self.layout.head(rows)
        if self.options.differentiate_memory or tf.is_tensor(steps) or tf.is_tensor(rows):
            blocks = [_Block(0, steps, 0, rows, head)]
            return blocks, blocks
        blocks = _blocks(self.layout, steps, rows, self.options.starts_empty)
        if not self.options.last_memory:
            return blocks, blocks
        return [_Block(block.begin, block.steps, 0, rows, head) for block in blocks], blocks

    def forward(self, block, backward_block, inputs, hidden, memory, lost, arrays):
        def step(t, noise, hidden, memory, lost, arrays, rows):
            if self.options.keep_rows:
                kept = _fit(memory, block, backward_block, EMPTY)
                rows = rows.write(t - block.begin, kept)
            projected = arrays["hiddens"].read(t)
            hidden, controls = self.control(projected, noise, inputs, hidden, memory, block)
            weights, value = split_controls(controls, self.layout.element_size)
            lost = [elements + self.layout.lost(weights, memory) for elements in lost]
            memory = self.layout.act(weights, value, memory, block.head)
            now = {"hiddens": hidden, "controls": controls}
            return t + 1, self.noise(t + 1), hidden, memory, lost, _write(arrays, t, now), rows

        rows = tf.TensorArray(memory.dtype, size=block.steps)
        _, _, hidden, memory, lost, arrays, rows = tf.while_loop(
            lambda t, *_: t < block.end,
            step,
            (block.begin, self.noise(block.begin), hidden, memory, lost, arrays, rows),
            maximum_iterations=block.steps,
        )
        return hidden, memory, lost, arrays, rows.stack() if self.options.keep_rows else None

    def noise(self, t):
        """The noise of a step, in a list that is empty if there is none."""
        if self.control_noise is None:
            return []
        # Steps are handed it, as the steps back are their controls (`backward_block`). Counted from
        # the end: the last step of all hands on some that no step takes.
        return [self.control_noise[t - dimensions(self.control_noise)[0]]]

    def control(self, projected, noise, inputs, hidden, memory, block):
        """Equations 6 and 3: from what is read to the actions and the value to write."""
        read = self.layout.read(memory, block.head)
        before = projected + inputs["memory_kernel"] @ split_lanes(read, projected)
        if "recurrent_kernel" in inputs:
            before += inputs["recurrent_kernel"] @ hidden
        hidden = self.activation(before)
        logits = inputs["control_kernel"] @ hidden
        if "control_bias" in inputs:
            logits += inputs["control_bias"]
        logits = total([logits, *noise])
        relative = len(self.layout.actions) - 1
        logits = join_lanes(logits, self.layout.controls)
        if relative == 1 and not self.options.rounding:
            # The weight of one action of two is a sigmoid, as the numbers written are.
            return hidden, tf.sigmoid(logits)
        *logits, value = tf.split(logits, [1] * relative + [self.layout.element_size], axis=1)
        weights = _round(logits) if self.options.rounding else _softmax(logits)
        return hidden, tf.concat([*weights, tf.sigmoid(value)], axis=1)

    def replay(self, block, controls, memory):
        """The rows before each step of a block, worked out from the actions taken."""

        def step(t, memory, rows):
            rows = rows.write(t - block.begin, memory)
            weights, value = split_controls(controls[t], self.layout.element_size)
            return t + 1, self.layout.act(weights, value, memory, block.head), rows

        rows = tf.TensorArray(memory.dtype, size=block.steps)
        _, _, rows = tf.while_loop(
            lambda t, *_: t < block.end,
            step,
            (block.begin, memory, rows),
            maximum_iterations=block.steps,
        )
        return rows.stack()

    def backward(self, inputs, record, kept, d_hiddens, d_memory):
        """The gradients of all inputs; `kept` are the blocks, each with its first and all rows."""
        if not self.options.differentiate_memory:
            # No steps are left to bring any row to the head.
            d_memory = tf.zeros_like(kept[-1][1])
        d_state = {"memory": d_memory}
        if "recurrent_kernel" in inputs:
            d_state["hidden"] = tf.zeros_like(inputs["hidden"])
        arrays, later, reads = self.arrays(inputs, ["before", "controls"]), kept[-1][0], []
        for block, first_rows, rows in reversed(kept):
            d_state["memory"], later = _fit(d_state["memory"], later, block, 0.0), block
            if rows is None:
                rows = self.replay(block, record["controls"], first_rows)
            reads.append(self.layout.read(rows, block.head))
            d_state, arrays = self.backward_block(
                block, inputs, {**record, "rows": rows}, d_hiddens, d_state, arrays
            )
        d_before, d_controls = arrays["before"].stack(), arrays["controls"].stack()
        hiddens, reads = record["hiddens"], tf.concat(reads[::-1], axis=0)

        gradients = {
            "projected": d_before,
            "hidden": d_state.get("hidden", tf.zeros_like(inputs["hidden"])),
            "memory": self.d_first_memory(d_state["memory"], later, inputs["memory"]),
            "memory_kernel": _product(d_before, split_lanes(reads, d_before)),
            "control_kernel": _product(d_controls, hiddens),
        }
        if "recurrent_kernel" in inputs:
            earlier = tf.concat([inputs["hidden"][None], hiddens[:-1]], axis=0)
            gradients["recurrent_kernel"] = _product(d_before, earlier)
        if "control_bias" in inputs:
            gradients["control_bias"] = tf.reduce_sum(d_controls, axis=[0, 3])[..., None]
        return [gradients[name] for name in self.names]

    def d_first_memory(self, gradient, block, memory):
        """The gradient of the memory given, of that of the first block's rows."""
        if self.options.starts_empty and not self.options.differentiate_memory:
            return tf.zeros_like(memory)
        after = row_count(memory) - block.start - row_count(gradient)
        return tf.pad(gradient, [[0, 0], [block.start, after], [0, 0]])

    def backward_block(self, block, inputs, record, d_hiddens, d_state, arrays):
        # Products with a transposed factor are slow, so it is transposed once, before the loop.
        transposed = {
            name: tf.transpose(inputs[name], [0, 2, 1])
            for name in ("control_kernel", "memory_kernel", "recurrent_kernel")
            if name in inputs
        }

        look_up = {
            "hidden": lambda t: record["hiddens"][t],
            "controls": lambda t: record["controls"][t],
            "memory": lambda t: record["rows"][t - block.begin],
            "d_hidden": lambda t: d_hiddens[t],
        }
        # What is looked up while XLA works on the rows, and used in more than one place there, is
        # looked up anew for every number, which keeps XLA from working on several at a time. So
        # each step is handed it: the controls, and the rows where NO-OP uses them as they are and
        # other actions moved. (The first step of all hands on some that no step takes.)
        handed_on = ["controls", "memory"] if self.layout.kind.has_no_op else ["controls"]

        def hand_on(t):
            return {name: look_up[name](t) for name in handed_on}

        def step(t, handed, d_state, arrays):
            others = {name: at(t) for name, at in look_up.items() if name not in handed}
            d_state, now = self.backward_step(block, transposed, d_state, **handed, **others)
            return t - 1, hand_on(t - 1), d_state, _write(arrays, t, now)

        last = block.end - 1
        _, _, d_state, arrays = tf.while_loop(
            lambda t, *_: t >= block.begin,
            step,
            (last, hand_on(last), d_state, arrays),
            maximum_iterations=block.steps,
        )
        return d_state, arrays

    def backward_step(self, block, transposed, d_state, *, hidden, controls, memory, d_hidden):
        layout, d_memory = self.layout, d_state["memory"]
        weights, value = split_controls(controls, layout.element_size)

        *moves, last_move = layout.kind.moves(value, memory, block.head)
        sums = [_sum_rows(d_memory * (move - last_move)) for move in moves]
        d_weights = layout.weights_back(sums)
        if self.options.rounding:
            d_weights = [tf.zeros_like(d) for d in d_weights]
        mean = total([w * d for w, d in zip(weights, d_weights, strict=False)])
        d_value = layout.value_back(weights, d_memory, value, memory, block.head) * (1 - value)
        d_numbers = tf.split(d_value, layout.element_size, axis=2)
        d_relative = tf.concat([*(d - mean for d in d_weights), *d_numbers], axis=1)
        # Multiplied in this layout: else XLA works it out twice, once for each use of it.
        d_controls = split_lanes(controls, hidden) * split_lanes(d_relative, hidden)

        d_hidden += transposed["control_kernel"] @ d_controls
        if "hidden" in d_state:
            d_hidden += d_state["hidden"]
        d_before = d_hidden * self.derivative(hidden)
        d_read = join_lanes(transposed["memory_kernel"] @ d_before, layout.read_depth)
        d_memory = layout.rows_back(weights, d_memory, value, memory, block.head)
        d_state = {"memory": d_memory + layout.read_back(d_read, block.head, block.rows)}
        if "recurrent_kernel" in transposed:
            d_state["hidden"] = transposed["recurrent_kernel"] @ d_before
        return d_state, {"before": d_before, "controls": d_controls}


@dataclasses.dataclass(frozen=True)
class _Block:
    """`steps` steps from `begin` on, working on the rows from `start` to `stop`."""

    begin: int
    steps: int
    start: int
    stop: int
    head: int  # within the slice

    @property
    def end(self):
        return self.begin + self.steps

    @property
    def rows(self):
        return self.stop - self.start


def _blocks(layout, steps: int, rows: int, starts_empty: bool) -> list[_Block]:
    length = max(-(-steps // BLOCKS), SHORTEST_BLOCK)
    # The deepest row that is read is so many moves from the head.
    deepest = layout.read_depth - 1
    blocks = []
    for begin in range(0, steps, length):
        end = min(begin + length, steps)
        # The last step still reads.
        reach = steps - 1 - begin + deepest
        if starts_empty:
            # An element is written at the head, and every later step may move it away by one.
            reach = min(reach, max(end - 1, deepest))
        start, stop = layout.within_reach(rows, reach)
        blocks.append(_Block(begin, end - begin, start, stop, layout.head(rows) - start))
    return blocks


def _fit(rows, now, then, fill):
    """The rows of block `now` as block `then` works on them: cut, or filled up with `fill`."""
    if now is then:
        return rows
    first, last = max(0, then.start - now.start), min(now.rows, then.stop - now.start)
    return padded(
        rows[:, first:last], max(0, now.start - then.start), max(0, then.stop - now.stop), fill
    )


def _softmax(logits):
    """The weights of all actions but the last, whose logit is 0."""
    if len(logits) == 1:
        return [tf.sigmoid(logits[0])]
    largest = _largest(logits)
    powers = [tf.exp(logit - largest) for logit in logits]
    whole = total([*powers, tf.exp(-largest)])
    return [power / whole for power in powers]


def _round(logits):
    """1 for the first of the largest logits, 0 for the others; the last action's logit is 0."""
    largest = _largest(logits)
    weights, left = [], tf.ones_like(largest)
    for logit in logits:
        weights.append(left * tf.cast(logit >= largest, logit.dtype))
        left -= weights[-1]
    return weights


def _largest(logits):
    largest = tf.zeros_like(logits[0])
    for logit in logits:
        largest = tf.maximum(largest, logit)
    return largest


def _sum_rows(tensor):
    """`[R, P, L]` as `[R, 1, L]`."""
    replicas, rows, _ = dimensions(tensor)
    if tf.is_tensor(rows) or rows > MOST_ROWS_SUMMED_BY_LANE:
        return tf.reduce_sum(tensor, axis=1, keepdims=True)
    if replicas == 1:
        # Written out, for XLA makes slow work of a product whose factor is a single row. A few sums
        # at a time, since each waits for its last addition.
        terms = tf.split(tensor, rows, axis=1)
        return total([total(terms[i::4]) for i in range(min(4, rows))])
    return tf.ones([replicas, 1, rows], tensor.dtype) @ tensor


def _write(arrays, step, values):
    """Writes one value to each array."""
    return {name: array.write(step, values[name]) for name, array in arrays.items()}


def _product(gradients, values):
    """The gradient of a kernel: `[T, R, M, B]` times `[T, R, N, B]`, over T and B."""
    return tf.matmul(steps_last(gradients), steps_last(values), transpose_b=True)
