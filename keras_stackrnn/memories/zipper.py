"""Memories made from a table of actions: an element under the head, a pile on either side of it.

A list is such a zipper. So is a stack: the head is its top, and of its two piles only one is used.
From the table follows what every action does to rows, where gradients go, what is read, what is
lost, and what rounded memories do with pointers.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from keras import ops

from keras_stackrnn.memories.kind import MemoryKind
from keras_stackrnn.memories.soft import EMPTY, by_row, mix, occupied, row_count, shifted, total
from keras_stackrnn.types import Count, Tensor

VALUE, FROM_LEFT, FROM_RIGHT, STAYS = "value", "left", "right", "stays"
_HEADS = (VALUE, FROM_LEFT, FROM_RIGHT, STAYS)


class Action(NamedTuple):
    """What one action does to the element under the head and to the two piles beside it.

    Attributes:
        name: Its name, as in `"PUSH"`.
        left: How many elements the left pile gains: 1, 0 or -1. A pile that gains one gets what
            was under the head.
        right: The same of the right pile.
        head: What is under the head afterwards: `VALUE`, the value written; `FROM_LEFT` or
            `FROM_RIGHT`, what was on that pile; `STAYS`, what was there.
        writes: Whether the value replaces what is under the head before anything moves.
    """

    name: str
    left: int
    right: int
    head: str
    writes: bool = False

    @property
    def writes_value(self) -> bool:
        return self.writes or self.head == VALUE


NO_OP = Action("NO-OP", 0, 0, STAYS)


@dataclasses.dataclass(frozen=True)
class Zipper(MemoryKind):
    """A kind of memory that is its table of actions.

    With one pile the head is row 0 and the pile lies below it. With two the head is in the middle,
    and rows run from left to right.

    Example:

    ```python
    stack = Zipper("stack", (Action("PUSH", +1, 0, VALUE), Action("POP", -1, 0, FROM_LEFT), NO_OP))
    ```
    """

    drawn_as = "zipper"

    actions: tuple[Action, ...]

    def __post_init__(self):
        actions = tuple(Action(*action) for action in self.actions)
        object.__setattr__(self, "actions", actions)
        for action in actions:
            if not {action.left, action.right} <= {-1, 0, 1}:
                raise ValueError(
                    f"{action.name} of {self.plural} moves by more than one row: expected `left` "
                    f"and `right` to be 1, 0 or -1, got {action.left} and {action.right}."
                )
            if action.head not in _HEADS:
                raise ValueError(
                    f"{action.name} of {self.plural} has an unknown `head`: expected one of "
                    f"{', '.join(_HEADS)}, got {action.head!r}."
                )
        names = [action.name for action in actions]
        if len(names) < 2 or len(set(names)) < len(names):
            raise ValueError(
                f"A kind of memory needs two or more actions of different names, got {names} "
                f"for {self.plural}."
            )
        if not any(action.writes_value for action in actions):
            raise ValueError(
                f"None of the actions of {self.plural} writes the value: expected one with "
                f"head={VALUE!r} or writes=True, got {names}."
            )

    @property
    def action_names(self) -> tuple[str, ...]:
        return tuple(action.name for action in self.actions)

    def without_no_op(self) -> "Zipper":
        return dataclasses.replace(self, actions=self.actions[:-1])

    @property
    def has_no_op(self) -> bool:
        return self.actions[-1] == NO_OP

    @property
    def has_two_sides(self) -> bool:
        return any(action.left for action in self.actions) and any(
            action.right for action in self.actions
        )

    def action(self, name: str) -> Action:
        return self.actions[self.action_names.index(name)]

    def source(self, action: Action, offset: int) -> int | None:
        """How many rows on lies what an action brings to the row `offset` from the head.

        All moves and their adjoints are derived from this. `None` is the value written.
        """
        left, right, on_left = action.left, action.right, -1
        if not self.has_two_sides:
            left, right, on_left = 0, left + right, 1
        if offset == 0:
            source = {VALUE: None, STAYS: 0, FROM_LEFT: on_left, FROM_RIGHT: 1}[action.head]
        else:
            source = left if offset < 0 else -right
        if action.writes and source is not None and offset + source == 0:
            return None
        return source

    def runs(self, action: Action) -> list[tuple[int, int | None]]:
        """The same for all rows: where a run of rows with the same source begins, and the source.

        The first run begins with the first row, the last one ends with the last.
        """
        return self._runs(functools.partial(self.source, action), 2)

    def moves(self, value: Tensor, rows: Tensor, head: Count) -> list[Tensor]:
        def rows_from(source):
            return value if source is None else shifted(rows, source, EMPTY)

        moves = []
        for action in self.actions:
            runs = self.runs(action)
            if [source for _, source in runs] == [None, -1] and not self.has_two_sides:
                # Without comparing rows, which takes longer.
                moves.append(ops.concatenate([value, rows[..., :-1, :]], axis=-2))
                continue
            runs = [(offset, rows_from(source)) for offset, source in runs]
            moves.append(by_row(runs, row_count(rows), head))
        return moves

    def value_back(
        self, weights: Sequence[Tensor], gradient: Tensor, value: Tensor, rows: Tensor, head: Count
    ) -> Tensor:
        terms = []
        # Several actions may write, and what a tape writes is beside the head afterwards.
        for offset in self._offsets(1):
            writers = [
                weight
                for weight, action in zip(weights, self.actions, strict=True)
                if self.source(action, offset) is None
            ]
            if writers:
                row = head + offset
                terms.append(total(writers) * gradient[..., row : row + 1, :])
        return total(terms)

    def rows_back(
        self, weights: Sequence[Tensor], gradient: Tensor, value: Tensor, rows: Tensor, head: Count
    ) -> Tensor:
        def rows_from(sources):
            if not sources:
                return ops.zeros_like(gradient[..., :1, :])
            return total([shifted(gradient, -source, 0.0) for source in sources])

        moves = []
        for action in self.actions:
            runs = self._runs(functools.partial(self._targets, action), 3)
            if [sources for _, sources in runs] == [(), (1,)] and not self.has_two_sides:
                runs = runs[1:]  # the first row comes from beyond the edge: zero anyway
            runs = [(offset, rows_from(sources)) for offset, sources in runs]
            moves.append(by_row(runs, row_count(gradient), head))
        return mix(weights, moves)

    def lost(self, weights: Sequence[Tensor], rows: Tensor, numbers: int) -> Tensor:
        # The first number of an element says for all of them whether the slot is empty.
        lanes = ops.shape(weights[0])[-1]
        terms = []
        for edge, side in ((rows[..., :1, :lanes], "left"), (rows[..., -1:, :lanes], "right")):
            growing = [
                weight
                for weight, action in zip(weights, self.actions, strict=True)
                if self._grows(action, side)
            ]
            if growing:
                terms.append(total(growing) * occupied(edge))
        return total(terms) if terms else ops.zeros_like(weights[0])

    def role(self, action: str) -> str:
        entry = self.action(action)
        if entry._replace(name=NO_OP.name) == NO_OP:
            return "stays"
        gained = entry.left + entry.right
        if gained:
            return "adds" if gained > 0 else "takes"
        return {-1: "left", 0: "changes", 1: "right"}[entry.left]

    def writes(self, action: str) -> bool:
        return self.action(action).writes_value

    def has_no_effect_on_empty(self, action: str, only_head: bool) -> bool:
        entry = self.action(action)
        if entry == NO_OP:
            return True
        # With two piles there may be elements beside an empty head.
        return not entry.writes_value and not (only_head and self.has_two_sides)

    @property
    def head_is_on_pile(self) -> bool:
        """Whether the head is nothing but the top of the pile, which is pushed on and popped."""
        plain = {(1, VALUE), (-1, FROM_LEFT), (0, STAYS)}
        return all(
            not action.right and not action.writes and (action.left, action.head) in plain
            for action in self.actions
        )

    def side_of(self, place: int) -> str:
        """The pile in which the element lies that is so far from the head."""
        if self.has_two_sides:
            return "left" if place < 0 else "right"
        return "left" if any(action.left for action in self.actions) else "right"

    def room_of_sides(self, capacity: int | None) -> dict[str, int | None]:
        """How many elements fit on each side of the head."""
        below = self.side_of(1)
        if capacity is None:
            return {"left": None, below: None}
        return {"left": self.head(capacity), below: capacity - 1 - self.head(capacity)}

    def pointers(self, elements: Tensor, marks: Tensor | None) -> Any:
        from keras_stackrnn.memories import pointers

        return pointers.of_zipper(self, elements)

    def served(self, layout: Any, rows: Tensor, steps: Count, piled: bool) -> Any:
        from keras_stackrnn.memories import served

        return served.of_zipper(self, layout, rows, steps, piled)

    def served_moves(self, memory: Any, value: Tensor) -> tuple[list, object]:
        from keras_stackrnn.memories import served

        return served.moves_of_zipper(self, memory, value)

    def simulation(self, capacity: int | None) -> Any:
        from keras_stackrnn.memories.simulation import SimulatedZipper

        return SimulatedZipper(self, capacity)

    def standalone(self) -> tuple[str, tuple]:
        table = {action.name: tuple(action[1:]) for action in self.actions}
        sides = ("left", "right") if self.has_two_sides else (self.side_of(1),)
        return "ZipperMemory", (table, sides)

    def moves_in_words(self) -> list[dict]:
        return [
            {
                "left": action.left,
                "right": action.right,
                "head": action.head,
                "first": action.writes,
            }
            for action in self.actions
        ]

    def description(self) -> dict | str:
        words = (field.name for field in dataclasses.fields(self) if field.name != "actions")
        table = [dict(action._asdict()) for action in self.actions]
        return {**{word: getattr(self, word) for word in words}, "actions": table}

    @classmethod
    def from_description(cls, description: dict) -> "Zipper":
        table = tuple(Action(**action) for action in description["actions"])
        return cls(**{**description, "actions": table})

    def _grows(self, action: Action, side: str) -> bool:
        if self.has_two_sides:
            return getattr(action, side) > 0
        return side == "right" and action.left + action.right > 0

    def _targets(self, action: Action, offset: int) -> tuple[int, ...]:
        """From how many rows on the gradient comes back to the row `offset` from the head.

        From none if an action deletes the element, from several if it copies it.
        """
        return tuple(
            source
            for source in (-1, 0, 1)
            if (self.has_two_sides or offset >= source)
            and self.source(action, offset - source) == source
        )

    def _offsets(self, far: int) -> range:
        """Offsets from the head, the outermost standing for all beyond."""
        return range(-far if self.has_two_sides else 0, far + 1)

    def _runs(self, of: Callable[[int], Any], far: int) -> list[tuple[int, Any]]:
        """Neighbouring offsets with the same `of(offset)`: the first of them, and what it is."""
        runs: list[tuple[int, Any]] = []
        for offset in self._offsets(far):
            if not runs or runs[-1][1] != of(offset):
                runs.append((offset, of(offset)))
        return runs
