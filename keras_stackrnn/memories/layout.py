"""How a cell's memories lie in tensors: their kind, how much is read, how large elements are."""

import dataclasses
from collections.abc import Sequence

from keras import ops

from keras_stackrnn.memories.kind import MemoryKind
from keras_stackrnn.memories.soft import mix, padded, total
from keras_stackrnn.types import Count, Tensor


@dataclasses.dataclass(frozen=True)
class MemoryLayout:
    """All that decides how memories move and what of them is read.

    A row of a memory has `numbers` numbers: those of its element and, with some kinds, a mark.
    The numbers are lanes, all memories' first ones first; one action moves all of them.

    Attributes:
        kind: The kind, with just those actions that are in use.
        read_depth: How many elements of each memory are read.
        element_size: How many numbers an element has.
    """

    kind: MemoryKind
    read_depth: int
    element_size: int = 1

    @property
    def actions(self) -> tuple[str, ...]:
        return self.kind.action_names

    @property
    def numbers(self) -> int:
        return self.element_size + self.kind.marks

    @property
    def controls(self) -> int:
        """How many numbers decide about each memory: all actions' weights but the last one's,
        which takes what they leave over, and the element written."""
        return len(self.actions) - 1 + self.element_size

    def head(self, rows: Count) -> Count:
        return self.kind.head(rows)

    def spread(self, weights: Sequence[Tensor]) -> list:
        """Each action's weight, `[…, lanes]`, for all numbers of a row."""
        if self.numbers == 1:
            return list(weights)
        # Not a tile, which XLA indexes by remainders.
        return [ops.concatenate([weight] * self.numbers, axis=-1) for weight in weights]

    def spread_elements(self, of_memories: Tensor) -> Tensor:
        """What there is for each memory, `[…, lanes]`, for all numbers of its elements."""
        if self.element_size == 1:
            return of_memories
        return ops.concatenate([of_memories] * self.element_size, axis=-1)

    def act(self, weights: Sequence[Tensor], value: Tensor, rows: Tensor, head: Count) -> Tensor:
        """The rows after the actions.

        Args:
            weights: Of each action, `[…, 1, memories' lanes]`.
            value: The elements written, `[…, 1, element_size * memories' lanes]`.
            rows: `[…, rows, numbers * memories' lanes]`.
            head: The head's row.
        """
        return mix(self.spread(weights), self.kind.moves(value, rows, head))

    def rows_back(
        self, weights: Sequence[Tensor], gradient: Tensor, value: Tensor, rows: Tensor, head: Count
    ) -> Tensor:
        return self.kind.rows_back(self.spread(weights), gradient, value, rows, head)

    def value_back(
        self, weights: Sequence[Tensor], gradient: Tensor, value: Tensor, rows: Tensor, head: Count
    ) -> Tensor:
        return self.kind.value_back(self.spread(weights), gradient, value, rows, head)

    def weights_back(self, sums: Sequence[Tensor]) -> list:
        """The gradients of the actions' weights, of those that each number of a row sees."""
        if self.numbers == 1:
            return list(sums)
        return [total(ops.split(each, self.numbers, axis=-1)) for each in sums]

    def lost(self, weights: Sequence[Tensor], rows: Tensor) -> Tensor:
        return self.kind.lost(weights, rows, self.numbers)

    def read(self, rows: Tensor, head: Count) -> Tensor:
        """The elements that are read, in order, `[…, read_depth, element_size * lanes]`."""
        elements = self.elements(rows)
        places = self.kind.places(self.read_depth)
        if places == list(range(self.read_depth)):
            return elements[..., head : head + self.read_depth, :]
        return ops.concatenate(
            [elements[..., head + at : head + at + 1, :] for at in places], axis=-2
        )

    def read_back(self, gradient: Tensor, head: Count, rows: Count) -> Tensor:
        """Puts the gradient of what was read back to its rows."""
        places = self.kind.places(self.read_depth)
        order = sorted(range(self.read_depth), key=places.__getitem__)
        gradient = ops.concatenate([gradient[..., i : i + 1, :] for i in order], axis=-2)
        above = head + places[order[0]]
        return padded(self._with_marks(gradient), above, rows - above - self.read_depth, 0.0)

    def elements(self, rows: Tensor) -> Tensor:
        """The rows without marks."""
        if not self.kind.marks:
            return rows
        return rows[..., : ops.shape(rows)[-1] // self.numbers * self.element_size]

    def _with_marks(self, gradient):
        if not self.kind.marks:
            return gradient
        lanes = ops.shape(gradient)[-1] // self.element_size * self.kind.marks
        return ops.pad(gradient, [(0, 0)] * (len(gradient.shape) - 1) + [(0, lanes)])

    def within_reach(self, rows: Count, reach: Count) -> tuple[Count, Count]:
        return self.kind.within_reach(rows, reach)

    def grown(self, rows: Count, steps: Count) -> Count:
        return self.kind.grown(rows, steps)

    def embed(self, rows: Tensor, count: Count) -> Tensor:
        return self.kind.embed(rows, count)

    def trimmed(self, rows: Count, occupied: Tensor) -> tuple[Tensor, Tensor]:
        return self.kind.trimmed(rows, occupied, self.read_depth)
