"""One rounded step of a trained model in plain NumPy, and bounds on the same in float32."""

import dataclasses
import itertools
from typing import NamedTuple

import numpy as np

from keras_stackrnn.extract import intervals
from keras_stackrnn.extract.machine import REGISTER
from keras_stackrnn.memories import MemoryKind
from keras_stackrnn.memories.soft import EMPTY


class Step(NamedTuple):
    """What one step does in exact arithmetic, for each of several rows."""

    actions: np.ndarray  # [rows, memories]
    values: np.ndarray  # [rows, memories, element_size]
    prediction: np.ndarray  # [rows]
    hidden: np.ndarray  # [rows, units]


class Bounds(NamedTuple):
    """What one step does in float32, for all that is read within boxes, a row each.

    Attributes:
        lead: `[rows, memories]`, by how much the action asked about leads the others at least.
        low: `[rows, memories, element_size]`, a lower bound of what is written.
        high: The same, an upper bound.
        lead_of_prediction: `[rows]`.
        hidden_low: `[rows, units]`, a lower bound of the hidden units.
        hidden_high: The same, an upper bound.
    """

    lead: np.ndarray
    low: np.ndarray
    high: np.ndarray
    lead_of_prediction: np.ndarray
    hidden_low: np.ndarray
    hidden_high: np.ndarray


