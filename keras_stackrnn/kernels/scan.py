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
from typing import NamedTuple

import tensorflow as tf

from keras_stackrnn.controllers import Controller
from keras_stackrnn.kernels.first_order import FirstOrder, where_it_counts
from keras_stackrnn.kernels.lanes import dimensions, join_lanes, masked, split_lanes
from keras_stackrnn.kernels.second_order import SecondOrder
from keras_stackrnn.memories.layout import MemoryLayout
from keras_stackrnn.memories.soft import EMPTY, padded, row_count, total
from keras_stackrnn.types import Tensor

# More blocks, or shorter ones, touch fewer rows but start more loops and take longer to compile.
BLOCKS = 5
SHORTEST_BLOCK = 8

# XLA adds up to so many rows lane by lane, in a chain of additions that wait for each other; more
# rows, and products with ones, many lanes at a time.
MOST_ROWS_SUMMED_BY_LANE = 32


@dataclasses.dataclass(frozen=True)
class Scan:
    """What a fused pass is told once: the memory's kind and how to treat it.

    Args:
        layout: What the memories are.
        controller: What decides, with an activation whose derivative is known.
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
        in_one_block: Whether all steps are one block: what comes out is the same, compiled sooner,
            which is worth it where few symbols are read.
        one_loop_forward: Whether, with `last_memory` and `keep_rows`, the forward pass alone takes
            all steps in one loop: compiled sooner, but slower where memories are large, because
            more rows are kept of most steps.
    """

    layout: MemoryLayout
    controller: Controller
    rounding: bool = False
    last_memory: bool = False
    differentiate_memory: bool = False
    keep_rows: bool = True
    starts_empty: bool = False
    in_one_block: bool = False
    one_loop_forward: bool = False

    def __post_init__(self):
        if self.differentiate_memory and not self.last_memory:
            raise ValueError("differentiate_memory=True needs last_memory=True, got False")


class Scanned(NamedTuple):
    """What comes out of a whole sequence.

    Attributes:
        hiddens: `[T, R, H, B]`, the hidden units of every step.
        controls: `[T, R, C, L]`, the weights of all actions but the last and the element written;
            no gradient comes back from them.
        states: The controller's states after the last step, `[R, H, B]` each, by name.
        memory: `[R, P, N*L]`, the memories after the last step; `None` unless they were wanted.
        lost: `[R]`, how many elements went past the memories' ends; `None` likewise.
    """

    hiddens: tf.Tensor
    controls: tf.Tensor
    states: dict[str, tf.Tensor]
    memory: tf.Tensor | None
    lost: tf.Tensor | None


class Steps(NamedTuple):
    """What steps are told beside their inputs; gets no gradient.

    Attributes:
        noise: `[T, R, C*S, B]`, added to the logits; of a controller of order 2, those of its
            hidden units come first.
        counts: `[T, R, 1, B]` of booleans: a step that does not count leaves all as it was.
        resets: `[T, R, 1, B]` of booleans: states and memories begin anew before the step.
        hidden_mask: `[R, H, B]`, by which all steps multiply the hidden units before the recurrent
            kernel.
        read_mask: `[R, K*E*S, B]`, by which all steps multiply what they read.
    """

    noise: tf.Tensor | None = None
    counts: tf.Tensor | None = None
    resets: tf.Tensor | None = None
    hidden_mask: tf.Tensor | None = None
    read_mask: tf.Tensor | None = None


