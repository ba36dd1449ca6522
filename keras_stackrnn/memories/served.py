"""Memories inside the loop of a served graph, soft and rounded: what a step makes of them.

A served graph is not compiled: what a step costs is how many operations it has, far more than how
long each of them takes. So these are other executors than the compiled kernels' rows and pointers:
they know that nothing is ever lost, and that there is room for every step to come.

There are two kinds. Rows that move with every action take few operations, but each goes over all
of them. Stacks with pointers, for rounded memories alone, cost the same however deep they are.

Memories are given and given back as `[rows, lanes]`, a lane being one number of one memory of one
batch element, all lanes of the first number first. `act` takes `controls`, `[…, memories' lanes]`:
a row of logits for each action, or, of two actions, one row that is the difference of theirs; and
the numbers to write, before their sigmoid. It gives the memory after that, and the weight of each
action, `[actions, memories' lanes]`. Lanes that are not `alive` stay as they are, and `alive` may
be `None`, for all of them. `read` gives `[read_depth, elements' lanes]`.
"""

from typing import NamedTuple

import tensorflow as tf

from keras_stackrnn.memories.pointers import ArrayStack
from keras_stackrnn.memories.soft import EMPTY, action_weights
from keras_stackrnn.memories.zipper import FROM_LEFT, FROM_RIGHT, VALUE


class Rows(NamedTuple):
    """What the actions leave of all rows: a mixture of what each alone would leave, or, rounded,
    what the most probable one leaves. It grows with every step.

    `edge` is two empty rows, made once.
    """

    slots: tf.Tensor
    edge: tf.Tensor

    @classmethod
    def of(cls, rows):
        edge = tf.fill([2, tf.shape(rows)[1]], tf.constant(EMPTY, rows.dtype))
        return cls(rows, edge)

    def read(self, layout):
        return layout.read(self.slots, layout.head(tf.shape(self.slots)[0]))

    def act(self, layout, controls, alive, rounding):
        if rounding:
            logits, value = split_controls(controls, layout)
            taken = _taken(logits)
            weights = [*taken, ~tf.reduce_any(taken, axis=0)]
            weights = [tf.cast(weight, controls.dtype) for weight in weights]
            moves, as_it_was = layout.kind.served_moves(self, tf.sigmoid(value))
            after = _chosen(layout.spread(taken), moves)
        else:
            weights, value = _weights_and_value(controls, layout)
            moves, as_it_was = layout.kind.served_moves(self, value)
            after = _mix(layout.spread(weights), moves)
        if alive is not None:
            after = tf.where(layout.spread([alive])[0], after, as_it_was)
        return self._replace(slots=after), tf.concat(weights, axis=0)

    def rows(self, layout):
        return self.slots


def moves_of_zipper(kind, memory: Rows, value):
    """What each action alone would leave, and what none would, with room for one element more at
    the end of the pile, or at both ends."""
    # Two rows apart, the same padded rows show the memory moved one way and the other. Where the
    # head is the first row, the value before it makes them a pushed stack as well.
    before = memory.edge if kind.has_two_sides else value
    padded = tf.concat([before, memory.slots, memory.edge], axis=0)
    head = kind.head(tf.shape(memory.slots)[0]) + 1 if kind.has_two_sides else 0

    def shown(source, first, last):
        begin = 1 + source if first is None else head + first + 1 + source
        if last is not None:
            return padded[begin : head + last + 1 + source]
        return padded[begin:] if source == 1 else padded[begin : source - 1]

    moves = []
    for action in kind.actions:
        runs = kind.runs(action)
        if not kind.has_two_sides and runs == [(0, None), (1, -1)]:
            moves.append(padded[:-2])
            continue
        ends = [offset for offset, _ in runs[1:]] + [None]
        pieces = []
        for place, ((first, source), last) in enumerate(zip(runs, ends, strict=True)):
            if source is None:
                pieces += [value] * (last - first)
            else:
                pieces.append(shown(source, first if place else None, last))
        moves.append(pieces[0] if len(pieces) == 1 else tf.concat(pieces, axis=0))
    return moves, padded[1:-1]


class RoomyStack(NamedTuple):
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
        stack = ArrayStack.of(lanes_first(rows))
        slots = tf.reshape(stack.slots, [lanes, depth])
        below = steps + read_depth
        slots = tf.pad(slots, [[0, 0], [below, steps + 1]], constant_values=EMPTY)
        free = tf.range(lanes) * (below + depth + steps + 1) + below + stack.top
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
        deepest = tf.reduce_max(tf.concat([[0], self.free - bottom], axis=0))
        places = self.free - tf.range(1, deepest + 1)[:, None]
        return tf.gather(self.slots, tf.maximum(places, bottom))


class ServedTop(NamedTuple):
    """A kind whose head is nothing but the top of its one pile."""

    stack: RoomyStack

    def read(self, layout):
        return self.stack.read(layout.read_depth)

    def act(self, layout, controls, alive, rounding):
        logits, value = split_controls(controls, layout)
        action, weights = hard_action(logits)
        move = layout.spread([_of_actions([each.left for each in layout.kind.actions], action)])[0]
        if alive is not None:
            move = tf.where(layout.spread([alive])[0], move, 0)
        return ServedTop(self.stack.offered(tf.sigmoid(value)[0]).moved(move)), weights

    def rows(self, layout):
        return self.stack.rows()


