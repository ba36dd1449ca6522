"""Rounded memories as real stacks: an array and a pointer, a constant cost a symbol at any depth.

With hard actions a stack needs no mixing: PUSH writes one element and moves a pointer, POP moves
it back. A list is the element at its head and two stacks, what is to the left of it and what is to
the right. The results are exactly those of the soft memory with `rounding`, and the arrays grow by
doubling, so a million symbols cost ten times what a hundred thousand do.

A lane is one memory of one batch element, `[batch * memories]` of them.
"""

from typing import NamedTuple

import tensorflow as tf

from keras_stackrnn.kernels.topology import dimensions
from keras_stackrnn.memories.soft import EMPTY, LIST_ACTIONS, STACK_ACTIONS, list_head

# How many steps are taken between two looks at whether the arrays are still large enough.
CHUNK = 1024


class Heap(NamedTuple):
    """One growing stack a lane, all in one flat array of `size` slots each.

    `top` is the number of elements above the array's start. A bounded stack has lost those below
    `base`; `lost` counts, a lane, how many there were.
    """

    slots: tf.Tensor
    size: tf.Tensor
    top: tf.Tensor
    base: tf.Tensor
    lost: tf.Tensor

    @classmethod
    def of(cls, rows):
        """A heap with `rows`, `[lanes, depth]`, top first, without the empty ones at the bottom."""
        lanes, depth = dimensions(rows)
        occupied = tf.where(tf.not_equal(rows, EMPTY), tf.range(depth) + 1, 0)
        top = tf.reduce_max(tf.concat([occupied, tf.zeros([lanes, 1], tf.int32)], 1), axis=1)
        # Reversing each row's occupied part puts its bottom at the array's start.
        slots = tf.reverse_sequence(rows, top, seq_axis=1, batch_axis=0)
        none = tf.zeros_like(top)
        return cls(tf.reshape(slots, [-1]), tf.convert_to_tensor(depth), top, none, none)

    def grown_for(self, pushes):
        """The same, with room for `pushes` more elements in every lane."""
        needed = tf.reduce_max(self.top) + pushes
        size = tf.cond(
            needed > self.size, lambda: tf.maximum(needed, 2 * self.size), lambda: self.size
        )
        return self.resized(size)

    def resized(self, size):
        lanes = dimensions(self.top)[0]
        slots = tf.reshape(self.slots, [lanes, self.size])
        slots = tf.pad(slots, [[0, 0], [0, size - self.size]])
        return self._replace(slots=tf.reshape(slots, [-1]), size=tf.convert_to_tensor(size))

    def peek(self, depth):
        """The element `depth` below the top of each lane, empty where there is none."""
        at = self.top - 1 - depth
        starts = tf.range(dimensions(self.top)[0]) * self.size
        element = tf.gather(self.slots, starts + tf.maximum(at, 0))
        return tf.where(at >= self.base, element, tf.cast(EMPTY, element.dtype))

    def pushed(self, value, where, capacity):
        """Pushes `value` in the lanes `where` says so."""
        starts = tf.range(dimensions(self.top)[0]) * self.size
        # What lies above the top is never read, so something is written in every lane. That it
        # depends on the action, and so on what was read, lets XLA write it in place.
        written = tf.where(where, value, tf.cast(EMPTY, value.dtype))
        slots = self.written(starts + self.top, written)
        top = self.top + tf.cast(where, tf.int32)
        if capacity is None:
            return self._replace(slots=slots, top=top)
        base = tf.maximum(self.base, top - capacity)
        bottom = tf.gather(slots, starts + self.base)
        falls = (base > self.base) & tf.not_equal(bottom, EMPTY)
        lost = self.lost + tf.cast(falls, tf.int32)
        return self._replace(slots=slots, top=top, base=base, lost=lost)

    def popped(self, where):
        """Pops in the lanes `where` says so; an empty stack stays empty."""
        return self._replace(top=tf.maximum(self.top - tf.cast(where, tf.int32), self.base))

    def rows(self, depth):
        """The `depth` top-most elements, `[lanes, depth]`."""
        if not tf.is_tensor(depth) and depth == 0:
            return tf.zeros([dimensions(self.top)[0], 0], self.slots.dtype)
        at = self.top[:, None] - 1 - tf.range(depth)[None]
        starts = (tf.range(dimensions(self.top)[0]) * self.size)[:, None]
        elements = tf.gather(self.slots, starts + tf.maximum(at, 0))
        return tf.where(at >= self.base[:, None], elements, tf.cast(EMPTY, elements.dtype))

    def written(self, at, value):
        return tf.tensor_scatter_nd_update(self.slots, at[:, None], value)

    def depth(self):
        """How many rows hold the elements of every lane.

        In a graph, which may be compiled, sizes cannot depend on values: there, as many as the
        array has.
        """
        return self.deepest() if tf.executing_eagerly() else self.size

    def deepest(self):
        return tf.reduce_max(self.top - self.base)


