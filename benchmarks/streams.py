"""Symbols a second that a stream of windows writes, for every pattern, on one core.

    python benchmarks/streams.py

NumPy does all of the work in one thread, so the figure is one core's. Prints a table and a JSON
line for each row. Takes about fifteen seconds.
"""

import json
import time

from keras_stackrnn import patterns
from keras_stackrnn.training.streams import Stream

LANES = 32
WINDOW = 50
WINDOWS_A_CALL = 16
SECONDS_A_TRIAL = 0.4
TRIALS = 3


def symbols_a_second(pattern: str) -> float:
    """The best of a few trials, n drawn up to 19 as in training."""
    stream = Stream(pattern, lanes=LANES, window=WINDOW)
    return max(_run_trial(stream) for _ in range(TRIALS))


def _run_trial(stream: Stream) -> float:
    symbols = 0
    start = time.perf_counter()
    while (elapsed := time.perf_counter() - start) < SECONDS_A_TRIAL:
        symbols += stream.next_windows(WINDOWS_A_CALL).tokens.size
    return symbols / elapsed


def main() -> None:
    rows = [
        {
            "benchmark": "streams",
            "pattern": name,
            "required": 3_000_000 if patterns.get(name).next_first_is_deterministic else 1_000_000,
            "symbols_a_second": round(symbols_a_second(name)),
        }
        for name in (*patterns.names(), "memorize_10")
    ]
    print(f"{'pattern':<16} {'symbols/s':>13} {'required':>11}")
    for row in rows:
        print(f"{row['pattern']:<16} {row['symbols_a_second']:>13,} {row['required']:>11,}")
    for row in rows:
        print(json.dumps(row))


if __name__ == "__main__":
    main()
