"""Memories with rounded actions as piles of elements, at a constant cost a symbol.

A stack is one pile. A list is the element at its head and two piles, what is to the left of it and
what is to the right. A pile's top is what is nearest to the head.
"""

import itertools
from collections import deque
from collections.abc import Sequence

import numpy as np

from keras_stackrnn.memories.soft import EMPTY, list_head


def tops_and_losses(
    kind: str, taken: Sequence[str], values: np.ndarray, depth: int, capacity: int | None
) -> tuple[np.ndarray, int]:
    """Takes an empty memory through all actions.

    Args:
        kind: `"stack"` or `"list"`.
        taken: The action at each of T symbols.
        values: `[T]`, the values for PUSH and INSERT to write.
        depth: How many elements are wanted after each.
        capacity: How many elements the memory holds; `None`: as many as there are.

    Returns:
        `[T, depth]`, the elements in the order in which they are read; and how many were lost.
    """
    left, right = _empty_piles(kind, capacity)
    head, tops = EMPTY, np.full((len(taken), depth), EMPTY, "float32")
    for step, (action, value) in enumerate(zip(taken, values.tolist(), strict=True)):
        if action in ("PUSH", "INSERT"):
            left.put(head)
            head = value
        elif action == "POP":
            head = left.take()
        elif action == "LEFT":
            right.put(head)
            head = left.take()
        elif action == "RIGHT":
            left.put(head)
            head = right.take()
        seen = _in_reading_order(kind, left, right, depth - 1)
        tops[step, 0] = head
        tops[step, 1 : 1 + len(seen)] = seen
    return tops, left.lost + right.lost


def _empty_piles(kind: str, capacity: int | None) -> tuple["_Pile", "_Pile"]:
    if capacity is None:
        return _Pile(None), _Pile(None)
    on_left = capacity - 1 if kind == "stack" else list_head(capacity)
    return _Pile(on_left), _Pile(capacity - 1 - on_left)


def _in_reading_order(kind: str, left: "_Pile", right: "_Pile", depth: int) -> list[float]:
    if kind == "stack":
        return left.nearest(depth)
    sides = left.nearest(depth), right.nearest(depth)
    pairs = itertools.zip_longest(*sides, fillvalue=EMPTY)
    return list(itertools.chain.from_iterable(pairs))[:depth]


class _Pile:
    """Elements on one side of the head; a bounded pile loses those at its bottom."""

    def __init__(self, most: int | None):
        self._elements = deque()
        self._most = most
        self.lost = 0

    def put(self, element: float) -> None:
        self._elements.append(element)
        if self._most is not None and len(self._elements) > self._most:
            self.lost += self._elements.popleft() != EMPTY

    def take(self) -> float:
        return self._elements.pop() if self._elements else EMPTY

    def nearest(self, count: int) -> list[float]:
        return [self._elements[-1 - i] for i in range(min(count, len(self._elements)))]