@dataclasses.dataclass(frozen=True)
class Network:
    """The weights of a model with one layer of rounded memories.

    Attributes:
        name: What the model is called in statements about it.
        vocabulary: The symbols.
        kind: The memories' kind, with just those actions that are in use.
        memories: How many there are.
        read_depth: How many elements of each are read.
        element_size: How many numbers an element has.
        inputs: `[symbols, features]`, what the layer reads for each symbol, and a 1 for the bias.
        weights: `[features + read elements + carried units, units]`.
        carried: How many hidden units are read at the next step: all, or none.
        activation: The hidden units' activation.
        decisions: `[units + 1, actions, memories]`, the last row being biases.
        values: `[units + 1, element_size, memories]`.
        outputs: `[units + 1, symbols]`.
    """

    name: str
    vocabulary: tuple[str, ...]
    kind: MemoryKind
    memories: int
    read_depth: int
    element_size: int
    inputs: np.ndarray
    weights: np.ndarray
    carried: int
    activation: str
    decisions: np.ndarray
    values: np.ndarray
    outputs: np.ndarray

    @classmethod
    def of(cls, model, name: str = "the model") -> "Network":
        """The network of a `NextSymbolModel` that `checks.require_extractable` let pass."""
        [layer] = model.recurrent
        cell = layer.cell
        units, memories = cell.units, cell.num_memories
        symbols = len(model.vocabulary)
        inputs = np.eye(symbols) if model.embedding is None else _array(model.embedding.embeddings)
        bias = _array(cell.bias, (units,)).reshape(1, units)
        carried = units if cell.use_recurrent_kernel else 0
        recurrent = _array(cell.recurrent_kernel, (0, units))
        actions, size = len(cell.actions), cell.element_size
        return cls(
            name=name,
            vocabulary=tuple(model.vocabulary),
            kind=cell.layout.kind,
            memories=memories,
            read_depth=cell.read_depth,
            element_size=size,
            inputs=np.concatenate([inputs, np.ones((symbols, 1))], axis=1),
            weights=np.concatenate(
                [_array(cell.kernel), bias, _array(cell.memory_kernel), recurrent]
            ),
            carried=carried,
            activation=cell.controller.activation,
            decisions=_with_bias(cell.action_kernel, cell.action_bias, (actions, memories)),
            values=_with_bias(cell.value_kernel, cell.value_bias, (size, memories)),
            outputs=_with_bias(
                model.output_layer.kernel,
                model.output_layer.bias if model.output_layer.use_bias else None,
                (symbols,),
            ),
        )

    @property
    def memory_names(self) -> tuple[str, ...]:
        """Names of all that is remembered, the hidden units last where they are carried on."""
        names = (f"{self.kind.name}{i + 1}" for i in range(self.memories))
        return (*names, REGISTER.name) if self.carried else tuple(names)

    @property
    def kinds(self) -> tuple[MemoryKind, ...]:
        """The kind of each of them."""
        return (self.kind,) * self.memories + (REGISTER,) * bool(self.carried)

    @property
    def empty(self) -> tuple[np.ndarray, ...]:
        """What each of them reads as where it is empty."""
        slots = (np.full(self.element_size, EMPTY),) * self.memories
        return (*slots, np.zeros(self.carried)) if self.carried else slots

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """What is seen of them: see `Machine.places`."""
        read = itertools.product(range(self.memories), range(self.read_depth))
        return (*read, (self.memories, 0)) if self.carried else tuple(read)

    def told(self, hidden: np.ndarray) -> np.ndarray:
        """What carried units tell the next step's hidden units."""
        return hidden @ self.weights[len(self.weights) - self.carried :]

    def step(self, tokens: np.ndarray, read: np.ndarray, carried: np.ndarray) -> Step:
        """One step.

        Args:
            tokens: `[rows]`.
            read: `[rows, memories, read_depth, element_size]`.
            carried: `[rows, carried units]`.
        """
        function, _ = intervals.ACTIVATIONS[self.activation]
        hidden = _and_one(function(self._read_by(tokens, read, carried) @ self.weights))
        sigmoid, _ = intervals.ACTIVATIONS["sigmoid"]
        values = sigmoid(np.einsum("ru,uem->rme", hidden, self.values))
        actions = np.einsum("ru,uam->rma", hidden, self.decisions).argmax(axis=2)
        return Step(actions, values, (hidden @ self.outputs).argmax(axis=1), hidden[:, :-1])

    def bounds(self, tokens, low, high, carried, actions, predictions) -> Bounds:
        """Bounds on one step.

        Args:
            tokens: `[rows]`.
            low: `[rows, memories, read_depth, element_size]`, the least that is read.
            high: The same, the most.
            carried: `[rows, carried units]` twice, the least and the most that they are.
            actions: `[rows, memories]`, which action is asked about.
            predictions: `[rows]`, which symbol is asked about.
        """
        before = intervals.products(
            self._read_by(tokens, low, carried[0]),
            self._read_by(tokens, high, carried[1]),
            self.weights,
        )
        low, high = map(_and_one, intervals.activated(*before, self.activation))
        leads = [
            intervals.leads(low, high, self.decisions[:, :, memory], actions[:, memory])
            for memory in range(self.memories)
        ]
        units, size, memories = self.values.shape
        written = intervals.products(low, high, self.values.reshape(units, size * memories))
        written = (
            each.reshape(-1, size, memories).transpose(0, 2, 1)
            for each in intervals.activated(*written, "sigmoid")
        )
        return Bounds(
            np.stack(leads, axis=1),
            *written,
            intervals.leads(low, high, self.outputs, predictions),
            low[:, :-1],
            high[:, :-1],
        )

    def _read_by(self, tokens, read, carried):
        """`[rows, features + read elements + carried units]`: elements by place, then number, then
        memory."""
        elements = read.transpose(0, 2, 3, 1).reshape(len(read), -1)
        return np.concatenate([self.inputs[tokens], elements, carried], axis=1)


def _array(weight, shape=None) -> np.ndarray:
    if weight is None:
        return np.zeros(shape)
    return np.asarray(weight.value if hasattr(weight, "value") else weight, "float64")


def _with_bias(kernel, bias, shape) -> np.ndarray:
    kernel = _array(kernel)
    return np.concatenate([kernel, _array(bias, kernel[:1].shape).reshape(1, -1)]).reshape(
        len(kernel) + 1, *shape
    )


def _and_one(hidden):
    return np.concatenate([hidden, np.ones((len(hidden), 1))], axis=1)
