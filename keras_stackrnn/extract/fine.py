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


def build(network: Network, batches: Iterable[list[Lesson]], width: float) -> FineTable:
    """Reads batch after batch until one brings no new row.

    Args:
        network: The network.
        batches: What is read.
        width: How far values of one class may be apart.
    """
    builder = _Builder(network, width)
    for batch in batches:
        before = len(builder.machine.rows)
        for lesson in batch:
            builder.read(lesson)
        if len(builder.machine.rows) == before:
            break
    return builder.table()


class _Builder:
    def __init__(self, network, width):
        self._network = network
        self._width = width
        self._elements = [[] for _ in range(network.memories)]
        places = tuple(
            (memory, place)
            for memory in range(network.memories)
            for place in range(network.read_depth)
        )
        names = ((),) * network.memories
        self.machine = Machine(
            network.vocabulary, network.kind, network.memory_names, places, names, {}
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
        seen = np.array(
            [
                network.empty if number == EMPTY else self._elements[memory][number]
                for (memory, _), number in zip(self.machine.places, key.seen, strict=True)
            ]
        ).reshape(1, network.memories, network.read_depth, network.element_size)
        step = network.step(np.array([key.token]), seen)
        actions = tuple(network.kind.action_names[action] for action in step.actions[0])
        writes = tuple(
            self._class_of(memory, step.values[0, memory]) if network.kind.writes(action) else None
            for memory, action in enumerate(actions)
        )
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
        distances = [float(abs(element - value).max()) for element in elements]
        nearest = min(range(len(elements)), key=distances.__getitem__, default=None)
        if nearest is not None and distances[nearest] <= self._width / 2:
            return nearest
        elements.append(value)
        return len(elements) - 1

    def table(self):
        shape = (-1, self._network.element_size)
        elements = tuple(np.array(each).reshape(shape) for each in self._elements)
        names = tuple(
            tuple(",".join(f"{number:.3f}" for number in element) for element in of_memory)
            for of_memory in elements
        )
        machine = dataclasses.replace(self.machine, classes=names)
        return FineTable(machine, elements, self._scored, self._starts, self._ends, self._follows)


class _AskingRun(Run):
    """A run that has rows made where there are none."""

    def __init__(self, machine, ask):
        super().__init__(machine)
        self._ask = ask

    def row_of(self, key):
        row = self._machine.rows.get(key)
        return self._ask(key) if row is None else row
