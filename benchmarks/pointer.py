"""Whether rounded inference costs the same for every symbol, however deep the memory is.

    python benchmarks/pointer.py

Takes symbols through a `StackRNN` and a `ListRNN` with `rounding=True`, the memory growing to half
of them, and prints how much longer twice as many take: 2 if the cost is linear, to be at most 2.3
for 200,000 symbols against 100,000. Eager calls compile chunks of steps; an ordinary graph is what
is served. Prints a table and a JSON line for each row; the first run of each length compiles and
is not counted. Takes about two minutes on two cores.
"""

import json
import os
import statistics
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

from keras_stackrnn import ListRNN, StackRNN

UNITS = 8
FEATURES = 2
LENGTHS = {"compiled": (100_000, 200_000, 1_000_000), "graph": (20_000, 40_000)}
ROUNDS = 3


def counting_layer(layer_class):
    """A layer that writes at the first symbol and goes back at the second, whatever it reads."""
    layer = layer_class(
        UNITS,
        rounding=True,
        use_recurrent_kernel=False,
        return_sequences=True,
        memory_initializer="zeros",
    )
    layer.build((1, None, FEATURES))
    one_unit_a_symbol = 20 * np.eye(FEATURES, UNITS) - 10
    action_a_unit = (
        20 * np.eye(UNITS, len(layer.cell.actions)) * (np.arange(UNITS) < FEATURES)[:, None]
    )
    layer.cell.kernel.assign(one_unit_a_symbol)
    layer.cell.action_kernel.assign(action_a_unit)
    return layer


def there_and_back(length: int) -> tf.Tensor:
    symbols = np.repeat([0, 1], length // 2)
    return tf.constant(np.eye(FEATURES, dtype="float32")[symbols][None])


def seconds(run, lengths) -> dict[int, float]:
    """The median time for each length, all of them in turn, round after round."""
    inputs = {length: there_and_back(length) for length in lengths}
    times = {length: [] for length in lengths}
    for sequence in inputs.values():
        run(sequence)
    for _ in range(ROUNDS):
        for length, sequence in inputs.items():
            start = time.perf_counter()
            run(sequence)[0, -1].numpy()
            times[length].append(time.perf_counter() - start)
    return {length: statistics.median(taken) for length, taken in times.items()}


def main() -> None:
    rows = []
    for layer_class in (StackRNN, ListRNN):
        layer = counting_layer(layer_class)
        graph = tf.function(layer, input_signature=[tf.TensorSpec([None, None, FEATURES])])
        for way, run in (("compiled", layer), ("graph", graph)):
            times = seconds(run, LENGTHS[way])
            once, twice, *_ = times.values()
            rows += [
                {
                    "benchmark": "pointer",
                    "layer": layer_class.__name__,
                    "way": way,
                    "symbols": length,
                    "seconds": round(time_taken, 3),
                    "microseconds_a_symbol": round(1e6 * time_taken / length, 2),
                    "ratio_of_twice_to_once": round(twice / once, 2),
                }
                for length, time_taken in times.items()
            ]

    print(f"{'layer':<9} {'way':<9} {'symbols':>9} {'seconds':>8} {'µs/symbol':>10} {'ratio':>6}")
    for row in rows:
        print(
            f"{row['layer']:<9} {row['way']:<9} {row['symbols']:>9,} {row['seconds']:>8.2f} "
            f"{row['microseconds_a_symbol']:>10.2f} {row['ratio_of_twice_to_once']:>6.2f}"
        )
    for row in rows:
        print(json.dumps(row))


if __name__ == "__main__":
    main()