class InPlaceHeap(Heap):
    """A heap for graphs that are not compiled.

    There `tensor_scatter_nd_update` copies the whole array for every element that it writes; XLA
    writes it in place, but does not know this operation.
    """

    @classmethod
    def owning(cls, heap):
        """The same heap with an array of its own, which may be a constant of the graph's."""
        return cls(*heap._replace(slots=tf.raw_ops.DeepCopy(x=heap.slots)))

    def written(self, at, value):
        return tf.raw_ops.InplaceUpdate(x=self.slots, i=at, v=value)

    def depth(self):
        return self.deepest()


class StackPointers(NamedTuple):
    heap: Heap

    @classmethod
    def of(cls, rows):
        return cls(Heap.of(rows))

    def in_place(self):
        return StackPointers(InPlaceHeap.owning(self.heap))

    def grown_for(self, steps):
        return StackPointers(self.heap.grown_for(steps))

    def with_room_for(self, steps):
        return StackPointers(self.heap.resized(self.heap.size + steps))

    def read(self, read_depth):
        return [self.heap.peek(k) for k in range(read_depth)]

    def act(self, action, value, capacity):
        push, pop = (tf.equal(action, STACK_ACTIONS.index(name)) for name in ("PUSH", "POP"))
        return StackPointers(self.heap.pushed(value, push, capacity).popped(pop))

    def rows(self, capacity, read_depth):
        depth = capacity if capacity else tf.maximum(self.heap.depth(), read_depth)
        return self.heap.rows(depth)

    def lost(self):
        return tf.reduce_sum(self.heap.lost)


