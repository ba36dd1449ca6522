"""The record of one text: what was read, what was predicted, what each memory did."""

import dataclasses
import functools
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_stackrnn.memories import MemoryKind
from keras_stackrnn.memories.soft import EMPTY
from keras_stackrnn.trace.replay import Replay, replay

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclasses.dataclass(frozen=True, eq=False)
class MemoryTrace:
    """One memory over T symbols.

    Attributes:
        name: `stack1`, `stack2`, …, `list1`, …, counted through all layers.
        kind: The kind of memory, with just the A actions that are in use.
        weights: `[T, A]`, the weight of each action; 0 or 1 where they are rounded.
        values: `[T]`, the value that is there to be written.
        tops: `[T, depth]` after the symbol: the elements nearest to the head, in the order in
            which they are read. An empty slot is -1. Of elements of several numbers this and
            `values` are the mean.
        capacity: How many elements it holds; `None`: as many as there are.
        backwards: Whether it met the symbols in reverse, as in half of a `Bidirectional` layer.
        vectors: `[T, depth, numbers]`, the `tops` of elements of several numbers; else `None`.
    """

    name: str
    kind: MemoryKind
    weights: np.ndarray
    values: np.ndarray
    tops: np.ndarray
    capacity: int | None = None
    backwards: bool = False
    vectors: np.ndarray | None = None

    @classmethod
    def of_elements(cls, *, values: np.ndarray, tops: np.ndarray, **others: Any) -> "MemoryTrace":
        """A memory's trace, from `values` `[T, numbers]` and `tops` `[T, depth, numbers]`."""
        if values.shape[1] == 1:
            return cls(values=values[:, 0], tops=tops[..., 0], **others)
        return cls(values=values.mean(axis=1), tops=tops.mean(axis=2), vectors=tops, **others)

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of its actions."""
        return self.kind.action_names

    @functools.cached_property
    def taken(self) -> list[str]:
        """The most probable action at each symbol."""
        return [self.actions[action] for action in self.weights.argmax(axis=1)]

    def was_written(self, step: int) -> bool:
        """Whether an action that writes was the most probable at a symbol, or before it."""
        first = self._first_write
        if first is None:
            return False
        return step <= first if self.backwards else step >= first

    @functools.cached_property
    def _first_write(self) -> int | None:
        writes = np.flatnonzero([self.kind.writes(action) for action in self.taken])
        if not len(writes):
            return None
        return int(writes[-1] if self.backwards else writes[0])

    @property
    def offsets(self) -> list[int]:
        """How far from the head the columns of `tops` lie."""
        return self.kind.places(self.tops.shape[1])

    @property
    def contents(self) -> np.ndarray:
        """`[T, rows]`: the whole memory after each symbol, the top or the left end first.

        There are as many rows as ever hold something. A head that has elements on both sides is in
        the middle.
        """
        return self._replay.contents

    @functools.cached_property
    def lost(self) -> float:
        """How many elements went past an end."""
        if self.capacity is None:
            return 0.0
        return float(self._simulated(1)[1]) if self.is_rounded else self._replay.lost

    @functools.cached_property
    def is_rounded(self) -> bool:
        """Whether every action was taken wholly or not at all."""
        return bool(np.isin(self.weights, (0, 1)).all())

    def with_depth(self, depth: int) -> "MemoryTrace":
        """The same with so many elements in `tops`."""
        if self.is_rounded:
            tops, _ = self._simulated(depth)
        else:
            tops = nearest(self.contents, self.kind, depth)
        return dataclasses.replace(self, tops=tops, vectors=None)

    def _simulated(self, depth: int) -> tuple[np.ndarray, int]:
        """The first elements after each symbol, and how many were lost, with hard actions."""
        order = slice(None, None, -1 if self.backwards else 1)
        memory = self.kind.simulation(self.capacity)
        tops = np.full((len(self.taken), depth), EMPTY, "float32")
        done = zip(self.taken[order], self.values[order].tolist(), strict=True)
        for step, (action, value) in enumerate(done):
            memory.act(action, value)
            tops[step] = memory.read(depth)
        return tops[order], memory.lost

    @functools.cached_property
    def _replay(self) -> Replay:
        [done] = replays([self])
        return done


@dataclasses.dataclass(frozen=True, eq=False)
class StateTrace:
    """The discrete states of one second-order layer over T symbols.

    Attributes:
        name: `state1`, `state2`, …, counted through all layers.
        probabilities: `[T, units]`, those of each state after the symbol.
    """

    name: str
    probabilities: np.ndarray

    @functools.cached_property
    def taken(self) -> list[int]:
        """The most probable state after each symbol."""
        return self.probabilities.argmax(axis=1).tolist()


@dataclasses.dataclass(frozen=True, eq=False)
class Trace:
    """What happened at each of T symbols.

    Attributes:
        symbols: The T symbols read.
        upcoming: The symbol after each of them; `None` where none is known.
        deterministic: `[T]`, whether `upcoming` can be predicted; `None`: nobody said.
        vocabulary: The V symbols that are predicted; of a model with answers, these.
        probabilities: `[T, V]` of the next symbol, or of the answer; NaN where the model predicts
            nothing.
        memories: A `MemoryTrace` for each memory, the first layer's first.
        rounded: Whether actions were rounded.
        title: What was traced, in a few words.
        forced: Which actions were forced, in a few words; empty if none.
        asked: `[T]`, the places where an answer or a label is asked; `None`: the model predicts
            the next symbol.
        states: A `StateTrace` for each layer whose controller has discrete states.
    """

    symbols: tuple[str, ...]
    upcoming: tuple[str | None, ...]
    deterministic: np.ndarray | None
    vocabulary: tuple[str, ...]
    probabilities: np.ndarray
    memories: tuple[MemoryTrace, ...]
    rounded: bool
    title: str
    forced: str = ""
    asked: np.ndarray | None = None
    states: tuple[StateTrace, ...] = ()

    @property
    def answers(self) -> tuple[str | None, ...]:
        """What the model answers, place by place; nothing if it predicts next symbols."""
        if self.asked is None:
            return ()
        return tuple(self.predictions[step] for step in np.flatnonzero(self.asked))

    @functools.cached_property
    def predictions(self) -> tuple[str | None, ...]:
        """The most probable next symbol, at each symbol."""
        return tuple(
            None if np.isnan(row[0]) else self.vocabulary[row.argmax()]
            for row in self.probabilities
        )

    @functools.cached_property
    def next_probabilities(self) -> np.ndarray:
        """`[T]`: the probability of the symbol that really came; NaN where there is none."""
        places = {symbol: place for place, symbol in enumerate(self.vocabulary)}
        pairs = zip(self.probabilities, self.upcoming, strict=True)
        return np.array([np.nan if s is None else row[places[s]] for row, s in pairs])

    def is_wrong(self, step: int) -> bool:
        """Whether another symbol came than was predicted."""
        prediction, upcoming = self.predictions[step], self.upcoming[step]
        return None not in (prediction, upcoming) and prediction != upcoming

    def is_deterministic(self, step: int) -> bool:
        """Whether the next symbol is known to be predictable."""
        return self.deterministic is not None and bool(self.deterministic[step])

    def memory(self, name: str) -> MemoryTrace:
        """The memory of that name."""
        for memory in self.memories:
            if memory.name == name:
                return memory
        names = ", ".join(memory.name for memory in self.memories)
        raise ValueError(f"There is no memory {name!r}: expected one of {names}.")

    def rows(self) -> list[dict]:
        """A flat dict for each symbol, fit for `csv` or a data frame.

        Keys are `symbol`, `next`, `deterministic`, `prediction`, `probability` (of the prediction),
        `next_probability`; of discrete states `state1`, the most probable one, and
        `state1.probability`; and for each memory `stack1.action`, `stack1.PUSH`, `stack1.POP`,
        `stack1.value`, `stack1[0]` (the top), `stack1[1]`, …
        """
        from keras_stackrnn.trace.rows import rows_of

        return rows_of(self)

    def to_text(self, width: int | None = None, colors: bool = False) -> str:
        """The table for a terminal.

        Args:
            width: Columns of the terminal; `None`: as many as the table needs.
            colors: Whether to use a terminal's colours and bold letters. Without, predictable
                symbols are in square brackets.
        """
        from keras_stackrnn.trace.table import table_of

        return table_of(self, width, colors)

    def to_csv(self, path: str | os.PathLike | None = None) -> str:
        """The rows as CSV, also written to `path` if there is one."""
        from keras_stackrnn.trace.rows import csv_of

        return _written(csv_of(self), path)

    def to_html(self, path: str | os.PathLike | None = None) -> str:
        """A page to step through, in one file, also written to `path` if there is one."""
        from keras_stackrnn.trace.page import page_of

        return _written(page_of(self), path)

    def plot(
        self,
        path: str | os.PathLike | None = None,
        kind: str = "actions",
        memory: str | None = None,
    ) -> "Figure":
        """Draws a figure.

        Args:
            path: A `.png` or `.svg` file to write it to; the same trace gives the same bytes.
            kind: `"actions"`, what was done to each memory at each symbol; `"memory"`, one memory
                filling and emptying; `"probabilities"` of the next symbol.
            memory: The memory's name for `"memory"`; may be left out where there is but one.

        Returns:
            The `matplotlib.figure.Figure`.
        """
        from keras_stackrnn.trace import figures

        figure = figures.draw(self, kind, memory)
        if path is not None:
            figures.save(figure, path)
        return figure


def replays(memories: Sequence[MemoryTrace]) -> list[Replay]:
    """What all memories held: those that are alike together, which is much faster."""
    alike: dict[tuple, list[int]] = {}
    for place, memory in enumerate(memories):
        key = (memory.kind, memory.capacity, memory.backwards)
        alike.setdefault(key, []).append(place)
    found = {}
    for (kind, capacity, backwards), places in alike.items():
        order = slice(None, None, -1 if backwards else 1)
        weights = np.stack([memories[place].weights[order] for place in places], axis=2)
        values = np.stack([memories[place].values[order] for place in places], axis=1)
        for place, done in zip(places, replay(kind, weights, values, capacity), strict=True):
            found[place] = done._replace(contents=done.contents[order])
    return [found[place] for place in range(len(memories))]


def nearest(contents: np.ndarray, kind: MemoryKind, depth: int) -> np.ndarray:
    """The first `depth` elements of memories in the order in which they are read.

    Args:
        contents: `[memories, rows]`.
        kind: The kind of memory.
        depth: How many; beyond the ends there are empty ones.
    """
    wider = np.pad(contents, [(0, 0), (depth, depth)], constant_values=EMPTY)
    head = depth + kind.head(contents.shape[1])
    return wider[:, [head + place for place in kind.places(depth)]]


def _written(text: str, path) -> str:
    if path is not None:
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    return text
