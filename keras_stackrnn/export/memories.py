"""Memories inside the loop over symbols, soft and rounded: what a step makes of them.

A served graph is not compiled: what a step costs is how many operations it has, far more than how
long each of them takes. So these are other classes than the compiled kernels' `Topology` and
`Heap`: they know that nothing is ever lost, and that there is room for every step to come.

Memories are given and given back as `[rows, lanes]`, a lane being one memory of one batch element.
`act` takes `controls`, `[…, lanes]`: a row of logits for each action, or, of two actions, one row
that is the difference of theirs; and the value to write, before its sigmoid. It gives the memory
after that, and the weight of each action, `[actions, lanes]`. Lanes that are not `alive` stay as
they are, and `alive` may be `None`, for all of them. `read` gives `[read_depth, lanes]`.
"""

from typing import NamedTuple

import tensorflow as tf

from keras_stackrnn.fused_layer import topology_of
from keras_stackrnn.memory import EMPTY, action_weights, list_head
from keras_stackrnn.pointer import Heap


def memory_of(cell, rows, steps):
    """The memory that a loop of so many `steps` carries, with what is in `rows` already."""
    if cell.MEMORIES == "stacks":
        kind = RoundedStack if cell.rounding else SoftStack
    else:
        kind = RoundedList if cell.rounding else SoftList
    return kind.of(cell, rows, steps)


class SoftMemory(NamedTuple):
    """A mixture of what each action alone would leave; it grows with every step.

    `edge` is two empty rows, made once.
    """

    slots: tf.Tensor
    edge: tf.Tensor

    @classmethod
    def of(cls, cell, rows, steps):
        return cls(rows, _empty_rows(2, rows))

    def act(self, cell, controls, alive):
        weights, value = _weights_and_value(controls)
        moves = self._moves(value)
        after = _mix(weights, moves)
        if alive is not None:
            after = tf.where(alive, after, moves[-1])
        return self._replace(slots=after), tf.concat(weights, axis=0)

    def _moves(self, value):
        """What each action alone would leave, NO-OP last, whether or not the cell has it."""
        raise NotImplementedError

    def rows(self, cell):
        return self.slots


class SoftStack(SoftMemory):
    """Top first, one row deeper after every step."""

    def read(self, cell):
        return self.slots[: cell.read_depth]

    def _moves(self, value):
        # Seen two rows apart, these are the stack after PUSH and after POP.
        padded = tf.concat([value, self.slots, self.edge], axis=0)
        return [padded[:-2], padded[2:], padded[1:-1]]


class SoftList(SoftMemory):
    """From left to right, a row longer at both ends after every step."""

    def read(self, cell):
        kind = topology_of(cell)
        return kind.read(self.slots, kind.head(tf.shape(self.slots)[0]))

    def _moves(self, value):
        # Seen two rows apart, these are the list after LEFT and after RIGHT.
        padded = tf.concat([self.edge, self.slots, self.edge], axis=0)
        head = list_head(tf.shape(self.slots)[0]) + 1
        inserted = tf.concat([padded[2 : head + 2], value, padded[head + 2 : -1]], axis=0)
        return [inserted, padded[:-2], padded[2:], padded[1:-1]]


class Pile(NamedTuple):
    """Elements on top of each other, an array for each lane, all in one flat tensor.

    `top` is the place of each lane's top-most element. The first places of a lane are empty for
    good, as many as are read at a time, and `bottom` is the last of these: so reading needs no look
    at how many elements there are. What is above the top is never read and may be anything.

    The tensor is overwritten in place. No look at it can come too late: a step writes only above
    the top, where the steps before it do not look.
    """

    slots: tf.Tensor
    top: tf.Tensor
    bottom: tf.Tensor

    @classmethod
    def of(cls, rows, read_depth, steps):
        """The elements of `rows`, `[rows, lanes]`, top first, with room for one more a step."""
        depth, lanes = tf.unstack(tf.shape(rows))
        heap = Heap.of(tf.transpose(rows))
        slots = tf.reshape(heap.slots, [lanes, depth])
        slots = tf.pad(slots, [[0, 0], [read_depth, steps + 1]], constant_values=EMPTY)
        bottom = tf.range(lanes) * (read_depth + depth + steps + 1) + read_depth - 1
        # A tensor of its own: it may be a constant of the graph's.
        slots = tf.raw_ops.DeepCopy(x=tf.reshape(slots, [-1]))
        return cls(slots, bottom + heap.top, bottom)

    def read(self, read_depth):
        return tf.gather(self.slots, self.top - tf.range(read_depth)[:, None])

    def element(self, depth):
        return tf.gather(self.slots, self.top - depth if depth else self.top)

    def offered(self, value):
        """The same with `value` above the top of every lane, and the places that the top would
        move to if it was pushed and if the top was popped."""
        above = self.top + 1
        slots = tf.raw_ops.InplaceUpdate(x=self.slots, i=above, v=value)
        return self._replace(slots=slots), above, tf.maximum(self.top - 1, self.bottom)

    def depth(self):
        """How many elements the deepest lane has."""
        return tf.reduce_max(self.top - self.bottom)

    def rows(self, depth):
        """The `depth` top-most elements of every lane, `[depth, lanes]`."""
        return tf.gather(self.slots, tf.maximum(self.top - tf.range(depth)[:, None], self.bottom))


