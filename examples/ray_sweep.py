"""Learns tasks with several seeds on a Ray cluster, and makes a table of what came of it.

    pip install "keras-stackrnn[cluster]"
    python examples/ray_sweep.py                         # Ray on the cores of this machine
    python examples/ray_sweep.py auto                    # the cluster that runs here
    python examples/ray_sweep.py ray://head.example:10001

Stop it as you like, or take a node away: the same command goes on. Each run is the one that it is
on one machine without Ray, `python train.py --task=… --seed=…`, to the bit.
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from keras_stackrnn.training import TrainingConfig
from keras_stackrnn.training.sweep import Sweep, results

TASKS = ("anbn", "anb2n", "memorize")
SEEDS = (1, 2, 3)


def main(
    cluster: str = "local",
    folder: str = "runs/ray_sweep",
    tasks: tuple[str, ...] = TASKS,
    seeds: tuple[int, ...] = SEEDS,
    **values,
) -> list[dict]:
    """Runs what is left to run, and returns the table's rows; `values` hold for all runs."""
    configs = [
        TrainingConfig.from_recipe(
            task, seed=seed, output_dir=f"{folder}/{task.replace('/', '-')}-{seed}", **values
        )
        for task in tasks
        for seed in seeds
    ]
    sweep = Sweep(configs, f"python examples/ray_sweep.py {cluster}", cluster=cluster)
    for job in sweep.run():
        print(f"{job.name} failed: {job.words}")
    rows = results.write(sweep.jobs, Path(folder))
    print("\n".join(results.table_of(rows)))
    return rows


if __name__ == "__main__":
    main(*sys.argv[1:2])