class ListPointers(NamedTuple):
    left: Heap
    head: tf.Tensor
    right: Heap

    @classmethod
    def of(cls, rows):
        head = list_head(dimensions(rows)[1])
        left = tf.reverse(rows[:, :head], axis=[1])
        return cls(Heap.of(left), rows[:, head], Heap.of(rows[:, head + 1 :]))

    def in_place(self):
        return self._replace(
            left=InPlaceHeap.owning(self.left), right=InPlaceHeap.owning(self.right)
        )

    def grown_for(self, steps):
        return self._replace(left=self.left.grown_for(steps), right=self.right.grown_for(steps))

    def with_room_for(self, steps):
        return self._replace(
            left=self.left.resized(self.left.size + steps),
            right=self.right.resized(self.right.size + steps),
        )

    def read(self, read_depth):
        sides = [self.left, self.right]
        return [
            self.head if i == 0 else sides[(i - 1) % 2].peek((i - 1) // 2)
            for i in range(read_depth)
        ]

    def act(self, action, value, capacity):
        insert, left, right = (
            tf.equal(action, LIST_ACTIONS.index(name)) for name in ("INSERT", "LEFT", "RIGHT")
        )
        limits = (None, None)
        if capacity is not None:
            limits = (list_head(capacity), capacity - list_head(capacity) - 1)
        new_left = self.left.pushed(self.head, insert | right, limits[0]).popped(left)
        new_right = self.right.pushed(self.head, left, limits[1]).popped(right)
        # Writing leaves the elements as they are; reading them after it lets it be in place.
        on_left = self.left._replace(slots=new_left.slots).peek(0)
        on_right = self.right._replace(slots=new_right.slots).peek(0)
        head = tf.where(insert, value, self.head)
        head = tf.where(left, on_left, tf.where(right, on_right, head))
        return ListPointers(new_left, head, new_right)

    def rows(self, capacity, read_depth):
        if capacity is not None:
            left, right = list_head(capacity), capacity - list_head(capacity) - 1
        else:
            left = tf.maximum(tf.maximum(self.left.depth(), self.right.depth()), read_depth // 2)
            right = left
        return tf.concat(
            [
                tf.reverse(self.left.rows(left), axis=[1]),
                self.head[:, None],
                self.right.rows(right),
            ],
            axis=1,
        )

    def lost(self):
        return tf.reduce_sum(self.left.lost) + tf.reduce_sum(self.right.lost)


class Watch(NamedTuple):
    """What is done to, and wanted from, every step of a scan that is looked at.

    Args:
        forced: `[steps, lanes]`, the index of the action that is taken whatever the cell wants, or
            -1 where the cell decides.
        depth: How many elements of every memory are wanted after each step.
    """

    forced: tf.Tensor
    depth: int

    def at(self, steps):
        return self._replace(forced=self.forced[steps])


def scan(cell, sequences, hidden, memory):
    """Takes whole sequences through a cell with rounded actions.

    Args:
        cell: A `StackCell` or `ListCell`.
        sequences: `[batch, steps, features]`.
        hidden: `[batch, units]`.
        memory: `[batch, rows * memories]`, a state of the soft memory.

    Returns:
        The hidden units of every step, `[batch, steps, units]`; the memory's last state, of
        `capacity` rows or, without a capacity, as deep as its elements need; and the number of
        elements lost at its ends.
    """
    [hiddens], pointers = _scan(cell, sequences, hidden, memory)
    return tf.transpose(hiddens, [1, 0, 2]), _state_of(cell, pointers), pointers.lost()


def watched_scan(cell, sequences, hidden, memory, watch: Watch):
    """`scan`, run eagerly and looked at.

    Returns:
        The hidden units and the memory's last state, as `scan` does; and of every step and lane the
        action taken and the value written, `[steps, lanes]`, and the elements afterwards in the
        order in which they are read, `[steps, lanes, depth]`.
    """
    (hiddens, *seen), pointers = _scan(cell, sequences, hidden, memory, watch)
    return tf.transpose(hiddens, [1, 0, 2]), _state_of(cell, pointers), *seen


def _scan(cell, sequences, hidden, memory, watch=None):
    pointers = _pointers_of(cell, memory)
    projected = tf.transpose(tf.matmul(sequences, cell.kernel), [1, 0, 2])
    steps = dimensions(projected)[0]
    if not tf.is_tensor(steps) and steps <= CHUNK:
        pointers = pointers.with_room_for(steps)
        done, _, pointers = _take_steps(cell, projected, hidden, pointers, watch)
        return done, pointers
    if tf.executing_eagerly():
        return _take_chunks_eagerly(cell, projected, hidden, pointers, watch)
    return _take_chunks_in_graph(cell, projected, hidden, pointers)


def _pointers_of(cell, memory):
    batch, size = dimensions(memory)
    rows = tf.reshape(memory, [batch, size // cell.num_memories, cell.num_memories])
    rows = tf.reshape(tf.transpose(rows, [0, 2, 1]), [-1, size // cell.num_memories])
    return (StackPointers if cell.MEMORIES == "stacks" else ListPointers).of(rows)


def _state_of(cell, pointers):
    rows = pointers.rows(cell.capacity, cell.read_depth)
    lanes, depth = dimensions(rows)
    batch = lanes // cell.num_memories
    rows = tf.reshape(rows, [batch, cell.num_memories, depth])
    return tf.reshape(tf.transpose(rows, [0, 2, 1]), [batch, depth * cell.num_memories])


def _take_steps(cell, projected, hidden, pointers, watch=None):
    """All steps of `projected`, `[steps, batch, units]`; the arrays have room for them.

    Returns:
        What `_take_step` has done, of all steps; the last hidden units; and the pointers.
    """
    steps = dimensions(projected)[0]

    def step(t, hidden, pointers, written):
        watched = None if watch is None else watch.at(t)
        done, pointers = _take_step(cell, projected[t], hidden, pointers, watched)
        written = [array.write(t, each) for array, each in zip(written, done, strict=True)]
        return t + 1, done[0], pointers, written

    of_floats = projected.dtype
    dtypes = [of_floats] if watch is None else [of_floats, tf.int32, of_floats, of_floats]
    _, hidden, pointers, written = tf.while_loop(
        lambda t, *_: t < steps,
        step,
        (0, hidden, pointers, [tf.TensorArray(dtype, size=steps) for dtype in dtypes]),
        maximum_iterations=steps,
    )
    return [array.stack() for array in written], hidden, pointers


def _take_step(cell, projected, hidden, pointers, watch=None):
    """One step: a list of the hidden units and of what `watched_scan` wants; and the pointers."""
    batch, memories = dimensions(projected)[0], cell.num_memories
    read = [tf.reshape(row, [batch, memories]) for row in pointers.read(cell.read_depth)]
    before = projected + tf.matmul(tf.concat(read, axis=1), cell.memory_kernel)
    if cell.use_recurrent_kernel:
        before += tf.matmul(hidden, cell.recurrent_kernel)
    if cell.use_bias:
        before += cell.bias
    hidden = cell.activation(before)
    logits, value = tf.matmul(hidden, cell.action_kernel), tf.matmul(hidden, cell.write_kernel)
    if cell.use_bias:
        logits, value = logits + cell.action_bias, value + cell.write_bias
    logits = tf.reshape(logits, [batch, len(cell.actions), memories])
    action = tf.reshape(tf.argmax(logits, axis=1, output_type=tf.int32), [-1])
    value = tf.reshape(tf.sigmoid(value), [-1])
    if watch is None:
        return [hidden], pointers.act(action, value, cell.capacity)
    action = tf.where(watch.forced < 0, action, watch.forced)
    pointers = pointers.act(action, value, cell.capacity)
    return [hidden, action, value, tf.stack(pointers.read(watch.depth), axis=1)], pointers


# Compiled once for each size of the arrays, which double: a handful of times in a million steps.
_take_steps_compiled = tf.function(
    _take_steps, autograph=False, jit_compile=True, reduce_retracing=True
)


def _take_chunks_eagerly(cell, projected, hidden, pointers, watch=None):
    chunks = []
    for begin in range(0, projected.shape[0], CHUNK):
        part = slice(begin, begin + CHUNK)
        pointers = pointers.grown_for(CHUNK)
        watched = None if watch is None else watch.at(part)
        done, hidden, pointers = _take_steps_compiled(
            cell, projected[part], hidden, pointers, watched
        )
        chunks.append(done)
    return [tf.concat(each, axis=0) for each in zip(*chunks, strict=True)], pointers


def _take_chunks_in_graph(cell, projected, hidden, pointers):
    steps = dimensions(projected)[0]

    def chunk(begin, hidden, pointers, hiddens):
        end = tf.minimum(begin + CHUNK, steps)

        def step(t, hidden, pointers, hiddens):
            [hidden], pointers = _take_step(cell, projected[t], hidden, pointers)
            return t + 1, hidden, pointers, hiddens.write(t, hidden)

        return tf.while_loop(
            lambda t, *_: t < end, step, (begin, hidden, pointers.grown_for(CHUNK), hiddens)
        )

    hiddens = tf.TensorArray(projected.dtype, size=steps, element_shape=hidden.shape)
    loop = (tf.constant(0), hidden, pointers.in_place(), hiddens)
    shapes = tf.nest.map_structure(_shape_in_a_growing_loop, loop)
    *_, pointers, hiddens = tf.while_loop(
        lambda begin, *_: begin < steps, chunk, loop, shape_invariants=shapes
    )
    return [hiddens.stack()], pointers


def _shape_in_a_growing_loop(value):
    if isinstance(value, tf.TensorArray):
        return tf.TensorShape(None)
    return tf.TensorShape([None]) if len(value.shape) == 1 else value.shape
