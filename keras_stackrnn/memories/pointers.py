"""Rounded memories as real stacks: an array and a pointer, a constant cost a symbol at any depth.

With hard actions a stack needs no mixing: PUSH writes one element and moves a pointer, POP moves
it back. A zipper is the element under its head and a stack on either side. The results are exactly
those of the soft rows with rounding, and the arrays grow by doubling, so a million symbols cost ten
times what a hundred thousand do.

A lane is one number of one memory of one batch element.
"""

from typing import NamedTuple

import tensorflow as tf
from keras import ops

from keras_stackrnn.memories.soft import EMPTY


class ArrayStack(NamedTuple):
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
        """A stack with `rows`, `[lanes, depth]`, top first, without empty ones at the bottom."""
        lanes, depth = ops.shape(rows)
        occupied = tf.where(tf.not_equal(rows, EMPTY), tf.range(depth) + 1, 0)
        top = tf.reduce_max(tf.concat([occupied, tf.zeros([lanes, 1], tf.int32)], 1), axis=1)
        # Reversing each row's occupied part puts its bottom at the array's start. (XLA cannot
        # reverse rows of nothing, which the shorter side of a small list has.)
        is_nothing = isinstance(depth, int) and depth == 0
        slots = rows if is_nothing else tf.reverse_sequence(rows, top, seq_axis=1, batch_axis=0)
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
        lanes = ops.shape(self.top)[0]
        slots = tf.reshape(self.slots, [lanes, self.size])
        slots = tf.pad(slots, [[0, 0], [0, size - self.size]])
        return self._replace(slots=tf.reshape(slots, [-1]), size=tf.convert_to_tensor(size))

    def peek(self, depth):
        """The element `depth` below the top of each lane, empty where there is none."""
        at = self.top - 1 - depth
        starts = tf.range(ops.shape(self.top)[0]) * self.size
        element = tf.gather(self.slots, starts + tf.maximum(at, 0))
        return tf.where(at >= self.base, element, tf.cast(EMPTY, element.dtype))

    def pushed(self, value, where, capacity):
        """Pushes `value` in the lanes `where` says so."""
        starts = tf.range(ops.shape(self.top)[0]) * self.size
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

    def emptied(self, where):
        """Without any element in the lanes `where` says so."""
        return self._replace(top=tf.where(where, self.base, self.top))

    def rows(self, depth):
        """The `depth` top-most elements, `[lanes, depth]`."""
        if not tf.is_tensor(depth) and depth == 0:
            return tf.zeros([ops.shape(self.top)[0], 0], self.slots.dtype)
        at = self.top[:, None] - 1 - tf.range(depth)[None]
        starts = (tf.range(ops.shape(self.top)[0]) * self.size)[:, None]
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


class InPlaceArrayStack(ArrayStack):
    """A stack for graphs that are not compiled.

    There `tensor_scatter_nd_update` copies the whole array for every element that it writes; XLA
    writes it in place, but does not know this operation.
    """

    @classmethod
    def owning(cls, stack):
        """The same stack with an array of its own, which may be a constant of the graph's."""
        return cls(*stack._replace(slots=tf.raw_ops.DeepCopy(x=stack.slots)))

    def written(self, at, value):
        return tf.raw_ops.InplaceUpdate(x=self.slots, i=at, v=value)

    def depth(self):
        return self.deepest()


class TopPointers(NamedTuple):
    """A kind whose head is nothing but the top of its one pile."""

    stack: ArrayStack

    def in_place(self):
        return self._replace(stack=InPlaceArrayStack.owning(self.stack))

    def grown_for(self, steps):
        return self._replace(stack=self.stack.grown_for(steps))

    def with_room_for(self, steps):
        return self._replace(stack=self.stack.resized(self.stack.size + steps))

    def read(self, kind, depth):
        return [self.stack.peek(k) for k in range(depth)]

    def act(self, kind, action, value, capacity):
        pushes = _any(action, [each.left > 0 for each in kind.actions])
        pops = _any(action, [each.left < 0 for each in kind.actions])
        stack = self.stack.pushed(value, pushes, capacity)
        return self._replace(stack=stack.popped(pops))

    def emptied(self, where):
        return self._replace(stack=self.stack.emptied(where))

    def rows(self, kind, capacity, read_depth):
        return self.stack.rows(capacity or tf.maximum(self.stack.depth(), read_depth))

    def lost(self):
        return tf.reduce_sum(self.stack.lost)


