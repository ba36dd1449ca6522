"""Memories inside the loop over symbols, soft and rounded: what a step makes of them.

A served graph is not compiled: what a step costs is how many operations it has, far more than how
long each of them takes. So these are other classes than the compiled kernels' `Topology` and
`Heap`: they know that nothing is ever lost, and that there is room for every step to come.

There are two kinds. Rows that move with every action take few operations, but each goes over all
of them. Piles, for rounded memories alone, cost the same however deep they are.

Memories are given and given back as `[rows, lanes]`, a lane being one memory of one batch element.
`act` takes `controls`, `[…, lanes]`: a row of logits for each action, or, of two actions, one row
that is the difference of theirs; and the value to write, before its sigmoid. It gives the memory
after that, and the weight of each action, `[actions, lanes]`. Lanes that are not `alive` stay as
they are, and `alive` may be `None`, for all of them. `read` gives `[read_depth, lanes]`.
"""

from typing import NamedTuple

import tensorflow as tf

from keras_stackrnn.export.tensors import longest, transposed
from keras_stackrnn.kernels.pointer import Heap
from keras_stackrnn.layers.whole_sequences import topology_of
from keras_stackrnn.memories.soft import EMPTY, action_weights, list_head

_LIST_NO_OP = 3
# Rows that a step goes over in less time than the operations take that piles need more.
SHALLOW = 100


def memory_of(cell, rows, steps, piled):
    """The memory that a loop of so many `steps` carries, with what is in `rows` already.

    Args:
        piled: Whether it is to cost the same however deep it gets; it has to be rounded for that.
    """
    if cell.MEMORIES == "stacks":
        kind = StackPile if piled else StackRows
    else:
        kind = ListPiles if piled else ListRows
    return kind.of(cell, rows, steps)


class Rows(NamedTuple):
    """What the actions leave of all rows: a mixture of what each alone would leave, or, rounded,
    what the most probable one leaves. It grows with every step.

    `edge` is two empty rows, made once.
    """

    slots: tf.Tensor
    edge: tf.Tensor

    @classmethod
    def of(cls, cell, rows, steps):
        return cls(rows, _empty_rows(2, rows))

    def act(self, cell, controls, alive):
        if cell.rounding:
            logits, value = tf.split(controls, [controls.shape[0] - 1, 1])
            taken = _taken(logits)
            weights = [*taken, ~tf.reduce_any(taken, axis=0)]
            weights = [tf.cast(weight, controls.dtype) for weight in weights]
            moves = self._moves(tf.sigmoid(value))
            after = _chosen(taken, moves)
        else:
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


class StackRows(Rows):
    """Top first, one row deeper after every step."""

    def read(self, cell):
        return self.slots[: cell.read_depth]

    def _moves(self, value):
        # Seen two rows apart, these are the stack after PUSH and after POP.
        padded = tf.concat([value, self.slots, self.edge], axis=0)
        return [padded[:-2], padded[2:], padded[1:-1]]


