"""Queues inside the loop of a served graph: see `served.py`."""

from typing import NamedTuple

import tensorflow as tf

from keras_stackrnn.memories.served import Rows, hard_action, split_controls
from keras_stackrnn.memories.soft import EMPTY


def of_queue(layout, rows, steps, piled):
    """What is in `rows`, with room for so many `steps`; see `served.of_zipper`."""
    return ServedQueue.of(layout, rows, steps) if piled else Rows.of(rows)


def moves_of_queue(kind, memory: Rows, value):
    """What each action alone would leave, and what none would, with one row more."""
    as_it_was = tf.concat([memory.slots, memory.edge[:1]], axis=0)
    return kind.moves(value, as_it_was, 0), as_it_was


class ServedQueue(NamedTuple):
    """Elements one after another, an array for each lane, all in one flat tensor.

    There is room behind the last element for one more at every step: so nothing ever comes round
    to the beginning. Arrays are overwritten in place, where the steps before do not look.
    """

    slots: tf.Tensor
    size: tf.Tensor  # of one lane's array
    front: tf.Tensor
    back: tf.Tensor

    @classmethod
    def of(cls, layout, rows, steps):
        depth, lanes = tf.unstack(tf.shape(rows))
        of_elements = lanes // layout.numbers * layout.element_size
        elements, marks = rows[:, :of_elements], rows[:, of_elements:]
        length = tf.reduce_sum(tf.cast(marks > EMPTY / 2, tf.int32), axis=0)
        length = tf.concat([length] * layout.element_size, axis=0)
        size = depth + steps + 1
        slots = tf.pad(tf.transpose(elements), [[0, 0], [0, steps + 1]], constant_values=EMPTY)
        # A tensor of its own: it may be a constant of the graph's.
        slots = tf.raw_ops.DeepCopy(x=tf.reshape(slots, [-1]))
        front = tf.range(of_elements) * size
        return cls(slots, size, front, front + length)

    def read(self, layout):
        places = self.front + tf.range(layout.read_depth)[:, None]
        # Behind the last lane's last element the array may end.
        elements = tf.gather(self.slots, tf.minimum(places, tf.size(self.slots) - 1))
        return tf.where(places < self.back, elements, EMPTY)

    def act(self, layout, controls, alive, rounding):
        logits, value = split_controls(controls, layout)
        action, weights = hard_action(logits)
        if alive is not None:
            action = tf.where(alive, action, len(layout.actions))
        action = layout.spread_elements(action)
        slots = tf.raw_ops.InplaceUpdate(x=self.slots, i=self.back, v=tf.sigmoid(value)[0])
        back = self.back + tf.cast(tf.equal(action, 0), tf.int32)
        goes = tf.equal(action, 1) & (self.front < self.back)
        front = self.front + tf.cast(goes, tf.int32)
        return self._replace(slots=slots, front=front, back=back), weights

    def rows(self, layout):
        length = self.back - self.front
        longest = tf.reduce_max(tf.concat([[0], length], axis=0))
        depth = tf.maximum(longest, layout.read_depth)
        rows = tf.range(depth)[:, None]
        places = tf.minimum(self.front + rows, tf.size(self.slots) - 1)
        elements = tf.where(rows < length, tf.gather(self.slots, places), EMPTY)
        memories = tf.size(length) // layout.element_size
        marks = tf.cast(rows < length[:memories], elements.dtype) - 1
        return tf.concat([elements, marks], axis=1)