class ZipperPointers(NamedTuple):
    """The element under the head, and a stack on each side of it that the kind uses."""

    head: tf.Tensor
    sides: dict[str, ArrayStack]

    def _with_sides(self, change):
        return self._replace(sides={name: change(side) for name, side in self.sides.items()})

    def in_place(self):
        return self._with_sides(InPlaceArrayStack.owning)

    def grown_for(self, steps):
        return self._with_sides(lambda side: side.grown_for(steps))

    def with_room_for(self, steps):
        return self._with_sides(lambda side: side.resized(side.size + steps))

    def read(self, kind, depth):
        return [
            self.sides[kind.side_of(place)].peek(abs(place) - 1) if place else self.head
            for place in kind.places(depth)
        ]

    def act(self, kind, action, value, capacity):
        actions, room = kind.actions, kind.room_of_sides(capacity)
        written = _any(action, [each.writes for each in actions])
        under_head = self.head if written is None else tf.where(written, value, self.head)
        sides, tops = {}, {}
        for name, side in self.sides.items():
            gains = _any(action, [getattr(each, name) > 0 for each in actions])
            loses = _any(action, [getattr(each, name) < 0 for each in actions])
            after = side if gains is None else side.pushed(under_head, gains, room[name])
            # Writing leaves the elements as they are; reading them after it lets it be in place.
            tops[name] = side._replace(slots=after.slots).peek(0)
            sides[name] = after if loses is None else after.popped(loses)
        head = under_head
        for source, element in {"value": value, **tops}.items():
            taken = _any(action, [each.head == source for each in actions])
            head = head if taken is None else tf.where(taken, element, head)
        return self._replace(head=head, sides=sides)

    def emptied(self, where):
        head = tf.where(where, tf.cast(EMPTY, self.head.dtype), self.head)
        return self._with_sides(lambda side: side.emptied(where))._replace(head=head)

    def rows(self, kind, capacity, read_depth):
        depths = kind.room_of_sides(capacity)
        if capacity is None:
            places = [abs(place) for place in kind.places(read_depth)]
            deepest = max(places)
            for side in self.sides.values():
                deepest = tf.maximum(deepest, side.depth())
            depths = dict.fromkeys(self.sides, deepest)
        rows = [self.head[:, None]]
        if kind.has_two_sides:
            rows.insert(0, tf.reverse(self.sides["left"].rows(depths["left"]), axis=[1]))
        below = kind.side_of(1)
        return tf.concat([*rows, self.sides[below].rows(depths[below])], axis=1)

    def lost(self):
        return sum(tf.reduce_sum(side.lost) for side in self.sides.values())


def of_zipper(kind, rows):
    """What is in `rows`, `[lanes, rows]`, of a whole memory of a kind that is a table."""
    if kind.head_is_on_pile:
        return TopPointers(ArrayStack.of(rows))
    head = kind.head(ops.shape(rows)[1])
    sides = {kind.side_of(1): ArrayStack.of(rows[:, head + 1 :])}
    if kind.has_two_sides:
        sides["left"] = ArrayStack.of(tf.reverse(rows[:, :head], axis=[1]))
    return ZipperPointers(rows[:, head], sides)


def _any(action, chosen):
    """In which lanes the action is one of those that are `chosen`; `None` if none is."""
    found = None
    for index, is_chosen in enumerate(chosen):
        if is_chosen:
            is_taken = tf.equal(action, index)
            found = is_taken if found is None else found | is_taken
    return found
