"""How fast one training step is: the layers of this package beside Keras' own.

    python benchmarks/train_step.py
    python benchmarks/train_step.py --shapes=toy,replicas --rounds=25

A step is forward, backward and an SGD update of a recurrent layer, compiled as one XLA program.
Inputs are random: 8 features for the toy tasks, about the size of their alphabets, and 100 for the
language model, the size of its embedding. All variants of a shape run in turn, round after round,
and the medians are compared, so that whatever else the machine does meets all of them alike.

`replicas` are independent models that train together, four steps in a call of their program, as the
windows of an episode in the search. Beside them, as many runs one after another: a step a call, as
`fit` has it and all layers here, and four, which are on equal terms with the replicas.

`masked` is a batch of sequences of 1 to 50 symbols, padded on the right; `controllers` has those
that are Keras' own layers with memories.

Prints a table and a JSON line for each variant, with symbols a second and the ratio to
`keras.layers.LSTM` of the same units, batch and window. Takes about five minutes on two cores. It
runs on a GPU if there is one, and then has rows of cuDNN's LSTM and GRU, which XLA cannot compile.
"""

import argparse
import dataclasses
import json
import os
import platform
import statistics
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import tensorflow as tf

from keras_stackrnn import EditorRNN, ListRNN, QueueRNN, StackCell, StackRNN, TapeRNN
from keras_stackrnn.controllers import Simple
from keras_stackrnn.kernels.lanes import steps_first
from keras_stackrnn.kernels.replica_groups import replica_groups
from keras_stackrnn.kernels.scan import Scan, scan
from keras_stackrnn.memories import STACK
from keras_stackrnn.memories.layout import MemoryLayout
from keras_stackrnn.memories.soft import EMPTY

WINDOW = 50
CAPACITY = 200
LEARNING_RATE = 0.01

WARM_UPS = 3
STEPS_A_ROUND = 16  # so that the first of them, which finds cold caches, hardly counts

REPLICAS = 32
REPLICA_BATCH = 8
EPISODE = 4  # steps in a call of the population's program
RUNS, RUNS_BY_EPISODE = f"{REPLICAS} runs", f"{REPLICAS} runs, {EPISODE} steps a call"
TOGETHER = f"{REPLICAS} replicas"
ELEMENTS = "StackRNN, 2 of 8 numbers"


@dataclasses.dataclass(frozen=True)
class Shape:
    """A row of the table of what is to be reached: `required` are ratios, variant to baseline."""

    units: int
    stacks: int
    lists: int
    batch: int
    features: int
    use_recurrent_kernel: bool
    required: dict[tuple[str, str], float]


SHAPES = {
    "toy": Shape(
        *(40, 10, 5, 32, 8, False),
        {
            ("StackRNN", "LSTM"): 1.2,
            ("ListRNN", "LSTM"): 0.8,
            ("StackRNN", "RNN(StackCell)"): 5.0,
            ("StackRNN, stateful", "LSTM"): 1.6,
        },
    ),
    "toy_batch_128": Shape(*(40, 10, 5, 128, 8, False), {("StackRNN", "LSTM"): 1.2}),
    "language_model": Shape(
        *(100, 60, 30, 32, 100, True),
        {("StackRNN", "LSTM"): 1.0, ("StackRNN, stateful", "LSTM"): 1.2},
    ),
    "kinds": Shape(
        *(40, 10, 5, 32, 8, False),
        {
            ("TapeRNN", "LSTM"): 1.6,
            ("EditorRNN", "LSTM"): 1.3,
            ("QueueRNN", "LSTM"): 1.0,
            (ELEMENTS, "LSTM"): 1.4,
        },
    ),
    "masked": Shape(
        *(40, 10, 5, 32, 8, False),
        {
            ("StackRNN, masked", "StackRNN"): 0.85,
            ("StackRNN, masked", "LSTM, masked"): 1.3,
        },
    ),
    "controllers": Shape(*(40, 10, 5, 32, 8, True), {("lstm", "LSTM"): 0.7, ("gru", "LSTM"): 0.8}),
    "replicas": Shape(
        *(40, 10, 5, REPLICA_BATCH, 8, False),
        {(TOGETHER, RUNS): 4.0, (TOGETHER, RUNS_BY_EPISODE): 4.0},
    ),
}


def layers_of(shape: Shape) -> dict[str, keras.layers.Layer]:
    every = {"return_sequences": True}
    memory = {"capacity": CAPACITY, "use_recurrent_kernel": shape.use_recurrent_kernel}
    cell = StackCell(shape.units, shape.stacks, **memory)
    return {
        "LSTM": keras.layers.LSTM(shape.units, use_cudnn=False, **every),
        "GRU": keras.layers.GRU(shape.units, use_cudnn=False, **every),
        "SimpleRNN": keras.layers.SimpleRNN(shape.units, **every),
        "StackRNN": StackRNN(shape.units, shape.stacks, **memory, **every),
        "StackRNN, stateful": StackRNN(shape.units, shape.stacks, **memory, **every, stateful=True),
        "ListRNN": ListRNN(shape.units, shape.lists, **memory, **every),
        "RNN(StackCell)": keras.layers.RNN(cell, **every),
    }