class ListRows(Rows):
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

    `free` is the place above each lane's top-most element. There is room below for a pop at every
    step: so neither popping nor reading needs a look at how many elements there are. What is above
    the top is never read and may be anything; what no top ever came to is empty.

    The tensor is overwritten in place. No look at it can come too late: a step writes only above
    the top, where the steps before it do not look.
    """

    slots: tf.Tensor
    free: tf.Tensor

    @classmethod
    def of(cls, rows, read_depth, steps):
        """The elements of `rows`, `[rows, lanes]`, top first, with room for `steps` more."""
        depth, lanes = tf.unstack(tf.shape(rows))
        heap = Heap.of(transposed(rows))
        slots = tf.reshape(heap.slots, [lanes, depth])
        below = steps + read_depth
        slots = tf.pad(slots, [[0, 0], [below, steps + 1]], constant_values=EMPTY)
        free = tf.range(lanes) * (below + depth + steps + 1) + below + heap.top
        # A tensor of its own: it may be a constant of the graph's.
        return cls(tf.raw_ops.DeepCopy(x=tf.reshape(slots, [-1])), free)

    def read(self, read_depth):
        return tf.gather(self.slots, self.free - tf.range(1, read_depth + 1)[:, None])

    def element(self, depth):
        return tf.gather(self.slots, self.free - (depth + 1))

    def offered(self, value):
        """The same with `value` above the top of every lane: there if the top moves up."""
        return self._replace(slots=tf.raw_ops.InplaceUpdate(x=self.slots, i=self.free, v=value))

    def moved(self, by):
        """The same with the top moved up by 1, down by -1."""
        return self._replace(free=self.free + by)

    def rows(self):
        """All elements of every lane, `[rows, lanes]`, top first and with empty ones below."""
        lanes = tf.size(self.free)
        bottom = tf.range(lanes) * (tf.size(self.slots) // tf.maximum(lanes, 1))
        places = self.free - tf.range(1, longest(self.free - bottom) + 1)[:, None]
        return tf.gather(self.slots, tf.maximum(places, bottom))


class StackPile(NamedTuple):
    """A pile whose top moves up with PUSH and down with POP."""

    pile: Pile

    @classmethod
    def of(cls, cell, rows, steps):
        return cls(Pile.of(rows, cell.read_depth, steps))

    def read(self, cell):
        return self.pile.read(cell.read_depth)

    def act(self, cell, controls, alive):
        *logits, value = tf.unstack(controls)
        if cell.no_op:
            action = _most_probable(controls[:-1])
            move = tf.gather([1, -1, 0], action)
            weights = tf.one_hot(action, len(logits), axis=0)
        else:
            pushes = logits[0] >= 0
            move = tf.where(pushes, 1, -1)
            weights = tf.cast([pushes, ~pushes], value.dtype)
        if alive is not None:
            move = tf.where(alive, move, 0)
        return StackPile(self.pile.offered(tf.sigmoid(value)).moved(move)), weights

    def rows(self, cell):
        return self.pile.rows()


class ListPiles(NamedTuple):
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
        action = _most_probable(controls[:-1])
        weights = tf.one_hot(action, controls.shape[0] - 1, axis=0)
        if alive is not None:
            action = tf.where(alive, action, _LIST_NO_OP)
        written = tf.sigmoid(controls[-1])
        left, right = self.left.offered(self.head), self.right.offered(self.head)
        head = self.head
        for i, element in enumerate([written, left.element(0), right.element(0)]):
            head = tf.where(tf.equal(action, i), element, head)
        # INSERT, LEFT, RIGHT, NO-OP: what was under the head goes to the side that it leaves.
        left = left.moved(tf.gather([1, -1, 1, 0], action))
        right = right.moved(tf.gather([0, 1, -1, 0], action))
        return ListPiles(left, head, right), weights

    def rows(self, cell):
        left, right = self.left.rows(), self.right.rows()
        depth = tf.maximum(tf.shape(left)[0], tf.shape(right)[0])
        left = tf.reverse(_deepened(left, depth), axis=[0])
        return tf.concat([left, self.head[None], _deepened(right, depth)], axis=0)


def _deepened(rows, depth):
    """The same `rows`, with empty ones after them, `depth` together."""
    missing = depth - tf.shape(rows)[0]
    return tf.pad(rows, [[0, missing], [0, 0]], constant_values=EMPTY)


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


def _taken(logits):
    """Of every action but the last whether it is the most probable, each `[1, lanes]`."""
    if logits.shape[0] == 1:
        return [logits >= 0]
    action = _most_probable(logits)[None]
    return [tf.equal(action, i) for i in range(logits.shape[0] - 1)]


def _chosen(taken, moves):
    """What the action that is taken leaves; the last one if it is none of the others."""
    *others, after = moves[: len(taken) + 1]
    for is_taken, move in zip(taken, others, strict=True):
        after = tf.where(is_taken, move, after)
    return after


def _most_probable(logits):
    """The most probable action of `[actions, lanes]`, of equals the first."""
    return tf.argmax(logits, axis=0, output_type=tf.int32)
