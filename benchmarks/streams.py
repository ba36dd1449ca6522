"""Symbols a second that tasks draw, and places a second that windows of them hold, on one core.

    python benchmarks/streams.py

`rows` are sequences by themselves, all sizes of training as likely; their symbols are counted, the
marks and answers included. `windows` are what a search reads: their places are counted, those at a
window's end that hold nothing included. NumPy does all of the work in one thread, so the figures
are one core's. Prints a table and a JSON line for each row. Takes about a minute.
"""

import json
import time
from collections.abc import Callable

import numpy as np

from keras_stackrnn import tasks
from keras_stackrnn.training.data import TrainingData

LANES = 32
WINDOW = 50
WINDOWS_A_CALL = 16
ROWS_A_CALL = 1024
SECONDS_A_TRIAL = 0.2
TRIALS = 3
REQUIRED = 1_000_000
REQUIRED_OF_COUNTING = 3_000_000


def names() -> list[str]:
    """All tasks, but of each small language one set of strings, and one task of a family."""
    other_sets = ("_100", "_250", "_1000")
    return [
        *(n for n in tasks.names() if not (n.startswith("small/") and n.endswith(other_sets))),
        "memorize_10",
    ]


def rows_drawn(task: tasks.Task) -> Callable[[], int]:
    """Draws sequences that nobody has drawn before, and counts their symbols."""
    generator = np.random.default_rng(0)

    def draw() -> int:
        numbers = generator.integers(0, 2**64, (2, ROWS_A_CALL), np.uint64)
        sizes = task.draw_sizes(numbers[0], task.train_sizes[-1])
        return int(task.rows(sizes, numbers[1]).lengths.sum())

    return draw


def windows_drawn(task: tasks.Task) -> Callable[[], int]:
    """Reads windows as a search does, and counts their places."""
    largest = task.train_sizes[-1]
    window = WINDOW if task.flows else max(WINDOW, task.places(largest))
    stream = TrainingData(task.name, largest, 1).stream(LANES, window, seed=0)
    return lambda: stream.next_windows(WINDOWS_A_CALL).tokens.size


def a_second(draw: Callable[[], int]) -> int:
    """The best of a few trials."""
    draw()
    return round(max(_run_trial(draw) for _ in range(TRIALS)))


def _run_trial(draw: Callable[[], int]) -> float:
    count = 0
    start = time.perf_counter()
    while (elapsed := time.perf_counter() - start) < SECONDS_A_TRIAL:
        count += draw()
    return count / elapsed


def main() -> None:
    rows = []
    for name in names():
        task = tasks.get(name)
        # What counting says follows from n, with nothing to draw for each symbol.
        counts = getattr(task, "next_first_is_deterministic", False)
        rows.append(
            {
                "benchmark": "streams",
                "task": name,
                "required": REQUIRED_OF_COUNTING if counts else REQUIRED,
                "rows": a_second(rows_drawn(task)),
                "windows": a_second(windows_drawn(task)),
            }
        )
    print(f"{'task':<36} {'rows':>13} {'windows':>13} {'required':>11}")
    for row in rows:
        print(f"{row['task']:<36} {row['rows']:>13,} {row['windows']:>13,} {row['required']:>11,}")
    for row in rows:
        print(json.dumps(row))


if __name__ == "__main__":
    main()
