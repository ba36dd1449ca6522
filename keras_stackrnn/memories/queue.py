"""Queues: ENQUEUE at the back, DEQUEUE from the front, and perhaps NO-OP.

A queue is no zipper: it acts at both ends, and where its back is depends on how many elements there
are. The front is row 0. Beside its element each row has a mark, 0 if the row is in use and -1 if it
is not: the marks are a stack of 0s, pushed on and popped, whose depth is the queue's length. With
soft actions that is a distribution over lengths, p, and

    ENQUEUE:  element[r] = (1 - p[r]) element[r] + p[r] value,  p[r] = mark[r - 1] - mark[r]
    DEQUEUE:  element[r] = element[r + 1]

so that a slot stays exactly empty where no length can be. With hard actions it is a real queue.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

from keras import ops

from keras_stackrnn.memories.kind import MemoryKind
from keras_stackrnn.memories.soft import EMPTY, occupied, shifted
from keras_stackrnn.types import Count, Tensor

# What is pushed on the marks: a row in use.
_IN_USE = 0.0
_NAMES = ("ENQUEUE", "DEQUEUE", "NO-OP")


@dataclasses.dataclass(frozen=True)
class Queue(MemoryKind):
    """The kind of memory that is first in, first out."""

    with_no_op: bool = True

    marks = 1
    drawn_as = "queue"

    @property
    def action_names(self) -> tuple[str, ...]:
        return _NAMES if self.with_no_op else _NAMES[:-1]

    def without_no_op(self) -> "Queue":
        return dataclasses.replace(self, with_no_op=False)

    def moves(self, value: Tensor, rows: Tensor, head: Count) -> list[Tensor]:
        elements, marks = _parts(rows, ops.shape(value)[-1])
        lengths = _spread(_lengths(marks), value)
        # Not as a difference to what was there: so a hard action writes the value to the bit.
        enqueued = elements * (1 - lengths) + lengths * value
        in_use = ops.full_like(marks[..., :1, :], _IN_USE)
        marked = ops.concatenate([in_use, marks[..., :-1, :]], axis=-2)
        moves = [ops.concatenate([enqueued, marked], axis=-1), shifted(rows, 1, EMPTY), rows]
        return moves[: len(self.action_names)]

    def value_back(
        self, weights: Sequence[Tensor], gradient: Tensor, value: Tensor, rows: Tensor, head: Count
    ) -> Tensor:
        size = ops.shape(value)[-1]
        _, marks = _parts(rows, size)
        of_elements = gradient[..., :size] * _spread(_lengths(marks), value)
        return weights[0][..., :size] * ops.sum(of_elements, axis=-2, keepdims=True)

    def rows_back(
        self, weights: Sequence[Tensor], gradient: Tensor, value: Tensor, rows: Tensor, head: Count
    ) -> Tensor:
        size = ops.shape(value)[-1]
        elements, marks = _parts(rows, size)
        of_elements, of_marks = _parts(gradient, size)
        lengths = _spread(_lengths(marks), value)
        through_lengths = _summed(of_elements * (value - elements), marks)
        # A mark makes its own row's length less likely, and the next row's more.
        to_marks = shifted(through_lengths + of_marks, 1, 0.0) - through_lengths
        enqueued = ops.concatenate([of_elements * (1 - lengths), to_marks], axis=-1)
        moves = [enqueued, shifted(gradient, -1, 0.0), gradient][: len(self.action_names)]
        total = weights[0] * moves[0]
        for weight, move in zip(weights[1:], moves[1:], strict=True):
            total = total + weight * move
        return total

    def lost(self, weights: Sequence[Tensor], rows: Tensor, numbers: int) -> Tensor:
        # What comes to a queue that is full is what is lost.
        last_mark = ops.split(rows[..., -1:, :], numbers, axis=-1)[-1]
        return weights[0] * occupied(last_mark)

    def role(self, action: str) -> str:
        return dict(zip(_NAMES, ("adds", "takes", "stays"), strict=True))[action]

    def writes(self, action: str) -> bool:
        return action == _NAMES[0]

    def has_no_effect_on_empty(self, action: str, only_head: bool) -> bool:
        return not self.writes(action)

    def pointers(self, elements: Tensor, marks: Tensor | None) -> Any:
        from keras_stackrnn.memories.queue_pointers import QueuePointers

        return QueuePointers.of(elements, marks)

    def served(self, layout: Any, rows: Tensor, steps: Count, piled: bool) -> Any:
        from keras_stackrnn.memories import queue_served

        return queue_served.of_queue(layout, rows, steps, piled)

    def served_moves(self, memory: Any, value: Tensor) -> tuple[list, object]:
        from keras_stackrnn.memories import queue_served

        return queue_served.moves_of_queue(self, memory, value)

    def simulation(self, capacity: int | None) -> Any:
        from keras_stackrnn.memories.simulation import SimulatedQueue

        return SimulatedQueue(capacity)

    @property
    def shape(self) -> str:
        return "pipe"

    def standalone(self) -> tuple[str, tuple]:
        return "QueueMemory", ()


QUEUE = Queue("queue", head_word="front", place_word="place")


def _parts(rows, size):
    """The elements' lanes and the marks'."""
    return rows[..., :size], rows[..., size:]


def _lengths(marks):
    """How probable it is that the queue is as long as there are rows above each row."""
    in_use = ops.full_like(marks[..., :1, :], _IN_USE)
    return ops.concatenate([in_use, marks[..., :-1, :]], axis=-2) - marks


def _spread(of_memories, value):
    """The same for every number of an element."""
    numbers = ops.shape(value)[-1] // ops.shape(of_memories)[-1]
    if not isinstance(numbers, int):  # as in a served graph, whose lanes are as many as a request's
        return ops.tile(of_memories, [*[1] * (len(of_memories.shape) - 1), numbers])
    return of_memories if numbers == 1 else ops.concatenate([of_memories] * numbers, axis=-1)


def _summed(of_elements, marks):
    """Summed up over the numbers of an element."""
    numbers = ops.shape(of_elements)[-1] // ops.shape(marks)[-1]
    return of_elements if numbers == 1 else sum(ops.split(of_elements, numbers, axis=-1))
