"""How long it takes to import the package, beside Keras, which it needs.

    python benchmarks/imports.py

Imports Keras, and Keras with the package, in fresh processes, in turn, and prints the median of
their user and system times, which others on the machine disturb less than a clock, and how much the
package adds: less than 5% is what it should. The first of each, which may have to compile and to
read from the disk, is not counted. Takes about a minute.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path

IMPORTS = {"keras": "import keras", "keras_stackrnn": "import keras, keras_stackrnn"}
ROUNDS = 9
ENVIRONMENT = {
    **os.environ,
    "KERAS_BACKEND": "tensorflow",
    "PYTHONPATH": str(Path(__file__).resolve().parents[1]),
    "TF_CPP_MIN_LOG_LEVEL": "3",
}


def seconds(statement: str) -> float:
    """The processor time of a fresh process that does this."""
    before = _of_children()
    done = subprocess.run(
        [sys.executable, "-c", statement], env=ENVIRONMENT, stderr=subprocess.PIPE, text=True
    )
    if done.returncode:
        sys.exit(done.stderr)
    return _of_children() - before


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    times = {name: [] for name in IMPORTS}
    for _ in range(1 + ROUNDS):
        for name, statement in IMPORTS.items():
            times[name].append(seconds(statement))
    medians = {name: statistics.median(taken[1:]) for name, taken in times.items()}
    added = medians["keras_stackrnn"] / medians["keras"] - 1
    for name, median in medians.items():
        print(f"{name:<15} {median:.2f} s")
    print(f"the package adds {added:.1%}")
    print(json.dumps({"benchmark": "imports", "seconds": medians, "added": round(added, 4)}))


if __name__ == "__main__":
    main()