def scan(
    options: Scan,
    projected: Tensor,
    states: dict[str, Tensor],
    memory: Tensor,
    weights: dict[str, Tensor],
    steps: Steps | None = None,
) -> Scanned:
    """Takes a whole sequence through the cell's equations.

    Args:
        options: A `Scan`.
        projected: `[T, R, G*H, B]` for G gates, the inputs times their kernel, bias included; of a
            controller of order 2 the inputs themselves.
        states: The controller's states before the first step, `[R, H, B]` each, by name.
        memory: `[R, P, N*L]`, the memories before the first step.
        weights: Dict of `memory_kernel` `[R, G*H, K*E*S]`; `control_kernel` `[R, C*S, H]`, for the
            logits of all actions but the last, which are relative to the last one's, and for the
            element written; optionally `recurrent_kernel` `[R, G*H, H]`, `recurrent_bias`
            `[R, G*H, 1]` and `control_bias` `[R, C*S, 1]`. Of a controller of order 2 those that
            `second_order.py` names.
        steps: What steps are told beside.
    """
    tensors = {"projected": projected, **states, "memory": memory, **weights}
    pass_ = _Pass(options, list(tensors), steps or Steps())
    hiddens, controls, *rest = tf.custom_gradient(pass_.run)(*tensors.values())
    others = pass_.states_beside_hidden
    after = {"hidden": hiddens[-1], **dict(zip(others, rest, strict=False))}
    last, lost = rest[len(others) :] if options.last_memory else (None, None)
    return Scanned(hiddens, tf.stop_gradient(controls), after, last, lost)


def decider_of(controller: Controller) -> type[FirstOrder] | type[SecondOrder]:
    """How a controller decides in these kernels."""
    return {1: FirstOrder, 2: SecondOrder}[controller.order]


