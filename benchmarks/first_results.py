"""How long a training takes from the prompt to its results, and to the next prompt.

    python benchmarks/first_results.py
    python benchmarks/first_results.py --against=DIR   # beside another clone, in turn

Runs `train.py` on two of the paper's tasks in processes of their own, as a newcomer does: imports,
compiling, training, evaluation, pictures and export. Prints medians of the clock and of the
processor time, of which others on the machine disturb the former much and the latter some: a clock
is worth reading on a machine that does nothing else. About two minutes for each clone.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parents[1]
TASKS = ("anbn", "memorize")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", type=Path, help="another clone")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each")
    asked = parser.parse_args()
    clones = [HERE, *([asked.against.resolve()] if asked.against else [])]
    for task in TASKS:
        taken = {clone: [] for clone in clones}
        for _ in range(asked.rounds):
            for clone, runs in taken.items():
                runs.append(run(clone, task))
        medians = [np.median(taken[clone], axis=0).tolist() for clone in clones]
        for clone, (clock, processors) in zip(clones, medians, strict=True):
            print(f"{task:<9} {clock:6.1f} s, processors {processors:6.1f} s  {clone}")
        row = {"benchmark": "first_results", "task": task, "seconds": medians[0][0]}
        if asked.against:
            row["ratio"] = round(medians[0][0] / medians[1][0], 2)
        print(json.dumps(row))


def run(clone: Path, task: str) -> tuple[float, float]:
    """The seconds of a run by the clock and of the processors."""
    environment = {**os.environ, "PYTHONPATH": str(clone)}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "train.py", f"--task={task}", f"--output_dir={folder}/run"]
        before, begin = _of_children(), time.perf_counter()
        done = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True)
        clock = time.perf_counter() - begin
    if done.returncode:
        sys.exit(done.stderr)
    return clock, _of_children() - before


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
