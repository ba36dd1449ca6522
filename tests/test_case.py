"""What the tests share: a slow reference written from the paper, and small helpers."""

import dataclasses
import importlib.util
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from types import ModuleType

import keras
import numpy as np
import pytest
from absl import flags

from keras_stackrnn import ListCell, ListRNN, StackCell, StackRNN, command_line

EMPTY = -1.0

Row = Sequence[float]


def stack_step(before: Row, actions: dict[str, float], pushed: float) -> list[float]:
    """Equations 4 and 5 of the paper, and its rule with NO-OP, for one stack."""

    def element(i):
        return before[i] if i < len(before) else EMPTY

    return [
        actions["PUSH"] * (pushed if i == 0 else element(i - 1))
        + actions["POP"] * element(i + 1)
        + actions.get("NO-OP", 0.0) * element(i)
        for i in range(len(before))
    ]


def list_step(before: Row, actions: dict[str, float], inserted: float) -> list[float]:
    """The paper's three cases for one list, with NO-OP, around the head in the middle."""
    head = len(before) // 2

    def element(i):
        return before[i] if 0 <= i < len(before) else EMPTY

    after = []
    for i in range(len(before)):
        moved = actions["RIGHT"] * element(i + 1) + actions["LEFT"] * element(i - 1)
        if i == head:
            moved += actions["INSERT"] * inserted
        elif i < head:
            moved += actions["INSERT"] * element(i + 1)
        else:
            moved += actions["INSERT"] * element(i)
        after.append(moved + actions.get("NO-OP", 0.0) * element(i))
    return after


def stack_view(stack: Row, read_depth: int) -> list[float]:
    """The k top-most elements."""
    return list(stack[:read_depth])


def list_view(elements: Row, read_depth: int) -> list[float]:
    """The k elements nearest to the head: the head, then left before right."""
    head = len(elements) // 2
    nearest_first = sorted(range(len(elements)), key=lambda i: (abs(i - head), i))
    return [elements[i] for i in nearest_first[:read_depth]]


def softmax(logits: Row) -> list[float]:
    powers = [math.exp(logit - max(logits)) for logit in logits]
    return [power / sum(powers) for power in powers]


def round_to_best(weights: Row) -> list[float]:
    return [float(i == weights.index(max(weights))) for i in range(len(weights))]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def times(row: Row, matrix: Sequence[Row]) -> list[float]:
    return [
        sum(x * line[j] for x, line in zip(row, matrix, strict=True)) for j in range(len(matrix[0]))
    ]


def plus(*rows: Row) -> list[float]:
    return [sum(column) for column in zip(*rows, strict=True)]


@dataclasses.dataclass(frozen=True)
class Kind:
    """One of the two cells and its layer, with what the paper says about its memory."""

    name: str
    cell: type
    layer: type
    memories: str
    write: str
    actions: tuple[str, ...]
    step: Callable[[Row, dict[str, float], float], list[float]]
    view: Callable[[Row, int], list[float]]

    def __call__(self, units: int, memories: int = 1, **kwargs):
        return self.cell(units, **{self.memories: memories}, **kwargs)

    def rnn(self, units: int, memories: int = 1, **kwargs):
        return self.layer(units, **{self.memories: memories}, **kwargs)


STACK = Kind(
    "stack",
    StackCell,
    StackRNN,
    "num_stacks",
    "push",
    ("PUSH", "POP", "NO-OP"),
    stack_step,
    stack_view,
)
LIST = Kind(
    "list",
    ListCell,
    ListRNN,
    "num_lists",
    "insert",
    ("INSERT", "LEFT", "RIGHT", "NO-OP"),
    list_step,
    list_view,
)
KINDS = (STACK, LIST)

each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def reference_run(kind: Kind, cell, sequence: Sequence[Row]) -> tuple[list, list, list]:
    """Runs the cell's weights over one sequence, with Python lists and floats.

    Returns the hidden units after every step, and the last hidden units and memories (a list for
    each memory).
    """
    weights = {weight.name: to_numpy(weight).astype(float).tolist() for weight in cell.weights}
    memories = getattr(cell, kind.memories)
    names = kind.actions if cell.no_op else kind.actions[:-1]
    hidden = [0.0] * cell.units
    slots = [[EMPTY] * cell.capacity for _ in range(memories)]
    outputs = []
    for inputs in sequence:
        views = [kind.view(memory, cell.read_depth) for memory in slots]
        read = [view[k] for k in range(cell.read_depth) for view in views]
        before = plus(times(inputs, weights["kernel"]), times(read, weights["memory_kernel"]))
        if cell.use_recurrent_kernel:
            before = plus(before, times(hidden, weights["recurrent_kernel"]))
        if cell.use_bias:
            before = plus(before, weights["bias"])
        hidden = [sigmoid(x) for x in before]

        logits = times(hidden, weights["action_kernel"])
        written = times(hidden, weights[f"{kind.write}_kernel"])
        if cell.use_bias:
            logits = plus(logits, weights["action_bias"])
            written = plus(written, weights[f"{kind.write}_bias"])
        for m in range(memories):
            probabilities = softmax([logits[a * memories + m] for a in range(len(names))])
            if cell.rounding:
                probabilities = round_to_best(probabilities)
            actions = dict(zip(names, probabilities, strict=True))
            slots[m] = kind.step(slots[m], actions, sigmoid(written[m]))
        outputs.append(hidden)
    return outputs, hidden, slots


def memory_of(cell, state) -> np.ndarray:
    """A cell's memory state as `[batch, memories, capacity]`."""
    state = to_numpy(state)
    return state.reshape(len(state), cell.capacity, -1).swapaxes(1, 2)


