"""What a kind of memory is: which actions there are, what they do to rows, what is read.

Everything else asks a kind, never for its name. Most kinds are a `Zipper`, made from a table of
actions alone; what is none brings its own moves, as the queue does.
"""

import abc
import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

from keras import ops

from keras_stackrnn.memories.soft import EMPTY, padded, row_count
from keras_stackrnn.types import Count, Tensor


@dataclasses.dataclass(frozen=True)
class MemoryKind(abc.ABC):
    """One kind of memory.

    Rows are counted from the start of the tensor at hand, which may be a cut of a whole memory;
    `head` is the row where the action is. Weights are one tensor `[…, 1, lanes]` an action, the
    value written is `[…, 1, lanes]`, too.

    Attributes:
        name: What one memory is called, as in `stack1`; an `s` makes it many.
        action_names: The actions' names, in the order of their weights. A last one called NO-OP
            may be left out.
        head_word: What the element that is read first is called.
        place_word: What the distance from it is called.
    """

    name: str
    head_word: str = dataclasses.field(default="head", kw_only=True)
    place_word: str = dataclasses.field(default="place", kw_only=True)

    # How many numbers each row has beside those of its element.
    marks = 0

    @property
    def plural(self) -> str:
        return f"{self.name}s"

    @property
    @abc.abstractmethod
    def action_names(self) -> tuple[str, ...]:
        """The actions' names, in the order of their weights."""

    @abc.abstractmethod
    def without_no_op(self) -> "MemoryKind":
        """The same kind, when no action leaves a memory as it is."""

    @property
    def has_no_op(self) -> bool:
        return self.action_names[-1] == "NO-OP"

    def using(self, no_op: bool) -> "MemoryKind":
        """The same kind, with NO-OP or without."""
        if no_op and not self.has_no_op:
            raise ValueError(
                f"Argument `no_op` cannot be True: {self.plural} have the actions "
                f"{', '.join(self.action_names)} and no NO-OP."
            )
        return self if no_op or not self.has_no_op else self.without_no_op()

    # What the actions do.

    @abc.abstractmethod
    def moves(self, value: Tensor, rows: Tensor, head: Count) -> list:
        """What each action alone would leave."""

    @abc.abstractmethod
    def value_back(
        self, weights: Sequence[Tensor], gradient: Tensor, value: Tensor, rows: Tensor, head: Count
    ) -> Tensor:
        """The gradient of the value written, of that of the rows afterwards."""

    @abc.abstractmethod
    def rows_back(
        self, weights: Sequence[Tensor], gradient: Tensor, value: Tensor, rows: Tensor, head: Count
    ) -> Tensor:
        """The gradient of the rows, of that of the rows afterwards."""

    @abc.abstractmethod
    def lost(self, weights: Sequence[Tensor], rows: Tensor, numbers: int) -> Tensor:
        """How many elements the next move takes past an end, `[…, 1, memories' lanes]`.

        Args:
            weights: Of each action, `[…, 1, memories' lanes]`.
            rows: The rows before it, `[…, rows, numbers * memories' lanes]`.
            numbers: How many numbers a row has.
        """

    @abc.abstractmethod
    def role(self, action: str) -> str:
        """What an action is in pictures: `adds`, `takes`, goes `left` or `right`, `changes` or
        `stays`."""

    @abc.abstractmethod
    def writes(self, action: str) -> bool:
        """Whether an action writes the value somewhere."""

    @abc.abstractmethod
    def has_no_effect_on_empty(self, action: str, only_head: bool) -> bool:
        """Whether an action leaves an empty memory as it is.

        Args:
            action: The action's name.
            only_head: Whether the head is all that is known to be empty.
        """

    # Where things are.

    @property
    def has_two_sides(self) -> bool:
        """Whether there are elements on both sides of the head, which is then in the middle."""
        return False

    def head(self, rows: Count) -> Count:
        """The head's row, in a whole memory of so many rows."""
        return rows // 2 if self.has_two_sides else 0

    def places(self, depth: int) -> list[int]:
        """How far from the head the `depth` elements lie that are read, in order.

        Two-sided: the head, then left, right, left, … The paper leaves this open. Left comes first
        because INSERT moves the old head there: the head and its left neighbour are then to a list
        what the two top-most elements are to a stack.
        """
        if not self.has_two_sides:
            return list(range(depth))
        return [i // 2 if i % 2 == 0 else -(i + 1) // 2 for i in range(depth)]

    def within_reach(self, rows: int, reach: int) -> tuple[int, int]:
        """The rows, as a slice, that come to the head or its readers within `reach` moves."""
        head = self.head(rows)
        return max(0, head - reach), min(rows, head + reach + 1)

    def grown(self, rows: Count, steps: Count) -> Count:
        """How many rows hold all that `steps` moves can make of `rows`."""
        return rows + (2 if self.has_two_sides else 1) * steps

    def embed(self, rows: Tensor, count: Count) -> Tensor:
        """Adds empty rows, where they change nothing, until there are `count`."""
        before = self.head(count) - self.head(row_count(rows))
        return padded(rows, before, count - row_count(rows) - before, EMPTY)

    def trimmed(self, rows: Count, occupied: Tensor, read_depth: int) -> tuple[Tensor, Tensor]:
        """The smallest slice of so many rows with all `occupied` ones that is a whole memory."""
        head = self.head(rows)
        distance = ops.abs(ops.arange(rows) - head)
        margin = ops.max(ops.where(occupied, distance, 0))
        margin = ops.maximum(margin, max(abs(place) for place in self.places(read_depth)))
        # Of an even number of rows the head is the first of the right half.
        return ops.maximum(head - margin, 0), ops.minimum(head + margin + 1, rows)

    # Rounded, and on paper.

    @abc.abstractmethod
    def pointers(self, elements: Tensor, marks: Tensor | None) -> Any:
        """A memory as arrays and pointers: see `pointers.py`.

        Args:
            elements: `[lanes, rows]`.
            marks: The same of the rows' marks, a lane for each of the elements'; `None` without.
        """

    @abc.abstractmethod
    def served(self, layout: Any, rows: Tensor, steps: Count, piled: bool) -> Any:
        """What is in `rows`, `[rows, lanes]`, in a graph that is not compiled: see `served.py`."""

    @abc.abstractmethod
    def served_moves(self, memory: Any, value: Tensor) -> tuple[list, object]:
        """What each action alone would leave of a `served.Rows`, and what none would."""

    @abc.abstractmethod
    def simulation(self, capacity: int | None) -> Any:
        """An empty memory with hard actions, in plain Python: see `simulation.py`."""

    def standalone(self) -> tuple[str, tuple]:
        """The class in `standalone.py` that does the same, and what it is made with."""
        raise ValueError(f"There is no program that stands alone for {self.plural}.")

    @property
    def head_is_on_pile(self) -> bool:
        """Whether this is a stack and nothing else, as an automaton with one has it."""
        return False

    # How a page moves its elements, if it knows how: see playground/page/contents.js.
    drawn_as: ClassVar[str | None] = None

    @property
    def shape(self) -> str:
        """What a page draws: a `column`, a `ribbon` with a head in its middle, or a `pipe`."""
        return "ribbon" if self.has_two_sides else "column"

    def picture(self) -> dict:
        """What a page needs to redraw its contents from the actions taken, fit for JSON."""
        return {
            "name": self.name,
            "plural": self.plural,
            "head_word": self.head_word,
            "place_word": self.place_word,
            "shape": self.shape,
            "drawn_as": self.drawn_as,
            "actions": [
                {"name": name, "role": self.role(name), "writes": self.writes(name), **moves}
                for name, moves in zip(self.action_names, self.moves_in_words(), strict=True)
            ],
        }

    def moves_in_words(self) -> list[dict]:
        """What each action does, in the words of the way in which the kind is drawn."""
        return [{} for _ in self.action_names]

    def description(self) -> dict | str:
        """What `memories.get` makes the same kind of, fit for JSON."""
        return self.name
