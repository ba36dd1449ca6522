"""Watches the memory cells inside a model while it reads."""

import collections
import contextlib
import threading
import types
from collections.abc import Iterator, Mapping

import keras
import numpy as np
from keras import ops, tree

from keras_stackrnn.controllers import SecondOrder
from keras_stackrnn.layers.memory_cell import MemoryCell
from keras_stackrnn.layers.memory_rnn import MemoryRNN
from keras_stackrnn.trace.record import MemoryTrace, StateTrace, nearest

_ONE_AT_A_TIME = threading.RLock()
_OUT_OF_SIGHT = (
    "{} runs in the graph of a tf.function, into which a trace cannot look: make that function an "
    "attribute or a method of a layer, or leave its tf.function out."
)


class Recorder:
    """Records what every memory cell of a model does in one pass over one sequence.

    Layers that round run over their pointers, which tell what they did. Other cells are made to
    run step by step in Python, where their `update` can be watched. All begin with empty memories,
    and afterwards everything is as it was.

    Args:
        model: A Keras model.
        steps: How many symbols it will read.
        rounding: Whether cells round; `None`: as they do.
        depth: How many elements of each memory to record; `None`: as many as its cell reads.
        force: For the names of memories, the action that is taken at each step.
    """

    def __init__(
        self,
        model: keras.Model,
        steps: int,
        rounding: bool | None,
        depth: int | None,
        force: Mapping[str, Mapping[int, str]],
    ):
        # Also those in wrappers and in lists of cells, which `model.layers` does not show.
        self._layers = list(model._flatten_layers())
        self._recurrent = [layer for layer in self._layers if isinstance(layer, keras.layers.RNN)]
        self.cells = [layer for layer in self._layers if isinstance(layer, MemoryCell)]
        self._steps = steps
        self._rounding = rounding
        self._depth = depth
        self._force = force
        self._counts = collections.Counter()
        self._asleep = {cell for layer in self._recurrent for cell in _cells_of(layer)}
        self._watched: dict[MemoryCell, _WatchedCell] = {}
        self._states: dict[keras.layers.RNN, np.ndarray] = {}

    @property
    def sees_anything(self) -> bool:
        """Whether there are memories or discrete states in the model."""
        return bool(self.cells) or any(map(has_states, self._recurrent))

    @property
    def batch_size(self) -> int:
        """The batch size that stateful layers insist on, else 1."""
        sizes = [tree.flatten(layer.states)[0].shape[0] for layer in self._stateful()]
        return sizes[0] if sizes else 1

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """While it is entered, cells are watched and every memory begins empty."""
        with contextlib.ExitStack() as stack:
            # Layers are given other attributes for a while: one trace at a time.
            stack.enter_context(_ONE_AT_A_TIME)
            for layer in self._layers:
                stack.enter_context(_attributes(layer, **_functions_as_python(layer)))
            for layer in self._recurrent:
                if has_states(layer):
                    noting = self._noting_states(layer, layer.inner_loop)
                    stack.enter_context(_attributes(layer, inner_loop=noting))
                if not any(isinstance(cell, MemoryCell) for cell in _cells_of(layer)):
                    continue
                stack.enter_context(_attributes(layer, inner_loop=self._watched_loop(layer)))
                if isinstance(layer, MemoryRNN) and layer.cell.capacity is not None:
                    stack.enter_context(_restored(layer.lost_elements.variables))
            for layer in self._stateful():
                stack.enter_context(_restored(tree.flatten(layer.states)))
                _empty(layer)
            for cell in self.cells:
                if self._rounding is not None:
                    stack.enter_context(_attributes(cell, rounding=self._rounding))
                stack.enter_context(_attributes(cell, update=self._watching(cell)))
            yield

    def memories(self) -> list[MemoryTrace]:
        """What was recorded, in the order in which the cells were first reached."""
        if not self.cells:
            return []
        if not self._watched:
            raise ValueError(_OUT_OF_SIGHT.format("The model's memory"))
        return [memory for cell in self._watched.values() for memory in cell.memories()]

    def states(self) -> list[StateTrace]:
        """The discrete states that were recorded, in the order of their layers."""
        return [StateTrace(f"state{i + 1}", found) for i, found in enumerate(self._states.values())]

    def _noting_states(self, layer: keras.layers.RNN, loop):
        """A layer's loop over time that takes note of the hidden units."""

        def noting_loop(*inputs, **options):
            # Keras leaves out what is before the last step where only that is asked for.
            with _attributes(layer, return_sequences=True):
                last, outputs, states = loop(*inputs, **options)
            found = _to_numpy(outputs)[0]
            self._states[layer] = found[::-1] if layer.go_backwards else found
            return last, outputs, states

        return noting_loop

    def _stateful(self) -> list[keras.layers.RNN]:
        return [layer for layer in self._recurrent if layer.stateful and layer.states is not None]

    def _watched_loop(self, layer: keras.layers.RNN):
        """The layer's loop over time, in which its cells count."""
        loop = layer.inner_loop

        def watched_loop(sequences, initial_state, mask, training=False, *more):
            _check_values_are_there(layer, sequences)
            if isinstance(layer, MemoryRNN) and layer.cell.rounding and layer.is_fused():
                return self._point(layer, sequences, initial_state)
            fused = {"use_fused": False} if isinstance(layer, MemoryRNN) else {}
            # Before its loop, Keras runs the cells of a list once, to find out what dropout they
            # want; and a loop that is not unrolled runs them once for the shape of their outputs.
            self._asleep.difference_update(_cells_of(layer))
            with _attributes(layer, unroll=True, **fused):
                try:
                    return loop(sequences, initial_state, mask, training, *more)
                finally:
                    self._asleep.update(_cells_of(layer))

        return watched_loop

    def _point(self, layer: MemoryRNN, sequences, initial_state):
        """What the layer's fused loop does when it rounds, watched."""
        from keras_stackrnn.kernels import pointer_scan

        watched = self._watched_cell(layer.cell)
        if layer.go_backwards:
            sequences = ops.flip(sequences, axis=1)
        watch = pointer_scan.Watch(watched.orders(*sequences.shape[:2]), watched.depth)
        names = layer.cell.controller.states
        *states, memory = initial_state
        states = dict(zip(names, states, strict=True))
        outputs, states, memory, *seen = pointer_scan.watched_scan(
            layer.cell, sequences, states, memory, watch
        )
        watched.add_all(*seen)
        return (
            outputs[:, -1],
            outputs,
            [*(states[name] for name in names), memory],
        )

    def _watching(self, cell: MemoryCell):
        update = cell.update

        def watching_update(slots, actions, value):
            if cell in self._asleep:
                return update(slots, actions, value)
            watched = self._watched_cell(cell)
            actions = watched.forced(actions)
            after = update(slots, actions, value)
            watched.add(actions, value, after)
            return after

        return watching_update

    def _watched_cell(self, cell: MemoryCell) -> "_WatchedCell":
        if cell in self._watched:
            return self._watched[cell]
        kind = cell.layout.kind
        first = self._counts[kind.name] + 1
        self._counts[kind.name] += cell.num_memories
        names = [f"{kind.name}{first + i}" for i in range(cell.num_memories)]
        layer = next((each for each in self._recurrent if cell in _cells_of(each)), None)
        backwards = layer is not None and layer.go_backwards
        forced = [self._force.get(name, {}) for name in names]
        watched = _WatchedCell(cell, kind, names, self._depth, forced, self._steps, backwards)
        self._watched[cell] = watched
        return watched