class RoundedStack(NamedTuple):
    """A pile whose top moves up with PUSH and down with POP."""

    pile: Pile

    @classmethod
    def of(cls, cell, rows, steps):
        return cls(Pile.of(rows, cell.read_depth, steps))

    def read(self, cell):
        return self.pile.read(cell.read_depth)

    def act(self, cell, controls, alive):
        taken, value = _taken_and_value(controls)
        pile, above, below = self.pile.offered(value)
        if cell.no_op:
            below = tf.where(taken[1], below, pile.top)
        top = tf.where(taken[0], above, below)
        if alive is not None:
            top = tf.where(alive, top, pile.top)
        return RoundedStack(pile._replace(top=top)), tf.cast(tf.stack(taken), value.dtype)

    def rows(self, cell):
        return self.pile.rows(tf.maximum(self.pile.depth(), cell.read_depth))


class RoundedList(NamedTuple):
    """The element under the head, and a pile on either side of it."""

    left: Pile
    head: tf.Tensor
    right: Pile

    @classmethod
    def of(cls, cell, rows, steps):
        head = list_head(tf.shape(rows)[0])
        # Both neighbours are looked at when the head moves, whether or not the cell reads them.
        depth = max(cell.read_depth // 2, 1)
        left = Pile.of(tf.reverse(rows[:head], axis=[0]), depth, steps)
        return cls(left, rows[head], Pile.of(rows[head + 1 :], depth, steps))

    def read(self, cell):
        sides = [self.left, self.right]
        neighbours = [sides[i % 2].element(i // 2) for i in range(cell.read_depth - 1)]
        return tf.stack([self.head, *neighbours])

    def act(self, cell, controls, alive):
        taken, value = _taken_and_value(controls)
        insert, to_left, to_right = taken[:3]
        if alive is not None:
            insert, to_left, to_right = (each & alive for each in taken[:3])
        left, left_above, left_below = self.left.offered(self.head)
        right, right_above, right_below = self.right.offered(self.head)
        left_top = tf.where(to_left, left_below, left.top)
        left_top = tf.where(insert | to_right, left_above, left_top)
        right_top = tf.where(to_right, right_below, right.top)
        right_top = tf.where(to_left, right_above, right_top)
        head = tf.where(insert, value, self.head)
        head = tf.where(to_left, left.element(0), tf.where(to_right, right.element(0), head))
        after = RoundedList(left._replace(top=left_top), head, right._replace(top=right_top))
        return after, tf.cast(tf.stack(taken), value.dtype)

    def rows(self, cell):
        depth = tf.maximum(tf.maximum(self.left.depth(), self.right.depth()), cell.read_depth // 2)
        left = tf.reverse(self.left.rows(depth), axis=[0])
        return tf.concat([left, self.head[None], self.right.rows(depth)], axis=0)


def _empty_rows(count, rows):
    return tf.fill([count, tf.shape(rows)[1]], tf.constant(EMPTY, rows.dtype))


def _weights_and_value(controls):
    """Each action's weight and the value to write, each `[1, lanes]`; the weights add up to exactly
    1, as those of `action_weights` do."""
    if controls.shape[0] == 2:
        first, value = tf.split(tf.sigmoid(controls), 2)
        return [first, 1 - first], value
    weights = action_weights(controls[None, :-1])[0]
    return tf.split(weights, weights.shape[0]), tf.sigmoid(controls[-1:])


def _mix(weights, moves):
    """Adds up what each action alone would leave, each by its weight.

    As differences to the last action's: so empty slots stay exactly empty in whatever order they
    are added up, and a session that folds constants, as sessions do, changes the order.
    """
    *others, last = moves[: len(weights)]
    total = last
    for weight, move in zip(weights[:-1], others, strict=True):
        total += weight * (move - last)
    return total


def _taken_and_value(controls):
    """Whether each action is the most probable, of equals the first, and the value to write, each
    `[lanes]`."""
    *logits, value = tf.unstack(controls)
    if len(logits) == 1:
        first = logits[0] >= 0
        return [first, ~first], tf.sigmoid(value)
    action = tf.argmax(controls[:-1], axis=0, output_type=tf.int32)
    return [tf.equal(action, i) for i in range(len(logits))], tf.sigmoid(value)