def layers_of_other_kinds(shape: Shape) -> dict[str, keras.layers.Layer]:
    every = {"capacity": CAPACITY, "use_recurrent_kernel": False, "return_sequences": True}
    return {
        "LSTM": keras.layers.LSTM(shape.units, return_sequences=True, use_cudnn=False),
        "TapeRNN": TapeRNN(shape.units, shape.lists, **every),
        "EditorRNN": EditorRNN(shape.units, shape.lists, **every),
        "QueueRNN": QueueRNN(shape.units, shape.lists, **every),
        ELEMENTS: StackRNN(shape.units, 2, element_size=8, **every),
    }


def masked_layers_of(shape: Shape) -> dict[str, keras.layers.Layer]:
    """Each layer twice: the one that is called masked does what the other does with a mask."""
    layers = {name: layers_of(shape)[name] for name in ("LSTM", "StackRNN", "ListRNN")}
    again = {name: layers_of(shape)[name] for name in layers}
    return {**layers, **{f"{name}, masked": layer for name, layer in again.items()}}


def layers_with_controllers(shape: Shape) -> dict[str, keras.layers.Layer]:
    every = {"capacity": CAPACITY, "use_bias": True, "return_sequences": True}
    layers = {
        name: StackRNN(shape.units, shape.stacks, controller=name, **every)
        for name in ("simple", "gru", "lstm")
    }
    return {**{name: layers_of(shape)[name] for name in ("LSTM", "GRU")}, **layers}


def cudnn_layers_of(shape: Shape) -> dict[str, keras.layers.Layer]:
    every = {"return_sequences": True, "use_cudnn": True}
    return {
        "LSTM, cuDNN": keras.layers.LSTM(shape.units, **every),
        "GRU, cuDNN": keras.layers.GRU(shape.units, **every),
    }


def training_step(run, weights, jit_compile=True):
    """One step of training as one program: `run` gives the outputs, `weights` are updated."""

    @tf.function(jit_compile=jit_compile)
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(run()))
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(LEARNING_RATE * gradient)
        return loss

    return step


def step_of_layer(layer, shape: Shape, masked: bool = False, jit_compile: bool = True):
    inputs = tf.random.normal([shape.batch, WINDOW, shape.features])
    lengths = tf.random.uniform([shape.batch], 1, WINDOW + 1, tf.int32)
    mask = tf.sequence_mask(lengths, WINDOW) if masked else None
    layer.build(inputs.shape)
    weights = [weight.value for weight in layer.trainable_weights]
    return training_step(lambda: layer(inputs, mask=mask, training=True), weights, jit_compile)


def step_of_population(replicas: int, windows: int, shape: Shape):
    """The kernels with a replica axis: so many independent models trained together.

    Args:
        replicas: Number of models.
        windows: Steps in one call of the program, each with inputs of its own.
        shape: Their shape.
    """
    layout = MemoryLayout(STACK.using(no_op=False), read_depth=2)
    inputs = tf.random.normal([replicas, windows, shape.features, WINDOW * shape.batch])
    weights = {
        name: tf.Variable(tf.random.normal([replicas, *sizes], stddev=0.1))
        for name, sizes in (
            ("kernel", (shape.units, shape.features)),
            ("memory_kernel", (shape.units, layout.read_depth * shape.stacks)),
            ("control_kernel", (layout.controls * shape.stacks, shape.units)),
        )
    }

    def update(inputs, weights):
        """The losses, and the weights after a step."""
        group = inputs.shape[0]
        with tf.GradientTape() as tape:
            tape.watch(weights)
            hiddens, *_ = scan(
                Scan(layout, Simple(), starts_empty=True),
                steps_first(tf.matmul(weights["kernel"], inputs), WINDOW),
                {"hidden": tf.zeros([group, shape.units, shape.batch])},
                tf.fill([group, CAPACITY, shape.stacks * shape.batch], EMPTY),
                {name: weights[name] for name in ("memory_kernel", "control_kernel")},
            )
            # Over time first: XLA adds whole steps faster than what lies apart within them.
            losses = tf.reduce_mean(tf.reduce_mean(tf.square(hiddens), axis=0), axis=[1, 2])
        gradients = tape.gradient(losses, weights)
        return losses, {name: w - LEARNING_RATE * gradients[name] for name, w in weights.items()}

    def updates(inputs, weights):
        """The losses of a call's last step, and the weights after it."""
        if windows == 1:
            return update(inputs[:, 0], weights)
        _, losses, weights = tf.while_loop(
            lambda i, *_: i < windows,
            lambda i, losses, weights: (i + 1, *update(inputs[:, i], weights)),
            (0, tf.zeros(inputs.shape[:1]), weights),
            maximum_iterations=windows,
        )
        return losses, weights

    is_alone = replicas == 1
    updates_of_all = updates if is_alone else replica_groups(updates, axes=(0, 0))

    # A model alone is fastest as one XLA program, the assignments included.
    @tf.function(jit_compile=is_alone)
    def step():
        values = {name: tf.convert_to_tensor(weight) for name, weight in weights.items()}
        losses, updated = updates_of_all(inputs, values)
        for name, weight in weights.items():
            weight.assign(updated[name])
        return losses

    return step


