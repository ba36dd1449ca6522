"""Rounded queues as rings: an array, where the front is in it, and how many elements there are."""

from typing import NamedTuple

import tensorflow as tf
from keras import ops

from keras_stackrnn.memories.soft import EMPTY


class QueuePointers(NamedTuple):
    """One ring a lane, all in one flat array of `size` slots each."""

    slots: tf.Tensor
    size: tf.Tensor
    front: tf.Tensor
    length: tf.Tensor
    dropped: tf.Tensor

    @classmethod
    def of(cls, elements, marks):
        """A queue with `elements`, `[lanes, depth]`, front first, as far as `marks` are in use."""
        depth = ops.shape(elements)[1]
        length = tf.reduce_sum(tf.cast(marks > EMPTY / 2, tf.int32), axis=1)
        none = tf.zeros_like(length)
        slots = tf.reshape(elements, [-1])
        return cls(slots, tf.convert_to_tensor(depth), none, length, none)

    def in_place(self):
        # An array of its own, which may be a constant of the graph's.
        slots = tf.raw_ops.DeepCopy(x=self.slots)
        return InPlaceQueuePointers(*self._replace(slots=slots))

    def grown_for(self, steps):
        needed = tf.reduce_max(self.length) + steps
        size = tf.cond(
            needed > self.size, lambda: tf.maximum(needed, 2 * self.size), lambda: self.size
        )
        return self._resized(size)

    def with_room_for(self, steps):
        return self._resized(self.size + steps)

    def _resized(self, size):
        """The same in rings of another size, each begun anew at its front."""
        at = tf.range(self.size)[None] + self.front[:, None]
        slots = tf.gather(self.slots, self._starts()[:, None] + at % self.size)
        slots = tf.reshape(tf.pad(slots, [[0, 0], [0, size - self.size]]), [-1])
        size = tf.convert_to_tensor(size)
        return self._replace(slots=slots, size=size, front=tf.zeros_like(self.front))

    def read(self, kind, depth):
        return [self._element(place) for place in range(depth)]

    def _element(self, place):
        element = tf.gather(self.slots, self._starts() + (self.front + place) % self.size)
        return tf.where(place < self.length, element, tf.cast(EMPTY, element.dtype))

    def act(self, kind, action, value, capacity):
        comes, goes = (tf.equal(action, kind.action_names.index(n)) for n in kind.action_names[:2])
        # There is room for every step, so the slot behind the last element is free in every lane.
        back = self._starts() + (self.front + self.length) % self.size
        written = tf.where(comes, value, tf.cast(EMPTY, value.dtype))
        queue = self._replace(slots=self.written(back, written))
        if capacity is not None:
            is_full = self.length >= capacity
            dropped = self.dropped + tf.cast(comes & is_full, tf.int32)
            queue, comes = queue._replace(dropped=dropped), comes & ~is_full
        goes = goes & (self.length > 0)
        length = self.length + tf.cast(comes, tf.int32) - tf.cast(goes, tf.int32)
        front = (self.front + tf.cast(goes, tf.int32)) % self.size
        return queue._replace(front=front, length=length)

    def emptied(self, where):
        """Without any element in the lanes `where` says so."""
        return self._replace(length=tf.where(where, 0, self.length))

    def rows(self, kind, capacity, read_depth):
        depth = capacity or tf.maximum(self._depth(), read_depth)
        places = tf.range(depth)[None]
        at = (self.front[:, None] + places) % self.size
        elements = tf.gather(self.slots, self._starts()[:, None] + at)
        empty = tf.cast(EMPTY, elements.dtype)
        return tf.where(places < self.length[:, None], elements, empty)

    def marks(self, depth):
        """0 for the rows that are in use, -1 for the others, `[lanes, depth]`."""
        in_use = tf.range(depth)[None] < self.length[:, None]
        return tf.cast(in_use, self.slots.dtype) - 1

    def lost(self):
        return tf.reduce_sum(self.dropped)

    def written(self, at, value):
        return tf.tensor_scatter_nd_update(self.slots, at[:, None], value)

    def _depth(self):
        """How many rows hold the elements of every lane; where sizes cannot depend on values, as
        many as the rings have."""
        return tf.reduce_max(self.length) if tf.executing_eagerly() else self.size

    def _starts(self):
        return tf.range(ops.shape(self.front)[0]) * self.size


class InPlaceQueuePointers(QueuePointers):
    """Rings for graphs that are not compiled, where any other write copies the whole array."""

    def written(self, at, value):
        return tf.raw_ops.InplaceUpdate(x=self.slots, i=at, v=value)

    def _depth(self):
        return tf.reduce_max(self.length)
