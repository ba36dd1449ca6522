"""Watches the memory cells inside a model while it reads."""

import contextlib
from collections.abc import Iterator, Mapping

import keras
import numpy as np
from keras import ops, tree

from keras_stackrnn.memory_cell import MemoryCell
from keras_stackrnn.memory_rnn import MemoryRNN
from keras_stackrnn.trace.record import MemoryTrace, nearest


class Recorder:
    """Records what every memory cell of a model does in one pass over one sequence.

    Cells are made to run step by step in Python, where their `update` can be watched, and to begin
    with empty memories. Afterwards everything is as it was.

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
        layers = list(model._flatten_layers())
        self._recurrent = [layer for layer in layers if isinstance(layer, keras.layers.RNN)]
        self.cells = [layer for layer in layers if isinstance(layer, MemoryCell)]
        self._steps = steps
        self._rounding = rounding
        self._depth = depth
        self._force = force
        self._names = {"stack": 0, "list": 0}
        self._asleep = {cell for layer in self._recurrent for cell in _cells_of(layer)}
        self._watched: list[_WatchedCell] = []

    @property
    def batch_size(self) -> int:
        """The batch size that stateful layers insist on, else 1."""
        sizes = [tree.flatten(layer.states)[0].shape[0] for layer in self._stateful()]
        return sizes[0] if sizes else 1

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """While it is entered, cells are watched and every memory begins empty."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(_functions_run_eagerly())
            for layer in self._recurrent:
                if not any(isinstance(cell, MemoryCell) for cell in _cells_of(layer)):
                    continue
                loop = {"unroll": True, "inner_loop": self._waking(layer)}
                stack.enter_context(_attributes(layer, **loop))
                if isinstance(layer, MemoryRNN):
                    stack.enter_context(_attributes(layer, use_fused=False))
                    if layer.cell.capacity is not None:
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
        return [memory for cell in self._watched for memory in cell.memories()]

    def _stateful(self) -> list[keras.layers.RNN]:
        return [layer for layer in self._recurrent if layer.stateful and layer.states is not None]

    def _waking(self, layer: keras.layers.RNN):
        """The layer's loop, in which its cells count.

        Before it, Keras runs the cells of a list once, to find out what dropout they want.
        """
        inner_loop = layer.inner_loop

        def waking_loop(*arguments, **options):
            self._asleep.difference_update(_cells_of(layer))
            try:
                return inner_loop(*arguments, **options)
            finally:
                self._asleep.update(_cells_of(layer))

        return waking_loop

    def _watching(self, cell: MemoryCell):
        update = cell.update
        watched = None

        def watching_update(slots, actions, value):
            nonlocal watched
            if cell in self._asleep:
                return update(slots, actions, value)
            if watched is None:
                watched = self._watch(cell)
            actions = watched.forced(actions)
            after = update(slots, actions, value)
            watched.add(actions, value, after)
            return after

        return watching_update

    def _watch(self, cell: MemoryCell) -> "_WatchedCell":
        kind = cell.MEMORIES.removesuffix("s")
        first = self._names[kind] + 1
        self._names[kind] += cell.num_memories
        names = [f"{kind}{first + i}" for i in range(cell.num_memories)]
        layer = next((each for each in self._recurrent if cell in _cells_of(each)), None)
        backwards = layer is not None and layer.go_backwards
        forced = [self._force.get(name, {}) for name in names]
        watched = _WatchedCell(cell, kind, names, self._depth, forced, self._steps, backwards)
        self._watched.append(watched)
        return watched


class _WatchedCell:
    """The steps of one cell, of the first sequence of the batch."""

    def __init__(self, cell, kind, names, depth, forced, steps, backwards):
        self._cell = cell
        self._kind = kind
        self._names = names
        self._depth = depth or cell.read_depth
        self._forced = forced
        self._steps = steps
        self._backwards = backwards
        self._weights, self._values, self._tops = [], [], []

    def forced(self, actions):
        """The weights of the actions, `[batch, A, memories]`, where some are forced."""
        if not any(self._forced):
            return actions
        step = len(self._weights)
        place_in_text = self._steps - 1 - step if self._backwards else step
        columns = []
        for memory, forced in enumerate(self._forced):
            column = actions[:, :, memory : memory + 1]
            action = forced.get(place_in_text)
            if action in self._cell.actions:
                certain = np.eye(len(self._cell.actions))[self._cell.actions.index(action)]
                column = ops.zeros_like(column) + ops.cast(certain[None, :, None], column.dtype)
            columns.append(column)
        return ops.concatenate(columns, axis=2)

    def add(self, actions, value, after):
        """Takes note of a step."""
        self._weights.append(_to_numpy(actions)[0])
        self._values.append(_to_numpy(value)[0])
        self._tops.append(nearest(_to_numpy(after)[0].T, self._kind, self._depth))

    def memories(self) -> list[MemoryTrace]:
        """What was recorded; raises if the cell did not take one step for each symbol."""
        if len(self._weights) != self._steps:
            raise ValueError(
                f"A trace wants one step of every memory for each symbol: expected {self._steps}, "
                f"got {len(self._weights)} of {self._names[0]}."
            )
        recorded = [np.stack(each) for each in (self._weights, self._values, self._tops)]
        if self._backwards:
            recorded = [each[::-1] for each in recorded]
        weights, values, tops = recorded
        return [
            MemoryTrace(
                name=name,
                kind=self._kind,
                actions=self._cell.actions,
                weights=weights[:, :, place],
                values=values[:, place],
                tops=tops[:, place],
                capacity=self._cell.capacity,
                backwards=self._backwards,
            )
            for place, name in enumerate(self._names)
        ]


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


@contextlib.contextmanager
def _functions_run_eagerly() -> Iterator[None]:
    """A model may hold a `tf.function`, and inside of its graph there is nothing to see."""
    if keras.backend.backend() != "tensorflow":
        yield
        return
    import tensorflow as tf

    before = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(before)