LAYERS = {
    "kinds": layers_of_other_kinds,
    "masked": masked_layers_of,
    "controllers": layers_with_controllers,
}


def steps_of(name: str) -> dict:
    """What is measured at a shape: a function a variant, and how many calls of it are one step."""
    shape = SHAPES[name]
    if name != "replicas":
        layers = LAYERS.get(name, layers_of)(shape)
        steps = {
            variant: (step_of_layer(layer, shape, masked=variant.endswith(", masked")), 1)
            for variant, layer in layers.items()
        }
        if tf.config.list_physical_devices("GPU"):
            for variant, layer in cudnn_layers_of(shape).items():
                steps[variant] = step_of_layer(layer, shape, jit_compile=False), 1
        return steps
    # A run of its own calls one program again and again, and costs the same whichever of the 32.
    return {
        "LSTM": (step_of_layer(layers_of(shape)["LSTM"], shape), 1),
        RUNS: (step_of_population(1, 1, shape), REPLICAS),
        RUNS_BY_EPISODE: (step_of_population(1, EPISODE, shape), REPLICAS / EPISODE),
        TOGETHER: (step_of_population(REPLICAS, EPISODE, shape), 1 / EPISODE),
    }


def seconds_a_step(steps: dict, rounds: int) -> dict[str, float]:
    for step, _ in steps.values():
        for _ in range(WARM_UPS):
            step().numpy()
    seconds = {variant: [] for variant in steps}
    for _ in range(rounds):
        for variant, (step, calls) in steps.items():
            start = time.perf_counter()
            for _ in range(round(STEPS_A_ROUND * calls)):
                loss = step()
            loss.numpy()
            seconds[variant].append((time.perf_counter() - start) / STEPS_A_ROUND)
    return {variant: statistics.median(times) for variant, times in seconds.items()}


def measure(name: str, rounds: int) -> list[dict]:
    shape = SHAPES[name]
    seconds = seconds_a_step(steps_of(name), rounds)
    rows = []
    for variant, median in seconds.items():
        models = REPLICAS if variant.startswith(f"{REPLICAS} ") else 1
        symbols = models * shape.batch * WINDOW / median
        lstm = shape.batch * WINDOW / seconds["LSTM"]
        row = {
            "benchmark": "train_step",
            "device": device(),
            "shape": name,
            "variant": variant,
            "units": shape.units,
            "batch": shape.batch,
            "window": WINDOW,
            "milliseconds": round(1000 * median, 3),
            "symbols_a_second": round(symbols),
            "ratio_to_lstm": round(symbols / lstm, 2),
        }
        for (faster, slower), ratio in shape.required.items():
            if faster == variant:
                reached = round(seconds[slower] / median, 2)
                row.setdefault("required", {})[slower] = {"ratio": ratio, "reached": reached}
        rows.append(row)
    return rows


def device() -> str:
    """What is measured."""
    for gpu in tf.config.list_physical_devices("GPU"):
        return tf.config.experimental.get_device_details(gpu).get("device_name", "GPU")
    return f"{os.cpu_count()} CPUs, {platform.processor() or platform.machine()}"


def print_table(rows: list[dict]) -> None:
    print(device())
    print(f"{'shape':<16} {'variant':<24} {'ms':>9} {'symbols/s':>11} {'to LSTM':>8}  required")
    for row in rows:
        required = ", ".join(
            f"{goal['reached']} to {slower} (at least {goal['ratio']})"
            for slower, goal in row.get("required", {}).items()
        )
        print(
            f"{row['shape']:<16} {row['variant']:<24} {row['milliseconds']:>9.2f} "
            f"{row['symbols_a_second']:>11,} {row['ratio_to_lstm']:>8.2f}  {required}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", default=",".join(SHAPES), help=f"of {', '.join(SHAPES)}")
    parser.add_argument("--rounds", type=int, default=15, help="timings a variant")
    arguments = parser.parse_args()
    names = arguments.shapes.split(",")
    for name in names:
        if name not in SHAPES:
            parser.error(f"expected --shapes of {', '.join(SHAPES)}, got {name!r}")

    tf.get_logger().setLevel("ERROR")  # each variant is a function of its own, and means to be
    keras.utils.set_random_seed(0)
    rows = [row for name in names for row in measure(name, arguments.rounds)]
    print_table(rows)
    for row in rows:
        print(json.dumps(row))


if __name__ == "__main__":
    main()
