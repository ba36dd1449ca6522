"""One rounded step of a trained model in plain NumPy, and bounds on the same in float32."""

import dataclasses
from typing import NamedTuple

import numpy as np

from keras_stackrnn.extract import intervals
from keras_stackrnn.memories import MemoryKind
from keras_stackrnn.memories.soft import EMPTY


class Step(NamedTuple):
    """What one step does in exact arithmetic, for each of several rows."""

    actions: np.ndarray  # [rows, memories]
    values: np.ndarray  # [rows, memories, element_size]
    prediction: np.ndarray  # [rows]


class Bounds(NamedTuple):
    """What one step does in float32, for all that is read within boxes, a row each.

    Attributes:
        lead: `[rows, memories]`, by how much the action asked about leads the others at least.
        low: `[rows, memories, element_size]`, a lower bound of what is written.
        high: The same, an upper bound.
        lead_of_prediction: `[rows]`.
    """

    lead: np.ndarray
    low: np.ndarray
    high: np.ndarray
    lead_of_prediction: np.ndarray


@dataclasses.dataclass(frozen=True)
class Network:
    """The weights of a model with one layer of rounded memories and no other state.

    Attributes:
        name: What the model is called in statements about it.
        vocabulary: The symbols.
        kind: The memories' kind, with just those actions that are in use.
        memories: How many there are.
        read_depth: How many elements of each are read.
        element_size: How many numbers an element has.
        inputs: `[symbols, features]`, what the layer reads for each symbol, and a 1 for the bias.
        weights: `[features + read elements, units]`.
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
        bias = _array(cell.bias, (1, units))
        actions, size = len(cell.actions), cell.element_size
        return cls(
            name=name,
            vocabulary=tuple(model.vocabulary),
            kind=cell.layout.kind,
            memories=memories,
            read_depth=cell.read_depth,
            element_size=size,
            inputs=np.concatenate([inputs, np.ones((symbols, 1))], axis=1),
            weights=np.concatenate([_array(cell.kernel), bias, _array(cell.memory_kernel)]),
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
        return tuple(f"{self.kind.name}{i + 1}" for i in range(self.memories))

    @property
    def empty(self) -> np.ndarray:
        """The element that an empty slot reads as."""
        return np.full(self.element_size, EMPTY)

    def step(self, tokens: np.ndarray, read: np.ndarray) -> Step:
        """One step; `read` is `[rows, memories, read_depth, element_size]`."""
        function, _ = intervals.ACTIVATIONS[self.activation]
        hidden = _and_one(function(self._read_by(tokens, read) @ self.weights))
        sigmoid, _ = intervals.ACTIVATIONS["sigmoid"]
        values = sigmoid(np.einsum("ru,uem->rme", hidden, self.values))
        actions = np.einsum("ru,uam->rma", hidden, self.decisions).argmax(axis=2)
        return Step(actions, values, (hidden @ self.outputs).argmax(axis=1))

    def bounds(self, tokens, low, high, actions, predictions) -> Bounds:
        """Bounds on one step.

        Args:
            tokens: `[rows]`.
            low: `[rows, memories, read_depth, element_size]`, the least that is read.
            high: The same, the most.
            actions: `[rows, memories]`, which action is asked about.
            predictions: `[rows]`, which symbol is asked about.
        """
        before = intervals.products(
            self._read_by(tokens, low), self._read_by(tokens, high), self.weights
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
        )

    def _read_by(self, tokens, read):
        """`[rows, features + read elements]`: elements by place, then number, then memory."""
        elements = read.transpose(0, 2, 3, 1).reshape(len(read), -1)
        return np.concatenate([self.inputs[tokens], elements], axis=1)


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
