"""Runs tasks, models and seeds, one on each core, and makes a table of what they found.

    python -m keras_stackrnn.training.sweep --tasks=anbn,memorize --models=stack,list --seeds=1-5
    python -m keras_stackrnn.training.sweep --tasks=anbn --seeds=1-10 --memories=2
    python -m keras_stackrnn.training.sweep --tasks=anbn --seeds=1-100 --cluster=auto

Flags of a training hold for all runs. The same command goes on where it was stopped: runs that are
finished are not repeated. The table is in the folder (sweep.md, and sweep.json with the same).
"""

import sys
from pathlib import Path

from absl import flags, logging

from keras_stackrnn.training import command
from keras_stackrnn.training.configs import AnyConfig, config_class
from keras_stackrnn.training.sweep import places, results
from keras_stackrnn.training.sweep.script import measure
from keras_stackrnn.training.sweep.sweep import folder_of

CALLED = "python -m keras_stackrnn.training.sweep"
HELP = {
    "What to run": ("tasks", "models", "seeds"),
    "How": ("processes", "cluster", "output_dir"),
}
_OF_EACH = ("task", "model", "seed", "output_dir", "cluster", "mixed_nodes")


def define_flags(values: flags.FlagValues) -> None:
    options = {"flag_values": values}
    flags.DEFINE_list("tasks", [], "Tasks to learn.", **options)
    flags.DEFINE_list("models", ["stack"], "Models to learn them.", **options)
    flags.DEFINE_string("seeds", "1", "Seeds, as in 1-5,8.", **options)
    flags.DEFINE_string("output_dir", "runs/sweep", "Folder for the runs and the table.", **options)
    places.define_flags(values)
    command.define_value_flags(values, without=_OF_EACH)


def configs_from_flags(values: flags.FlagValues) -> list[AnyConfig]:
    """A configuration for each run; ValueError says what is wrong with the flags."""
    if not values.tasks:
        raise ValueError("--tasks is missing: give names of tasks, as in --tasks=anbn,memorize.")
    given = command.given_values(values, without=_OF_EACH)
    return [
        config_class(task).from_recipe(
            task,
            model,
            seed=seed,
            output_dir=folder_of(values.output_dir, task, model, seed),
            **given,
        )
        for seed in seeds_of(values.seeds)
        for model in values.models
        for task in values.tasks
    ]


def seeds_of(text: str) -> list[int]:
    """The seeds that "1-3,7" means."""
    seeds = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        if not first.strip().isdecimal() or not (last or first).strip().isdecimal():
            raise ValueError(f"--seeds are numbers and ranges, as in 1-5,8, got {text!r}.")
        seeds += range(int(first), int(last or first) + 1)
    if not seeds or len(set(seeds)) < len(seeds):
        raise ValueError(f"--seeds have to be different ones, from low to high, got {text!r}.")
    return seeds


def main(arguments: list[str], values: flags.FlagValues = flags.FLAGS) -> None:
    """Runs what is asked for; a fault ends the program with one sentence."""
    logging.set_verbosity(logging.WARNING)
    folder = Path(values.output_dir)
    if len(arguments) > 1:
        sys.exit(f"Everything is a flag, got {arguments[1]!r}.")
    measure(
        lambda: configs_from_flags(values),
        CALLED,
        lambda jobs: results.write(jobs, folder),
        **places.given(values),
    )
    print("\n".join(results.table_of(results.read(folder))))
    print(f"\nIn {folder}: {results.TABLE}, {results.DATA}, and a folder for each run.")


if __name__ == "__main__":
    from keras_stackrnn import command_line

    command_line.run(sys.modules[__name__])
