"""How stacks and lists move, in the layout of the TensorFlow kernels.

Here a memory is `[…, rows, lanes]`, a lane being one memory of one batch element. `memory.py` has
the same arithmetic in Keras' layout for any backend; these add what only the kernels need: the
transposed moves that take gradients back, and which rows can still matter.
"""

import dataclasses

import tensorflow as tf

from keras_stackrnn.memories.soft import (
    EMPTY,
    LIST_ACTIONS,
    STACK_ACTIONS,
    list_head,
    list_read_positions,
)


@dataclasses.dataclass(frozen=True)
class Topology:
    """One kind of memory: `num_actions` of them move it, `read_depth` rows of it are read.

    Rows are counted from the start of the tensor at hand, which may be a cut of the whole memory;
    `head` is the row where values are written and around which rows are read.
    """

    num_actions: int
    read_depth: int

    @property
    def has_no_op(self) -> bool:
        """Whether one of the actions leaves the memory as it is."""
        return self.num_actions == len(self.actions)

    def within_reach(self, rows: int, reach: int) -> tuple[int, int]:
        """The rows, as a slice, that come to the head or its readers within `reach` moves."""
        head = self.head(rows)
        return max(0, head - reach), min(rows, head + reach + 1)

    def read(self, memory, head):
        """The rows that are read, in order."""
        positions = self.read_positions(head)
        return tf.concat([memory[..., p : p + 1, :] for p in positions], axis=-2)

    def read_transposed(self, gradient, head, rows):
        """Puts the gradient of what was read back to its rows."""
        positions = list(self.read_positions(head))
        # By offsets from the head: the head itself may be a tensor.
        order = sorted(range(self.read_depth), key=list(self.read_positions(0)).__getitem__)
        gradient = tf.concat([gradient[..., i : i + 1, :] for i in order], axis=-2)
        above = positions[order[0]]
        return pad_rows(gradient, above, rows - above - len(positions), 0.0)


class Stack(Topology):
    """Row 0 is the top."""

    actions = STACK_ACTIONS

    def head(self, rows):
        return 0

    def grown(self, rows, steps):
        """How many rows hold all that `steps` moves can make of `rows`."""
        return rows + steps

    def embed(self, memory, rows):
        """Adds empty rows, where they change nothing, until there are `rows`."""
        return pad_rows(memory, 0, rows - row_count(memory), EMPTY)

    def trimmed(self, rows, occupied):
        """The smallest slice with all `occupied` rows that is still a whole memory."""
        depth = tf.reduce_max(tf.where(occupied, tf.range(rows) + 1, 0))
        return 0, tf.maximum(depth, self.read_depth)

    def read_positions(self, head):
        return range(head, head + self.read_depth)

    def moves(self, memory, value, head):
        """What each action alone would leave: PUSH, POP, NO-OP."""
        pushed = tf.concat([value, memory[..., :-1, :]], axis=-2)
        popped = tf.concat([memory[..., 1:, :], _edge(value, EMPTY)], axis=-2)
        return [pushed, popped, memory][: self.num_actions]

    def moves_transposed(self, gradient, head):
        """Where each action alone would take the gradient; the written value's is left out."""
        zero = _edge(gradient[..., :1, :], 0.0)
        from_pushed = tf.concat([gradient[..., 1:, :], zero], axis=-2)
        from_popped = tf.concat([zero, gradient[..., :-1, :]], axis=-2)
        return [from_pushed, from_popped, gradient][: self.num_actions]

    def lost(self, memory, weights):
        """How many elements the next move takes past the bottom, by the actions' weights."""
        return weights[0] * _occupied(memory[..., -1:, :])


class List(Topology):
    """The head is in the middle; rows run from left to right."""

    actions = LIST_ACTIONS

    def head(self, rows):
        return list_head(rows)

    def grown(self, rows, steps):
        """How many rows hold all that `steps` moves can make of `rows`."""
        return rows + 2 * steps

    def embed(self, memory, rows):
        """Adds empty rows at both ends, the head staying in the middle, until there are `rows`."""
        before = self.head(rows) - self.head(row_count(memory))
        return pad_rows(memory, before, rows - row_count(memory) - before, EMPTY)

    def trimmed(self, rows, occupied):
        """The smallest slice with all `occupied` rows that is still a whole memory."""
        head = self.head(rows)
        distance = tf.abs(tf.range(rows) - head)
        margin = tf.reduce_max(tf.where(occupied, distance, 0))
        margin = tf.maximum(margin, self.read_depth // 2)
        # Of an even number of rows the head is the first of the right half.
        return tf.maximum(head - margin, 0), tf.minimum(head + margin + 1, rows)

    def read_positions(self, head):
        return [head + p for p in list_read_positions(0, self.read_depth)]

    def moves(self, memory, value, head):
        """What each action alone would leave: INSERT, LEFT, RIGHT, NO-OP."""
        edge = _edge(value, EMPTY)
        towards_right = tf.concat([edge, memory[..., :-1, :]], axis=-2)
        towards_left = tf.concat([memory[..., 1:, :], edge], axis=-2)
        # INSERT moves what is left of the head as RIGHT does, and leaves what is right of it.
        row = tf.range(row_count(memory))[:, None]
        inserted = tf.where(row < head, towards_left, tf.where(row > head, memory, value))
        return [inserted, towards_right, towards_left, memory][: self.num_actions]

    def moves_transposed(self, gradient, head):
        """Where each action alone would take the gradient; the written value's is left out."""
        zero = _edge(gradient[..., :1, :], 0.0)
        from_left = tf.concat([gradient[..., 1:, :], zero], axis=-2)
        from_right = tf.concat([zero, gradient[..., :-1, :]], axis=-2)
        # INSERT moves the head's row and those left of it as RIGHT does, and leaves the others.
        moved = (tf.range(row_count(gradient)) <= head)[:, None]
        from_inserted = tf.where(moved, from_right, gradient)
        return [from_inserted, from_left, from_right, gradient][: self.num_actions]

    def lost(self, memory, weights):
        """How many elements the next move takes past either end, by the actions' weights."""
        insert, left, right = weights[:3]
        return (insert + right) * _occupied(memory[..., :1, :]) + left * _occupied(
            memory[..., -1:, :]
        )


def dimensions(tensor) -> list:
    """The shape, as integers where they are known and as tensors where not."""
    dynamic = tf.shape(tensor)
    return [dynamic[i] if size is None else size for i, size in enumerate(tensor.shape)]


def row_count(memory):
    return dimensions(memory)[-2]


def pad_rows(memory, before, after, value):
    paddings = [[0, 0]] * (len(memory.shape) - 2) + [[before, after], [0, 0]]
    return tf.pad(memory, paddings, constant_values=tf.cast(value, memory.dtype))


def _edge(row, value):
    return tf.fill(tf.shape(row), tf.cast(value, row.dtype))


def _occupied(rows):
    """As in `memory.py`: 1 for an element, 0 for an empty slot."""
    return tf.minimum(rows - EMPTY, 1)
