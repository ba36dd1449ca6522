"""One memory with hard actions in plain Python, at a constant cost a symbol."""

import itertools
from collections import deque

from keras_stackrnn.memories.soft import EMPTY
from keras_stackrnn.memories.zipper import FROM_LEFT, FROM_RIGHT, VALUE


class SimulatedZipper:
    """The element under the head, and a pile on either side of it, nearest element last.

    Args:
        kind: A `Zipper`.
        capacity: How many elements the memory holds; `None`: as many as there are.
    """

    def __init__(self, kind, capacity: int | None):
        self._kind = kind
        room = kind.room_of_sides(capacity)
        self._head = EMPTY
        self._piles = {side: _Pile(room.get(side)) for side in ("left", "right")}

    @property
    def lost(self) -> int:
        """How many elements went past an end."""
        return sum(pile.lost for pile in self._piles.values())

    def act(self, name: str, value) -> None:
        """Takes an action; `value` is what it writes, if it writes."""
        action = self._kind.action(name)
        under_head = value if action.writes else self._head
        before = {side: pile.nearest(1) for side, pile in self._piles.items()}
        for side, pile in self._piles.items():
            gain = getattr(action, side)
            if gain > 0:
                pile.put(under_head)
            elif gain < 0:
                pile.take()
        self._head = {
            VALUE: lambda: value,
            FROM_LEFT: lambda: next(iter(before["left"]), EMPTY),
            FROM_RIGHT: lambda: next(iter(before["right"]), EMPTY),
        }.get(action.head, lambda: under_head)()

    def read(self, depth: int) -> list:
        """The first `depth` elements in the order in which they are read."""
        if not self._kind.has_two_sides:
            below = self._piles[self._kind.side_of(1)]
            elements = [self._head, *below.nearest(depth - 1)]
        else:
            sides = (self._piles[side].nearest(depth) for side in ("left", "right"))
            pairs = itertools.zip_longest(*sides, fillvalue=EMPTY)
            elements = [self._head, *itertools.chain.from_iterable(pairs)][:depth]
        return elements + [EMPTY] * (depth - len(elements))


class SimulatedQueue:
    """Elements one after another; a bounded queue that is full takes no more.

    Args:
        capacity: How many elements the memory holds; `None`: as many as there are.
    """

    def __init__(self, capacity: int | None):
        self._elements = deque()
        self._capacity = capacity
        self.lost = 0

    def act(self, name: str, value) -> None:
        """Takes an action; `value` is what it writes, if it writes."""
        if name == "DEQUEUE" and self._elements:
            self._elements.popleft()
        elif name == "ENQUEUE" and len(self._elements) == self._capacity:
            self.lost += 1
        elif name == "ENQUEUE":
            self._elements.append(value)

    def read(self, depth: int) -> list:
        """The first `depth` elements."""
        elements = list(itertools.islice(self._elements, depth))
        return elements + [EMPTY] * (depth - len(elements))


class _Pile:
    """Elements on one side of the head; a bounded pile loses those at its bottom."""

    def __init__(self, most: int | None):
        self._elements = deque()
        self._most = most
        self.lost = 0

    def put(self, element) -> None:
        self._elements.append(element)
        if self._most is not None and len(self._elements) > self._most:
            self.lost += self._elements.popleft() != EMPTY

    def take(self) -> None:
        if self._elements:
            self._elements.pop()

    def nearest(self, count: int) -> list:
        return [self._elements[-1 - i] for i in range(min(count, len(self._elements)))]