class ServedZipper(NamedTuple):
    """The element under the head, and a stack on each side of it that the kind uses."""

    head: tf.Tensor
    sides: dict[str, RoomyStack]

    def read(self, layout):
        kind = layout.kind
        return tf.stack(
            [
                self.sides[kind.side_of(place)].element(abs(place) - 1) if place else self.head
                for place in kind.places(layout.read_depth)
            ]
        )

    def act(self, layout, controls, alive, rounding):
        actions = layout.kind.actions
        logits, value = split_controls(controls, layout)
        action, weights = hard_action(logits)
        if alive is not None:
            action = tf.where(alive, action, len(actions))
        action = layout.spread([action])[0]
        value = tf.sigmoid(value)[0]
        head = self.head
        if any(each.writes for each in actions):
            head = _where_any(action, [each.writes for each in actions], value, head)
        sides = {name: side.offered(head) for name, side in self.sides.items()}
        sources = {VALUE: lambda: value}
        for name, source in (("left", FROM_LEFT), ("right", FROM_RIGHT)):
            if name in sides:
                sources[source] = lambda name=name: sides[name].element(0)
        for source, element in sources.items():
            chosen = [each.head == source for each in actions]
            if any(chosen):
                head = _where_any(action, chosen, element(), head)
        # What was under the head goes to the side that the action leaves behind.
        sides = {
            name: side.moved(_of_actions([getattr(each, name) for each in actions] + [0], action))
            for name, side in sides.items()
        }
        return ServedZipper(head, sides), weights

    def rows(self, layout):
        kind = layout.kind
        below = self.sides[kind.side_of(1)].rows()
        if not kind.has_two_sides:
            return tf.concat([self.head[None], below], axis=0)
        left = self.sides["left"].rows()
        depth = tf.maximum(tf.shape(left)[0], tf.shape(below)[0])
        left = tf.reverse(_deepened(left, depth), axis=[0])
        return tf.concat([left, self.head[None], _deepened(below, depth)], axis=0)


def of_zipper(kind, layout, rows, steps, piled):
    """What is in `rows`, with room for so many `steps`.

    Args:
        piled: Whether it is to cost the same however deep it gets; it has to be rounded for that.
    """
    if not piled:
        return Rows.of(rows)
    if kind.head_is_on_pile:
        return ServedTop(RoomyStack.of(rows, layout.read_depth, steps))
    head = kind.head(tf.shape(rows)[0])
    # Both neighbours are looked at when the head moves, whether or not the cell reads them.
    depth = max(1, *(abs(place) for place in kind.places(layout.read_depth)))
    sides = {kind.side_of(1): RoomyStack.of(rows[head + 1 :], depth, steps)}
    if kind.has_two_sides:
        sides["left"] = RoomyStack.of(tf.reverse(rows[:head], axis=[0]), depth, steps)
    return ServedZipper(rows[head], sides)


def hard_action(logits):
    """The action that is taken in every lane, `[lanes]`, of equals the first, and all weights."""
    if logits.shape[0] == 1:
        is_first = logits[0] >= 0
        action = tf.where(is_first, 0, 1)
        return action, tf.cast([is_first, ~is_first], logits.dtype)
    action = _most_probable(logits)
    return action, tf.one_hot(action, logits.shape[0], axis=0)


def lanes_first(rows):
    """`tf.transpose` of float32: oneDNN's takes ten times as long to begin as that of integers."""
    return tf.bitcast(tf.transpose(tf.bitcast(rows, tf.int32)), tf.float32)


def split_controls(controls, layout):
    """The logits, and the numbers to write, `[1, elements' lanes]`."""
    numbers = layout.element_size
    logits, value = tf.split(controls, [controls.shape[0] - numbers, numbers])
    return logits, value if numbers == 1 else tf.reshape(value, [1, -1])


def _weights_and_value(controls, layout):
    """Each action's weight, `[1, memories' lanes]`, and the element to write, `[1, lanes]`; the
    weights add up to exactly 1, as those of `action_weights` do."""
    if len(layout.actions) == 2:
        first, value = split_controls(tf.sigmoid(controls), layout)
        return [first, 1 - first], value
    logits, value = split_controls(controls, layout)
    weights = action_weights(logits[None])[0]
    return tf.split(weights, weights.shape[0]), tf.sigmoid(value)


def _mix(weights, moves):
    """Adds up what each action alone would leave, each by its weight.

    As differences to the last action's: so empty slots stay exactly empty in whatever order they
    are added up, and a session that folds constants, as sessions do, changes the order.
    """
    *others, last = moves
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
    *others, after = moves
    for is_taken, move in zip(taken, others, strict=True):
        after = tf.where(is_taken, move, after)
    return after


def _most_probable(logits):
    """The most probable action of `[actions, lanes]`, of equals the first."""
    return tf.argmax(logits, axis=0, output_type=tf.int32)


def _of_actions(values, action):
    """The value of the action that is taken, in every lane."""
    if len(values) == 2:
        return tf.where(tf.equal(action, 0), *values)
    return tf.gather(values, action)


def _where_any(action, chosen, then, otherwise):
    """`then` where one of the `chosen` actions is taken."""
    indices = [index for index, is_chosen in enumerate(chosen) if is_chosen]
    taken = tf.equal(action, indices[0])
    for index in indices[1:]:
        taken |= tf.equal(action, index)
    return tf.where(taken, then, otherwise)


def _deepened(rows, depth):
    """The same `rows`, with empty ones after them, `depth` together."""
    missing = depth - tf.shape(rows)[0]
    return tf.pad(rows, [[0, missing], [0, 0]], constant_values=EMPTY)
