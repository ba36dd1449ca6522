"""The machine that a network has learned: a table, and memories that hold names of classes.

It runs by itself, at a constant cost a symbol. A row says what to do at a symbol, given the classes
of the elements that are seen: an action of each memory, the class that is written, what comes next.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from keras_stackrnn.memories import MemoryKind
from keras_stackrnn.memories.soft import EMPTY
from keras_stackrnn.memories.zipper import NO_OP, VALUE, Action, Zipper

# What a network with a recurrent kernel carries from one symbol to the next, as one more memory:
# written at each symbol, and seen at the one after. Before the first it is empty.
REGISTER = Zipper("state", (Action("WRITE", 0, 0, VALUE), NO_OP), head_word="before")


class Key(NamedTuple):
    """What decides: the token id and the classes seen.

    The classes are in the order of `Machine.places`; an empty slot is `EMPTY`.
    """

    token: int
    seen: tuple[int, ...]


class Row(NamedTuple):
    """What is done: an action of each memory, the class it writes (`None`: it writes nothing), and
    the token id that comes next (`None`: undetermined)."""

    actions: tuple[str, ...]
    writes: tuple[int | None, ...]
    prediction: int | None


class UnknownRowError(Exception):
    """A text has led to something that is in no row of the table."""


@dataclasses.dataclass(frozen=True)
class Machine:
    """A table that runs.

    Attributes:
        vocabulary: The symbols.
        kinds: Each memory's kind; what hidden units carry on is a memory, too: see `REGISTER`.
        memories: The memories' names.
        places: Which elements are seen: pairs of a memory's number and how many elements of it are
            read before this one.
        classes: For each memory the names of its classes.
        rows: The table.
        guard: A finer machine that reads along: what is unknown to it is unknown here, too.
    """

    vocabulary: tuple[str, ...]
    kinds: tuple[MemoryKind, ...]
    memories: tuple[str, ...]
    places: tuple[tuple[int, int], ...]
    classes: tuple[tuple[str, ...], ...]
    rows: dict[Key, Row]
    guard: "Machine | None" = None

    def run(self, text: str | Sequence[str]) -> list[str | None]:
        """What comes after each symbol of a text, `None` where that is undetermined.

        Raises `UnknownRowError` at the first symbol that leads to no row of the table.

        Example:

        ```python
        machine.run("aaabbb")  # [None, None, None, "b", "b", "a"]
        ```
        """
        return [
            None if row.prediction is None else self.vocabulary[row.prediction]
            for row in self.steps(text)
        ]

    def steps(self, text: str | Sequence[str]) -> Iterator[Row]:
        """The rows that a text leads to, one after another."""
        run = Run(self)
        for symbol in split(text, self.vocabulary):
            if symbol not in self.tokens:
                known = " ".join(self.vocabulary)
                raise ValueError(
                    f"Unknown symbol in the text: expected one of {known}, got {symbol!r}."
                )
            yield run.step(self.tokens[symbol])[1]

    @property
    def tokens(self) -> dict[str, int]:
        return {symbol: token for token, symbol in enumerate(self.vocabulary)}

    def class_name(self, memory: int, number: int) -> str:
        """What a class is called in tables and pictures."""
        return "empty" if number == EMPTY else self.classes[memory][number]

    def words_of(self, key: Key) -> str:
        """A key in words, as in `symbol b, stack1 sees mark, empty`."""
        words = [f"symbol {self.vocabulary[key.token]}"]
        for memory, name in enumerate(self.memories):
            seen = [
                self.class_name(memory, number)
                for (of, _), number in zip(self.places, key.seen, strict=True)
                if of == memory
            ]
            if seen:
                words.append(f"{name} sees {' '.join(seen)}")
        return ", ".join(words)


class Run:
    """A machine in the middle of a text."""

    def __init__(self, machine: Machine):
        self._machine = machine
        self._memories = [kind.simulation(None) for kind in machine.kinds]
        self._depths = [
            max((place + 1 for of, place in machine.places if of == memory), default=0)
            for memory in range(len(machine.memories))
        ]
        self._steps = 0
        self._guard = machine.guard and Run(machine.guard)

    def key(self, token: int) -> Key:
        """What a symbol would find."""
        seen = [
            memory.read(depth) if depth else []
            for memory, depth in zip(self._memories, self._depths, strict=True)
        ]
        places = self._machine.places
        return Key(token, tuple([seen[memory][place] for memory, place in places]))

    def step(self, token: int) -> tuple[Key, Row]:
        """Reads a symbol."""
        if self._guard:
            self._guard.step(token)
        key = self.key(token)
        row = self.row_of(key)
        for memory, action, number in zip(self._memories, row.actions, row.writes, strict=True):
            memory.act(action, number)
        self._steps += 1
        return key, row

    def row_of(self, key: Key) -> Row:
        """The row for what was found."""
        row = self._machine.rows.get(key)
        if row is None:
            raise UnknownRowError(
                f"The table has no row for what symbol {self._steps + 1} of the text finds: "
                f"{self._machine.words_of(key)}."
            )
        return row


def split(text: str | Sequence[str], vocabulary: Sequence[str]) -> Sequence[str]:
    """The symbols of a text: its characters, or its words where some symbols are longer."""
    if isinstance(text, str) and any(len(symbol) > 1 for symbol in vocabulary):
        return text.split()
    return text