def split_controls(controls: Tensor, element_size: int) -> tuple[list[Tensor], Tensor]:
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

    def __init__(self, options, names, steps):
        self.options = options
        self.layout = options.layout
        self.controller = options.controller
        self.names = names
        self.steps = steps
        self.decider = decider_of(options.controller)(options.layout, options.controller, steps)
        self.states_beside_hidden = [name for name in self.controller.states if name != "hidden"]
        # What is projected is read there, and its place is taken by what is as large.
        self.in_place = self.controller.records[0] if self.controller.records else "hiddens"

    def run(self, *tensors):
        inputs = dict(zip(self.names, tensors, strict=True))
        self.marks = self.spread_marks(inputs)
        blocks = self.blocks(inputs)
        before, _ = blocks[0]
        memory = inputs["memory"][:, before.start : before.stop]
        states = {name: inputs[name] for name in self.controller.states}
        # In a list that is empty if nobody asks: loops that carry a constant may fail to compile.
        lost = [self.none_lost(memory)] if self.options.last_memory else []
        arrays = self.arrays(inputs, [*self.controller.records, "hiddens", "controls"])
        arrays[self.in_place] = arrays[self.in_place].unstack(inputs["projected"])
        kept = []
        for block, within in blocks:
            memory, before = _fit(memory, before, block, EMPTY), block
            first_rows, widest = memory, _widest(within)
            states, memory, lost, arrays, rows = self.forward(
                block, widest, inputs, states, memory, lost, arrays
            )
            if rows is None:
                kept += [(each, _fit(first_rows, block, each, EMPTY), None) for each in within]
            else:
                kept += [(each, None, _part(rows, widest, each)) for each in within]
        record = {name: array.stack() for name, array in arrays.items()}

        def gradients(d_hiddens, _, *others):
            *d_states, d_memory = others[: len(self.states_beside_hidden) + 1]
            d_states = dict(zip(self.states_beside_hidden, d_states, strict=True))
            return self.backward(inputs, record, kept, d_hiddens, d_states, d_memory)

        lost = [tf.reduce_sum(elements, axis=[1, 2]) for elements in lost]
        others = [states[name] for name in self.states_beside_hidden]
        return (record["hiddens"], record["controls"], *others, memory, *lost), gradients

    def none_lost(self, memory):
        lanes = dimensions(memory)[-1] // self.layout.numbers
        return tf.zeros_like(memory[:, :1, :lanes])

    def arrays(self, inputs, names):
        """An array of a value at each step, for each name."""
        steps, dtype = dimensions(inputs["projected"])[0], inputs["projected"].dtype
        return {name: tf.TensorArray(dtype, steps, clear_after_read=False) for name in names}

    def blocks(self, inputs):
        """The steps in blocks, as the forward pass works on them; each with those that the backward
        pass makes of it."""
        steps, rows = dimensions(inputs["projected"])[0], row_count(inputs["memory"])
        head = self.layout.head(rows)
        if self.options.differentiate_memory or tf.is_tensor(steps) or tf.is_tensor(rows):
            whole = _Block(0, steps, 0, rows, head)
            return [(whole, [whole])]
        most = 1 if self.options.in_one_block else BLOCKS
        blocks = _blocks(self.layout, steps, rows, self.options.starts_empty, most)
        if not self.options.last_memory:
            return [(block, [block]) for block in blocks]
        if self.options.keep_rows and self.options.one_loop_forward:
            return [(_Block(0, steps, 0, rows, head), blocks)]
        return [(_Block(block.begin, block.steps, 0, rows, head), [block]) for block in blocks]

    def forward(self, block, wanted, inputs, states, memory, lost, arrays):
        """Takes the steps of a block; of `wanted` are the rows that are kept, if any are."""

        def step(t, told, states, memory, lost, arrays, rows):
            if "resets" in told:
                states, memory = self.begun_anew(told["resets"], states, memory)
            if self.options.keep_rows:
                kept = _fit(memory, block, wanted, EMPTY)
                rows = rows.write(t - block.begin, kept)
            projected = arrays[self.in_place].read(t)
            after, controls, record = self.control(projected, told, inputs, states, memory, block)
            weights, value = split_controls(controls, self.layout.element_size)
            falls = [self.layout.lost(weights, memory) for _ in lost]
            moved = self.layout.act(weights, value, memory, block.head)
            if "counts" in told:
                counts, of_memories, of_rows = told["counts"]
                after = {name: tf.where(counts, new, states[name]) for name, new in after.items()}
                moved = tf.where(of_rows, moved, memory)
                falls = [tf.where(of_memories, each, tf.zeros_like(each)) for each in falls]
            lost = [total(pair) for pair in zip(lost, falls, strict=True)]
            now = {**record, "hiddens": after["hidden"], "controls": controls}
            return t + 1, self.told(t + 1), after, moved, lost, _write(arrays, t, now), rows

        rows = tf.TensorArray(memory.dtype, size=block.steps)
        _, _, states, memory, lost, arrays, rows = tf.while_loop(
            lambda t, *_: t < block.end,
            step,
            (block.begin, self.told(block.begin), states, memory, lost, arrays, rows),
            maximum_iterations=block.steps,
        )
        return states, memory, lost, arrays, rows.stack() if self.options.keep_rows else None

    def told(self, t):
        """What a step is told, by name; marks also spread over memories' lanes and rows' lanes."""
        # Steps are handed it, as the steps back are their controls (`backward_block`). Counted from
        # the end: the last step of all hands on some that no step takes.
        told = {}
        if self.steps.noise is not None:
            told["noise"] = self.steps.noise[t - dimensions(self.steps.noise)[0]]
        for name, marks in self.marks.items():
            told[name] = [each[t - dimensions(each)[0]] for each in marks]
        return told

    def spread_marks(self, inputs):
        """Which steps count and which begin anew, for units, memories' lanes and rows' lanes."""
        of_rows = dimensions(inputs["memory"])[-1] // dimensions(inputs["projected"])[-1]
        copies = (of_rows // self.layout.numbers, of_rows)
        marks = {"counts": self.steps.counts, "resets": self.steps.resets}
        return {
            name: (steps, *(tf.tile(steps, [1, 1, 1, count]) for count in copies))
            for name, steps in marks.items()
            if steps is not None
        }

    def begun_anew(self, resets, states, memory):
        """States and memories as they are before a first step, where that is wanted."""
        of_units, _, of_rows = resets
        states = {
            name: tf.where(of_units, tf.zeros_like(state), state) for name, state in states.items()
        }
        return states, tf.where(of_rows, tf.cast(EMPTY, memory.dtype), memory)

    def control(self, projected, told, inputs, states, memory, block):
        """From what is read to the states, the actions and the element to write."""
        read = self.layout.read(memory, block.head)
        read = masked(split_lanes(read, projected), self.steps.read_mask)
        states, logits, written, record = self.decider.step(
            inputs, projected, read, states, told.get("noise")
        )
        relative = len(self.layout.actions) - 1
        numbers = self.layout.controls if written is None else relative
        logits = join_lanes(logits, numbers)
        if relative == 1 and not self.options.rounding:
            # The weight of one action of two is a sigmoid, as the numbers written are.
            controls = [tf.sigmoid(logits)]
        else:
            *logits, value = tf.split(logits, [1] * relative + [numbers - relative], axis=1)
            weights = _round(logits) if self.options.rounding else _softmax(logits)
            controls = [*weights, tf.sigmoid(value)]
        if written is not None:
            controls.append(join_lanes(written, self.layout.element_size))
        return states, controls[0] if len(controls) == 1 else tf.concat(controls, axis=1), record

    def replay(self, block, controls, memory):
        """The rows before each step of a block, worked out from the actions taken."""

        def step(t, memory, rows):
            told = self.told(t)
            if "resets" in told:
                _, memory = self.begun_anew(told["resets"], {}, memory)
            rows = rows.write(t - block.begin, memory)
            weights, value = split_controls(controls[t], self.layout.element_size)
            moved = self.layout.act(weights, value, memory, block.head)
            if "counts" in told:
                moved = tf.where(told["counts"][2], moved, memory)
            return t + 1, moved, rows

        rows = tf.TensorArray(memory.dtype, size=block.steps)
        _, _, rows = tf.while_loop(
            lambda t, *_: t < block.end,
            step,
            (block.begin, memory, rows),
            maximum_iterations=block.steps,
        )
        return rows.stack()

    def backward(self, inputs, record, kept, d_hiddens, d_states, d_memory):
        """The gradients of all inputs; `kept` are the blocks, each with the rows before its first
        step or, if they were kept, before all steps."""
        if not self.options.differentiate_memory:
            # No steps are left to bring any row to the head.
            _, first_rows, rows = kept[-1]
            d_memory = tf.zeros_like(first_rows if rows is None else rows[0])
        d_state = {**d_states, "memory": d_memory}
        if self.hidden_goes_on(inputs):
            d_state["hidden"] = tf.zeros_like(inputs["hidden"])
        earlier = tf.concat([inputs["hidden"][None], record["hiddens"][:-1]], axis=0)
        if "resets" in self.marks:
            earlier = tf.where(self.steps.resets, tf.zeros_like(earlier), earlier)
        record = {**record, "earlier_hidden": earlier}
        names = ["controls", *self.decider.kept(inputs)]
        arrays, later, reads = self.arrays(inputs, names), kept[-1][0], []
        for block, first_rows, rows in reversed(kept):
            d_state["memory"], later = _fit(d_state["memory"], later, block, 0.0), block
            if rows is None:
                rows = self.replay(block, record["controls"], first_rows)
            reads.append(self.layout.read(rows, block.head))
            d_state, arrays = self.backward_block(
                block, inputs, {**record, "rows": rows}, d_hiddens, d_state, arrays
            )
        found = {name: array.stack() for name, array in arrays.items()}
        reads = tf.concat(reads[::-1], axis=0)
        gradients = {
            **{
                name: d_state.get(name, tf.zeros_like(inputs[name]))
                for name in self.controller.states
            },
            "memory": self.d_first_memory(d_state["memory"], later, inputs["memory"]),
            **self.decider.weight_gradients(inputs, found, record, reads, earlier),
        }
        return [gradients[name] for name in self.names]

    def hidden_goes_on(self, inputs):
        """Whether the hidden units matter to the next step otherwise than by their actions."""
        return "recurrent_kernel" in inputs or self.controller.carries_hidden or bool(self.marks)

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
            for name in self.decider.KERNELS
            if name in inputs
        }

        look_up = {
            **{name: (lambda t, all_=record[name]: all_[t]) for name in self.controller.records},
            "hidden": lambda t: record["hiddens"][t],
            "controls": lambda t: record["controls"][t],
            "memory": lambda t: record["rows"][t - block.begin],
            "d_hidden": lambda t: d_hiddens[t],
        }
        if self.controller.carries_hidden:
            look_up["earlier_hidden"] = lambda t: record["earlier_hidden"][t]
        # What is looked up while XLA works on the rows, and used in more than one place there, is
        # looked up anew for every number, which keeps XLA from working on several at a time. So
        # each step is handed it: the controls, and the rows where NO-OP uses them as they are and
        # other actions moved. (The first step of all hands on some that no step takes.)
        handed_on = ["controls", "memory"] if self.layout.kind.has_no_op else ["controls"]

        def hand_on(t):
            return {name: look_up[name](t) for name in handed_on}

        def step(t, handed, d_state, arrays):
            others = {name: at(t) for name, at in look_up.items() if name not in handed}
            seen = {**others, **handed, **self.told(t)}
            d_state, now = self.backward_step(block, transposed, d_state, seen)
            return t - 1, hand_on(t - 1), d_state, _write(arrays, t, now)

        last = block.end - 1
        _, _, d_state, arrays = tf.while_loop(
            lambda t, *_: t >= block.begin,
            step,
            (last, hand_on(last), d_state, arrays),
            maximum_iterations=block.steps,
        )
        return d_state, arrays

    def backward_step(self, block, transposed, d_state, seen):
        layout, d_memory = self.layout, d_state["memory"]
        hidden, controls, memory = seen["hidden"], seen["controls"], seen["memory"]
        weights, value = split_controls(controls, layout.element_size)

        *moves, last_move = layout.kind.moves(value, memory, block.head)
        sums = [_sum_rows(d_memory * (move - last_move)) for move in moves]
        d_weights = layout.weights_back(sums)
        if self.options.rounding:
            d_weights = [tf.zeros_like(d) for d in d_weights]
        mean = total([w * d for w, d in zip(weights, d_weights, strict=False)])
        d_value = layout.value_back(weights, d_memory, value, memory, block.head)
        factors = split_lanes(controls, hidden)
        if self.controller.writes_hidden:
            # No sigmoid is on the way to what is written.
            count = layout.element_size * dimensions(factors)[1] // layout.controls
            factors = tf.concat([factors[:, :-count], tf.ones_like(factors[:, -count:])], axis=1)
        else:
            d_value *= 1 - value
        d_numbers = tf.split(d_value, layout.element_size, axis=2)
        d_relative = tf.concat([*(d - mean for d in d_weights), *d_numbers], axis=1)
        # Multiplied in this layout: else XLA works it out twice, once for each use of it.
        d_controls = where_it_counts(factors * split_lanes(d_relative, hidden), seen)

        d_states = {name: d for name, d in d_state.items() if name != "memory"}
        read = masked(split_lanes(layout.read(memory, block.head), hidden), self.steps.read_mask)
        now, d_read, d_earlier = self.decider.back(transposed, d_states, d_controls, seen, read)
        d_read = join_lanes(d_read, layout.read_depth)
        d_rows = layout.rows_back(weights, d_memory, value, memory, block.head)
        if "counts" in seen:
            d_rows = tf.where(seen["counts"][2], d_rows, d_memory)
        d_state = {**d_earlier, "memory": d_rows + layout.read_back(d_read, block.head, block.rows)}
        if "hidden" not in d_state and self.marks:
            d_state["hidden"] = tf.zeros_like(hidden)
        if "resets" in seen:
            of_units, _, of_rows = seen["resets"]
            d_state = {
                name: tf.where(of_rows if name == "memory" else of_units, tf.zeros_like(d), d)
                for name, d in d_state.items()
            }
        return d_state, {**now, "controls": d_controls}


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


def _blocks(layout, steps: int, rows: int, starts_empty: bool, most: int) -> list[_Block]:
    length = max(-(-steps // most), SHORTEST_BLOCK)
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


def _widest(blocks: list[_Block]) -> _Block:
    """A block of all the steps of some, with all of their rows."""
    if len(blocks) == 1:
        return blocks[0]
    steps = sum(block.steps for block in blocks)
    start, stop = min(block.start for block in blocks), max(block.stop for block in blocks)
    return _Block(blocks[0].begin, steps, start, stop, blocks[0].head + blocks[0].start - start)


def _part(rows, of, block):
    """The rows of a block, of those of all steps of the block `of`."""
    if block is of:
        return rows
    steps = slice(block.begin - of.begin, block.end - of.begin)
    return rows[steps, :, block.start - of.start : block.stop - of.start]


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
