"""The fine table: classes of values so narrow that all of a class lead to the same.

A machine is built while it reads. Where it has no row, the network is asked what it does with the
elements that stand for the classes seen; what it writes belongs to the class whose element is near,
or begins a new one. Whether that table is the network is for the certificate to say.
"""

import dataclasses
from collections.abc import Iterable

import numpy as np

from keras_stackrnn.extract.lessons import Lesson
from keras_stackrnn.extract.machine import Key, Machine, Row, Run
from keras_stackrnn.extract.network import Network
from keras_stackrnn.memories.soft import EMPTY

MOST_ROWS = 5000
MOST_STATES = 200


class TooManyRowsError(ValueError):
    """Values of no few classes are written, or what is seen together differs too often."""


@dataclasses.dataclass(frozen=True)
class FineTable:
    """A table and what stands behind it.

    Attributes:
        machine: The table; its predictions are those of the network at the classes' elements.
        elements: For each memory the element that stands for each class, `[classes, numbers]`.
        scored: The rows whose prediction is scored somewhere, and the tokens that are right there.
        starts: The rows that a text begins with.
        ends: The rows that a sequence ends with.
        follows: Which row was taken after which.
    """

    machine: Machine
    elements: tuple[np.ndarray, ...]
    scored: dict[Key, set[int]]
    starts: dict[Key, None]
    ends: dict[Key, None]
    follows: dict[tuple[Key, Key], None]


def build(
    network: Network,
    batches: Iterable[list[Lesson]],
    width: float,
    state_width: float = 1.0,
    most_states: int = MOST_STATES,
) -> FineTable:
    """Reads batch after batch until one brings no new row.

    Args:
        network: The network.
        batches: What is read.
        width: How far values of one class may be apart.
        state_width: How far apart what hidden units of one state tell the next step may be.
        most_states: How many states there may be.
    """
    builder = _Builder(network, width, state_width, most_states)
    for batch in batches:
        before = len(builder.machine.rows)
        for lesson in batch:
            builder.read(lesson)
        if len(builder.machine.rows) == before:
            break
    return builder.table()


class _Builder:
    def __init__(self, network, width, state_width, most_states):
        self._network = network
        self._width = width
        self._state_width = state_width
        self._told = []
        self._most_states = most_states
        names = network.memory_names
        self._elements = [[] for _ in names]
        self.machine = Machine(
            network.vocabulary, network.kinds, names, network.places, ((),) * len(names), {}
        )
        self._scored = {}
        self._starts = {}
        self._ends = {}
        self._follows = {}

    def read(self, lesson):
        run, earlier = _AskingRun(self.machine, self._ask), None
        ends = set(lesson.ends)
        for place, (token, target) in enumerate(zip(lesson.tokens, lesson.targets, strict=True), 1):
            key, _ = run.step(token)
            if target >= 0:
                self._scored.setdefault(key, set()).add(target)
            if place in ends:
                self._ends[key] = None
            if earlier is None:
                self._starts[key] = None
            else:
                self._follows[earlier, key] = None
            earlier = key

    def _ask(self, key):
        network = self._network
        seen = [
            network.empty[memory] if number == EMPTY else self._elements[memory][number]
            for (memory, _), number in zip(self.machine.places, key.seen, strict=True)
        ]
        carried = np.array(seen[-1:] if network.carried else [[]])
        read = np.array(seen[:-1] if network.carried else seen).reshape(
            1, network.memories, network.read_depth, network.element_size
        )
        step = network.step(np.array([key.token]), read, carried)
        actions = tuple(network.kind.action_names[action] for action in step.actions[0])
        writes = tuple(
            self._class_of(memory, step.values[0, memory]) if network.kind.writes(action) else None
            for memory, action in enumerate(actions)
        )
        if network.carried:
            actions += ("WRITE",)
            writes += (self._state_of(step.hidden[0]),)
        row = Row(actions, writes, int(step.prediction[0]))
        self.machine.rows[key] = row
        if len(self.machine.rows) > MOST_ROWS:
            raise TooManyRowsError(
                f"There are too many classes for a table: more than {MOST_ROWS:,} rows with values "
                f"of a class at most {self._width:g} apart."
            )
        return row

    def _class_of(self, memory, value):
        elements = self._elements[memory]
        return _nearest(elements, value, elements, value, self._width)

    def _state_of(self, hidden):
        """Hidden units are alike that tell the next step alike."""
        told, elements = self._network.told(hidden), self._elements[-1]
        state = _nearest(self._told, told, elements, hidden, self._state_width)
        if state == len(self._told):
            self._told.append(told)
        if len(elements) > self._most_states:
            raise TooManyRowsError(
                f"There are too many states for a table: more than {self._most_states:,} where "
                f"those of one state tell the next step at most {self._state_width:g} apart."
            )
        return state

    def table(self):
        elements = tuple(
            np.array(each).reshape(-1, len(empty))
            for each, empty in zip(self._elements, self._network.empty, strict=True)
        )
        names = [
            tuple(",".join(f"{number:.3f}" for number in element) for element in of_memory)
            for of_memory in elements[: self._network.memories]
        ]
        if self._network.carried:
            names.append(tuple(f"s{number + 1}" for number in range(len(elements[-1]))))
        names = tuple(names)
        machine = dataclasses.replace(self.machine, classes=names)
        return FineTable(machine, elements, self._scored, self._starts, self._ends, self._follows)


def _nearest(known, value, elements, element, width):
    """The number of the nearest of those known, or a new one where none is near enough."""
    if known:
        distances = abs(np.array(known) - value).max(axis=1)
        nearest = int(distances.argmin())
        if distances[nearest] <= width / 2:
            return nearest
    elements.append(element)
    return len(elements) - 1


class _AskingRun(Run):
    """A run that has rows made where there are none."""

    def __init__(self, machine, ask):
        super().__init__(machine)
        self._ask = ask

    def row_of(self, key):
        row = self._machine.rows.get(key)
        return self._ask(key) if row is None else row
