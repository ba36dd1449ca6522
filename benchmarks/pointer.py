"""Whether rounded inference costs the same for every symbol, however deep the memory is.

    python benchmarks/pointer.py

Takes 100,000, 200,000 and 1,000,000 symbols through a `StackRNN` and a `ListRNN` with
`rounding=True`, the memory growing to half of them, and prints the ratio of the times for 200,000
and 100,000: 2 if the cost is linear, to be at most 2.3. Compiled (eager calls compile chunks) and
as an ordinary graph, which is what is served; a table, then a JSON line for each row. The first run
of each length compiles and is not counted. Takes about two minutes on two cores.
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
LENGTHS = {"compiled": (100_000, 200_000, 1_000_000), "graph": (100_000, 200_000)}
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


def seconds(run, length: int) -> float:
    inputs = there_and_back(length)
    run(inputs)
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run(inputs)[0, -1].numpy()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    rows = []
    for layer_class in (StackRNN, ListRNN):
        layer = counting_layer(layer_class)
        graph = tf.function(layer, input_signature=[tf.TensorSpec([None, None, FEATURES])])
        for way, run in (("compiled", layer), ("graph", graph)):
            times = {length: seconds(run, length) for length in LENGTHS[way]}
            rows += [
                {
                    "benchmark": "pointer",
                    "layer": layer_class.__name__,
                    "way": way,
                    "symbols": length,
                    "seconds": round(time_taken, 3),
                    "microseconds_a_symbol": round(1e6 * time_taken / length, 2),
                    "ratio_of_200000_to_100000": round(times[200_000] / times[100_000], 2),
                }
                for length, time_taken in times.items()
            ]

    print(f"{'layer':<9} {'way':<9} {'symbols':>9} {'seconds':>8} {'µs/symbol':>10} {'ratio':>6}")
    for row in rows:
        print(
            f"{row['layer']:<9} {row['way']:<9} {row['symbols']:>9,} {row['seconds']:>8.2f} "
            f"{row['microseconds_a_symbol']:>10.2f} {row['ratio_of_200000_to_100000']:>6.2f}"
        )
    for row in rows:
        print(json.dumps(row))


if __name__ == "__main__":
    main()