def to_numpy(tensor) -> np.ndarray:
    return keras.ops.convert_to_numpy(tensor)


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def randomise(layer, seed: int = 0, scale: float = 1.0) -> None:
    """Gives every weight, the biases too, normal draws."""
    rng = np.random.default_rng(seed)
    layer.set_weights([rng.normal(scale=scale, size=w.shape) for w in layer.weights])


def built(layer, inputs, **weights):
    layer.build(inputs.shape)
    randomise(layer, **weights)
    return layer


def obey(layer, batch: int = 1) -> None:
    """Gives an RNN of a memory cell weights with which each input, one-hot, is the action taken.

    All memories then hold nothing but 0.5, and even mixed actions are exactly 0 or 1. The cell has
    to have a unit for each action and no recurrent kernel; a unit more says, at each step, whether
    the first memory has an element to read.
    """
    cell = layer.cell
    actions = np.eye(len(cell.actions))
    more = cell.units - len(actions)
    reading = np.zeros((cell.read_depth * cell.num_memories, cell.units))
    reading[0, len(actions) :] = 2000
    acting = 1000 * np.kron(actions, np.ones((1, cell.num_memories)))
    values = {
        "kernel": np.pad(2000 * actions - 1000, [(0, 0), (0, more)]),
        "memory_kernel": reading,
        "action_kernel": np.pad(acting, [(0, more), (0, 0)]),
    }
    layer.build((batch, None, len(actions)))
    layer.set_weights([values.get(w.name, np.zeros(w.shape)) for w in layer.weights])


def orders(cell, names: str, batch: int = 1) -> np.ndarray:
    """Inputs for a layer that obeys: "PUSH PUSH POP" as `[batch, 3, actions]`."""
    steps = [np.eye(len(cell.actions))[cell.actions.index(name)] for name in names.split()]
    return np.repeat(np.array(steps, "float32")[None], batch, axis=0)


def raises_only(message: str):
    return pytest.raises(ValueError, match=f"^{re.escape(message)}$")


def raises(message: str):
    """The sentence on a line of its own: Keras makes it bold and writes the arguments around it."""
    return pytest.raises(ValueError, match=rf"(^|\n|\x1b\[1m){re.escape(message)}(\x1b\[0m|\n|$)")


def run_command(command: ModuleType, *arguments: str) -> object:
    """Runs one of the package's commands in this process."""
    values = flags.FlagValues()
    command.define_flags(values)
    return command.main(command_line.parse(["command", *arguments], values), values)


def run_python(*arguments: str, **environment: str) -> str:
    """Runs a fresh Python that can import what this one can, and returns what it printed."""
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


LOAD = """
import sys
import keras, keras_stackrnn, numpy as np
for path in sys.argv[1:]:
    model = keras.models.load_model(path)
    np.save(path + ".npy", model.predict(np.load(path + ".inputs.npy"), verbose=0))
"""


def assert_load_in_a_fresh_process(models: dict[str, keras.Model], inputs, folder) -> None:
    """Saves models, and loads them without custom objects where nothing is known of them yet."""
    expected = {}
    for name, model in models.items():
        path = str(folder / f"{name}.keras")
        model.save(path)
        np.save(path + ".inputs.npy", inputs)
        expected[path] = model.predict(inputs, verbose=0)

    run_python("-c", LOAD, *expected)

    for path, outputs in expected.items():
        np.testing.assert_array_equal(np.load(path + ".npy"), outputs)


def run_on_backend(backend: str, test_file: str) -> None:
    """Runs a test file again in a Python whose Keras computes with `backend`."""
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    printed = run_python("-m", "pytest", "-p", "no:cacheprovider", test_file, KERAS_BACKEND=backend)
    assert " passed" in printed


def in_a_graph(function: Callable) -> Callable:
    """The function, traced once where that can be: finite differences call it often."""
    if keras.backend.backend() != "tensorflow":
        return function
    import tensorflow as tf

    return tf.function(function)


def gradient(function: Callable, point: np.ndarray) -> np.ndarray:
    """The gradient of a scalar function of one array, by the backend's differentiation."""
    match keras.backend.backend():
        case "tensorflow":
            import tensorflow as tf

            tensor = tf.constant(point)
            with tf.GradientTape() as tape:
                tape.watch(tensor)
                result = function(tensor)
            return tape.gradient(result, tensor).numpy()
        case "jax":
            import jax

            return np.asarray(jax.grad(function)(point))
        case "torch":
            import torch

            variable = torch.tensor(point, requires_grad=True)
            function(variable).backward()
            return variable.grad.numpy()


def finite_differences(function: Callable, point: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """The same gradient from pairs of values around the point."""
    slopes = np.zeros_like(point)
    for index in np.ndindex(point.shape):
        moved = np.zeros_like(point)
        moved[index] = step
        up, down = (
            float(to_numpy(function(keras.ops.convert_to_tensor(p))))
            for p in (point + moved, point - moved)
        )
        slopes[index] = (up - down) / (2 * step)
    return slopes


IS_TENSORFLOW = keras.backend.backend() == "tensorflow"
# On other backends Keras computes much of what is asked for in float64 in float32.
FLOAT64_ERROR = 1e-11 if IS_TENSORFLOW else 1e-4

needs_float64 = pytest.mark.skipif(
    not IS_TENSORFLOW, reason="Keras multiplies matrices in float64 on TensorFlow only"
)
starts_other_backends = pytest.mark.skipif(
    not IS_TENSORFLOW, reason="only a run on TensorFlow starts the runs on other backends"
)
other_backends = pytest.mark.parametrize("backend", ["jax", "torch"])
