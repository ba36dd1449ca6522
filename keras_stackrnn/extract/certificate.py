"""The certificate: that a table and its network are the same, by interval arithmetic.

By induction over the symbols of a text: if every element in the network's memories lies within the
box of its class, then at a known row the network takes the row's actions, since they lead for all
that the boxes hold, and what it writes lies within the box of the class written. Predictions that
lead in the same way are the network's. Bounds hold for float32 sums in any order: see intervals.py.
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from keras_stackrnn.extract.fine import FineTable
from keras_stackrnn.extract.machine import Key, Machine
from keras_stackrnn.extract.network import Network
from keras_stackrnn.memories.soft import EMPTY

_MOST_ROUNDS = 60
# Boxes grow a little more than they have to: they then stop growing after a few rounds.
_SURPLUS = 0.25


class Fault(NamedTuple):
    """Why a row fails, and by how much."""

    key: Key
    what: str
    margin: float


@dataclasses.dataclass(frozen=True)
class Certificate:
    """What was proved of a table.

    Attributes:
        machine: The table; only predictions that are certain are in it, and those that are scored,
            which are a fault where they are not certain.
        low: For each memory the boxes' lower corners, `[classes, numbers]`.
        high: The upper corners.
        faults: Where it fails, the worst first; none if it holds.
        margin: By how much every action leads at least, beyond all errors.
        predictions: What is predicted at each row; `None` where that is neither certain nor scored.
    """

    machine: Machine
    low: tuple[np.ndarray, ...]
    high: tuple[np.ndarray, ...]
    faults: tuple[Fault, ...]
    margin: float
    predictions: dict[Key, int | None]

    @property
    def holds(self) -> bool:
        return not self.faults

    @property
    def width(self) -> float:
        """The width of the widest box."""
        widths = [
            float((h - lo).max()) for lo, h in zip(self.low, self.high, strict=True) if lo.size
        ]
        return max(widths, default=0.0)


def certify(network: Network, table: FineTable) -> Certificate:
    """Finds boxes that a step maps into themselves, and checks every row over all of them."""
    rows = _Rows(network, table)
    low, high = rows.closed_boxes()
    return rows.checked(low, high)


class _Rows:
    """The rows of a table as arrays."""

    def __init__(self, network, table):
        self._network = network
        self._table = table
        machine = table.machine
        self.keys = list(machine.rows)
        rows = list(machine.rows.values())
        self.tokens = np.array([key.token for key in self.keys])
        seen = np.array([key.seen for key in self.keys]).astype(int)
        read = network.memories * network.read_depth
        self.seen = seen[:, :read].reshape(len(rows), network.memories, network.read_depth)
        self.states = seen[:, read:]
        names = network.kind.action_names
        self.actions = np.array(
            [[names.index(each) for each in row.actions[: network.memories]] for row in rows]
        )
        self.writes = np.array(
            [[-1 if number is None else number for number in row.writes] for row in rows]
        )
        self.predictions = np.array([row.prediction for row in rows])

    def closed_boxes(self):
        low = [each.copy() for each in self._table.elements]
        high = [each.copy() for each in self._table.elements]
        for _ in range(_MOST_ROUNDS):
            bounds = self._bounds(low, high)
            if not self._grow(bounds, low, high):
                break
        return low, high

    def _grow(self, bounds, low, high):
        """Enlarges the boxes to what is written in them; whether there was need to."""
        grew = False
        for memory in range(len(low)):
            of_low, of_high = self._written(bounds, memory)
            for number in range(len(low[memory])):
                written = self.writes[:, memory] == number
                if not written.any():
                    continue
                least = of_low[written].min(axis=0)
                most = of_high[written].max(axis=0)
                below, above = low[memory][number] - least, most - high[memory][number]
                if max(below.max(), above.max()) > 0:
                    grew = True
                    low[memory][number] -= np.maximum(below, 0) * (1 + _SURPLUS)
                    high[memory][number] += np.maximum(above, 0) * (1 + _SURPLUS)
        return grew

    def _written(self, bounds, memory):
        """Bounds of what a memory is given: a value, or the hidden units."""
        if memory == self._network.memories:
            return bounds.hidden_low, bounds.hidden_high
        return bounds.low[:, memory], bounds.high[:, memory]

    def _bounds(self, low, high):
        return self._network.bounds(
            self.tokens,
            self._boxes(low),
            self._boxes(high),
            (self._carried(low), self._carried(high)),
            self.actions,
            self.predictions,
        )

    def _carried(self, corners):
        """`[rows, carried units]`: the corners of the states."""
        network = self._network
        if not network.carried:
            return np.empty((len(self.keys), 0))
        return np.concatenate([corners[-1], network.empty[-1][None]])[self.states[:, 0]]

    def _boxes(self, corners):
        """`[rows, memories, read_depth, numbers]`: the corners of the classes seen."""
        network = self._network
        boxes = np.empty((*self.seen.shape, network.element_size))
        for memory in range(network.memories):
            # An empty slot, the last one here, is exactly what it is.
            of_classes = np.concatenate([corners[memory], network.empty[memory][None]])
            assert EMPTY == -1
            boxes[:, memory] = of_classes[self.seen[:, memory]]
        return boxes

    def checked(self, low, high):
        bounds = self._bounds(low, high)
        scored = self._table.scored
        faults = []
        for i, key in enumerate(self.keys):
            faults += self._faults_of(i, key, bounds, low, high)
            if key in scored and not bounds.lead_of_prediction[i] > 0:
                symbol = self._network.vocabulary[self.predictions[i]]
                margin = float(bounds.lead_of_prediction[i])
                faults.append(Fault(key, f"the prediction {symbol}", margin))
        ahead = bounds.lead_of_prediction > 0
        predictions = {
            key: int(self.predictions[i]) if ahead[i] or key in scored else None
            for i, key in enumerate(self.keys)
        }
        machine = self._table.machine
        rows = {key: row._replace(prediction=predictions[key]) for key, row in machine.rows.items()}
        return Certificate(
            dataclasses.replace(machine, rows=rows),
            tuple(low),
            tuple(high),
            tuple(sorted(faults, key=lambda fault: fault.margin)),
            float(bounds.lead.min()),
            predictions,
        )

    def _faults_of(self, i, key, bounds, low, high):
        names = self._network.kind.action_names
        for memory, name in enumerate(self._network.memory_names):
            if memory < self._network.memories:
                lead = float(bounds.lead[i, memory])
                if not lead > 0:
                    yield Fault(key, f"{names[self.actions[i, memory]]} of {name}", lead)
            number = self.writes[i, memory]
            if number < 0:
                continue
            written_low, written_high = self._written(bounds, memory)
            inside = min(
                float((written_low[i] - low[memory][number]).min()),
                float((high[memory][number] - written_high[i]).min()),
            )
            if not inside >= 0:
                yield Fault(key, f"staying in its class of what is written to {name}", inside)