class _WatchedCell:
    """The steps of one cell, of the first sequence of the batch."""

    def __init__(self, cell, kind, names, depth, forced, steps, backwards):
        self.depth = depth or cell.read_depth
        self._cell = cell
        self._kind = kind
        self._names = names
        self._steps = steps
        self._backwards = backwards
        self._orders = self._orders_of(forced)
        self._done = 0
        self._weights, self._values, self._tops = [], [], []

    def _orders_of(self, forced) -> np.ndarray:
        """`[steps, memories]`: the index of the action that is forced, -1 where none is."""
        orders = np.full((self._steps, len(forced)), -1, "int32")
        for memory, actions in enumerate(forced):
            for place, action in actions.items():
                # What cannot be forced is found out once all memories are known.
                if action in self._cell.actions and place in range(self._steps):
                    step = self._steps - 1 - place if self._backwards else place
                    orders[step, memory] = self._cell.actions.index(action)
        return orders

    def orders(self, batch: int, steps: int) -> np.ndarray:
        """The actions forced on every lane of a batch, `[steps, batch * memories]`."""
        self._check_steps(steps)
        return np.tile(self._orders, (1, batch))

    def forced(self, actions):
        """The weights of the actions, `[batch, A, memories]`, where some are forced."""
        orders = self._orders[self._done] if self._done < self._steps else np.array(-1)
        if (orders < 0).all():
            return actions
        certain = np.eye(len(self._cell.actions))[orders].T
        return ops.where(orders >= 0, ops.cast(certain, actions.dtype), actions)

    def add(self, actions, value, after):
        """Takes note of a step."""
        self._done += 1
        self._weights.append(_to_numpy(actions)[:1])
        self._values.append(_to_numpy(value)[:1])
        elements = self._cell.layout.elements(_to_numpy(after)[0])
        self._tops.append(nearest(elements.T, self._kind, self.depth)[None])

    def add_all(self, actions, values, tops):
        """Takes note of all steps over pointers; actions are indices, and lanes come second."""
        memories = len(self._names)
        elements = memories * self._cell.element_size
        self._done += len(actions)
        certain = np.eye(len(self._cell.actions), dtype="float32")
        self._weights.append(certain[actions.numpy()[:, :memories]].transpose(0, 2, 1))
        self._values.append(_to_numpy(values)[:, :elements])
        self._tops.append(_to_numpy(tops)[:, :elements])

    def memories(self) -> list[MemoryTrace]:
        """What was recorded; raises if the cell did not take one step for each symbol."""
        self._check_steps(self._done)
        recorded = [np.concatenate(each) for each in (self._weights, self._values, self._tops)]
        if self._backwards:
            recorded = [each[::-1] for each in recorded]
        weights, values, tops = recorded
        memories = len(self._names)
        return [
            MemoryTrace.of_elements(
                name=name,
                kind=self._kind,
                weights=weights[:, :, place],
                values=values[:, place::memories],
                tops=tops[:, place::memories].swapaxes(1, 2),
                capacity=self._cell.capacity,
                backwards=self._backwards,
            )
            for place, name in enumerate(self._names)
        ]

    def _check_steps(self, steps: int) -> None:
        if steps != self._steps:
            raise ValueError(
                f"A trace wants one step of every memory for each symbol: expected {self._steps}, "
                f"got {steps} of {self._names[0]}."
            )


def has_states(layer: keras.layers.RNN) -> bool:
    """Whether the hidden units of a layer are the probabilities of discrete states."""
    controller = getattr(layer.cell, "controller", None)
    return isinstance(controller, SecondOrder)


def _cells_of(layer: keras.layers.RNN) -> list:
    return getattr(layer.cell, "cells", [layer.cell])


def _empty(layer: keras.layers.RNN) -> None:
    states = tree.flatten(layer.states)
    initial = tree.flatten(layer.get_initial_state(states[0].shape[0]))
    for variable, value in zip(states, initial, strict=True):
        variable.assign(value)


def _to_numpy(tensor) -> np.ndarray:
    return ops.convert_to_numpy(ops.cast(tensor, "float32"))


@contextlib.contextmanager
def _attributes(thing, **values) -> Iterator[None]:
    """Gives an object other attributes for a while; those that hide its class' are taken away."""
    before = {name: vars(thing)[name] for name in values if name in vars(thing)}
    try:
        for name, value in values.items():
            setattr(thing, name, value)
        yield
    finally:
        for name in values:
            setattr(thing, name, before[name]) if name in before else delattr(thing, name)


@contextlib.contextmanager
def _restored(variables) -> Iterator[None]:
    values = [ops.convert_to_numpy(variable) for variable in variables]
    try:
        yield
    finally:
        for variable, value in zip(variables, values, strict=True):
            variable.assign(value)


def _functions_as_python(layer: keras.layers.Layer) -> dict:
    """The `tf.function`s that a layer has, as what they were made of: inside of their graphs there
    is nothing to see."""
    if keras.backend.backend() != "tensorflow":
        return {}
    import tensorflow as tf

    functions = {}
    for owner in (*reversed(type(layer).__mro__), layer):
        for name, value in vars(owner).items():
            if isinstance(value, tf.types.experimental.PolymorphicFunction):
                python = value.python_function
                functions[name] = python if owner is layer else types.MethodType(python, layer)
    return functions


def _check_values_are_there(layer: keras.layers.RNN, sequences) -> None:
    if keras.backend.backend() != "tensorflow":
        return
    import tensorflow as tf

    if not tf.executing_eagerly():
        raise ValueError(_OUT_OF_SIGHT.format(f"Layer {layer.name!r}"))
