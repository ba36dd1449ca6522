"""Measures what the searches find for the tasks of the Chomsky hierarchy, and writes it down.

    python reproduce/chomsky.py
    python reproduce/chomsky.py --tasks=parity_check,even_pairs --seeds=1,2,3,4

There is a run on each core. One that is finished is not repeated, and one that was stopped goes on.
After every run `results/` gets the table (chomsky.md) and the same as data (chomsky.json). A row
that is there already stays until it is measured again.
"""

import dataclasses
import json
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from absl import app, flags, logging

from keras_stackrnn.training import TrainingConfig, run_folder
from keras_stackrnn.training.files import write_aside
from keras_stackrnn.training.sweep import places
from keras_stackrnn.training.sweep.script import measure

SUITE = "chomsky"
# The recipes were made with the first seed. Of the tasks that have no recipe of their own, the
# search is what any task gets, and minutes are all that is said.
WITH_RECIPE = (
    "reverse_string",
    "stack_manipulation",
    "parity_check",
    "even_pairs",
    "bucket_sort",
    "cycle_navigation",
    "missing_duplicate_string",
    "modular_arithmetic",
)
WITHOUT = (
    "modular_arithmetic_brackets",
    "solve_equation",
    "duplicate_string",
    "odds_first",
    "binary_addition",
    "binary_multiplication",
    "compute_sqrt",
)
TASKS = (*WITH_RECIPE, *WITHOUT)
MINUTES_WITHOUT = 2.0
DEFAULT_SEED = 1
OTHER_SEEDS = (2, 3, 4)
# The Stack-RNN of Delétang et al. (2023), the best of ten seeds and three learning rates.
PUBLISHED = {
    "even_pairs": 100,
    "modular_arithmetic": 100,
    "parity_check": 100,
    "cycle_navigation": 100,
    "modular_arithmetic_brackets": 96.1,
    "reverse_string": 100,
    "solve_equation": 56.2,
    "stack_manipulation": 100,
    "binary_addition": 52.7,
    "binary_multiplication": 52.7,
    "compute_sqrt": 56.5,
    "duplicate_string": 52.8,
    "missing_duplicate_string": 55.2,
    "odds_first": 51.9,
    "bucket_sort": 78.1,
}


def define_flags(values: flags.FlagValues) -> None:
    seeds = [str(seed) for seed in (DEFAULT_SEED, *OTHER_SEEDS)]
    flags.DEFINE_list("tasks", list(TASKS), "Tasks to learn.", flag_values=values)
    flags.DEFINE_list("seeds", seeds, "Seeds.", flag_values=values)
    flags.DEFINE_string("runs", "runs/chomsky", "Folder for the runs.", flag_values=values)
    flags.DEFINE_string("results", "results", "Folder for the table.", flag_values=values)
    places.define_flags(values)


def config_of(task: str, seed: int, runs: Path) -> TrainingConfig:
    values = {"seed": seed, "output_dir": str(runs / f"{task}-{seed}")}
    if task in WITHOUT:
        values["minutes"] = MINUTES_WITHOUT
    return TrainingConfig.from_recipe(f"{SUITE}/{task}", **values)


def planned(tasks: list[str], seeds: list[int]) -> list[tuple[str, int]]:
    """All runs, those of the first seed before those of the others."""
    return [
        (task, seed)
        for seed in seeds
        for task in tasks
        if seed == DEFAULT_SEED or task in WITH_RECIPE
    ]


def row_of(task: str, seed: int, runs: Path) -> dict | None:
    """The figures of a run that is finished."""
    folder = runs / f"{task}-{seed}"
    if not (folder / run_folder.EVALUATION).exists():
        return None
    evaluation = json.loads((folder / run_folder.EVALUATION).read_text())
    config = dataclasses.replace(run_folder.read_config(folder), output_dir=f"runs/{SUITE}/{task}")
    ended = [each["outcome"] for each in evaluation["restarts"] if each["outcome"] != "alive"]
    return {
        "task": task,
        "seed": seed,
        "model": evaluation["model"],
        "controller": config.controller,
        "units": config.units,
        "memories": config.memories,
        **{way: _scores(evaluation[way]) for way in ("soft", "rounded")},
        "restarts": len(ended),
        "restarts_that_solved_it": ended.count("solved"),
        "symbols": evaluation["symbols"],
        "minutes": round(evaluation["wall_seconds"] / 60, 2),
        "command": config.command(),
    }


def _scores(found: dict | None) -> dict | None:
    """The score of the benchmark, the mean over the lengths; and the lengths without a mistake."""
    if found is None:
        return None
    return {
        "mean": found["mean"],
        "percent_n_correct": found["percent_n_correct"],
        "sequences": found["sequences"],
    }


def write_results(runs: Path, results: Path) -> None:
    """What is finished: as data, and as a table."""
    data = results / "chomsky.json"
    earlier = json.loads(data.read_text()) if data.exists() else []
    known = {(row["task"], row["seed"]): row for row in earlier}
    everything = planned(list(TASKS), [DEFAULT_SEED, *OTHER_SEEDS])
    rows = [row for each in everything if (row := row_of(*each, runs) or known.get(each))]
    results.mkdir(parents=True, exist_ok=True)
    text = json.dumps(rows, indent=2) + "\n"
    write_aside(data, lambda aside: aside.write_text(text))
    table = "\n".join(_table(rows)) + "\n"
    write_aside(results / "chomsky.md", lambda aside: aside.write_text(table))


_INTRODUCTION = """\
# Chomsky hierarchy

The benchmark of Delétang et al. (2023): every model is trained on inputs of length 1 to 40 and
tested on all lengths from 41 to 500, rounded with 512 sequences of each, and soft with as many as
take half a minute (chomsky.json says how many). A figure is the percentage of symbols that are
right, the mean over the lengths; `all right` is the percentage of the lengths without a single
mistake, rounded if there is a memory. There are no computation places, auxiliary losses or chains
of tasks. `published` is the Stack-RNN in the table of the benchmark's own paper, the maximum over
ten seeds and three learning rates; here each seed is one search over its restarts, and the test
chooses nothing.

`missing_duplicate_string` is a parity in disguise: the exclusive or of the bits that can be seen is
the one that is missing, and no memory is needed.

Minutes are those of the whole command on a machine with two cores that other work shared.
`python reproduce/chomsky.py` measures it all; chomsky.json has every seed.
"""
_HEADS = (
    "task",
    "model",
    "soft",
    "rounded",
    "all right",
    "published",
    "other seeds, soft",
    "other seeds, rounded",
    "minutes",
    "restarts that solved it",
    "command",
)


def _table(rows: list[dict]) -> list[str]:
    lines = [*_INTRODUCTION.splitlines(), "", *_rows_of([_HEADS, ["---"] * len(_HEADS)])]
    for row in rows:
        if row["seed"] != DEFAULT_SEED:
            continue
        same = [each for each in rows if each["task"] == row["task"]]
        others = [each for each in same if each["seed"] != DEFAULT_SEED]
        restarts = sum(each["restarts"] for each in same)
        solved = sum(each["restarts_that_solved_it"] for each in same)
        best = row["rounded"] or row["soft"]
        memories = f"{row['memories']} {row['model']}" if row["rounded"] else row["model"]
        controller = "" if row["controller"] == "simple" else f", {row['controller']}"
        cells = [
            row["task"],
            f"{memories}{controller}, {row['units']} units",
            _figure(row["soft"]),
            _figure(row["rounded"]),
            f"{best['percent_n_correct']:.1f}",
            f"{PUBLISHED[row['task']]}",
            ", ".join(_figure(each["soft"]) for each in others) or "-",
            ", ".join(_figure(each["rounded"]) for each in others) or "-",
            f"{row['minutes']:.1f}",
            f"{solved} of {restarts}",
            f"`{row['command']}`",
        ]
        lines += _rows_of([cells])
    missing = [task for task in TASKS if not any(row["task"] == task for row in rows)]
    if missing:
        lines += ["", f"Not measured yet: {', '.join(missing)}."]
    return lines


def _rows_of(rows) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in rows]


def _figure(scores: dict | None) -> str:
    """A score in percent, rounded down, so that 100.0 always means all of it."""
    return "-" if scores is None else f"{int(10 * scores['mean']) / 10:.1f}"


def main(arguments: list[str], values: flags.FlagValues = flags.FLAGS) -> None:
    """Runs what is asked for; a fault ends the program with one sentence."""
    logging.set_verbosity(logging.WARNING)
    for task in values.tasks:
        if task not in TASKS:
            sys.exit(f"tasks must be some of {', '.join(TASKS)}, got {task!r}.")
    runs, results = Path(values.runs), Path(values.results)
    to_run = planned(values.tasks, list(map(int, values.seeds)))
    measure(
        lambda: [config_of(*each, runs) for each in to_run],
        "python reproduce/chomsky.py",
        lambda _: write_results(runs, results),
        **places.given(values),
    )


if __name__ == "__main__":
    define_flags(flags.FLAGS)
    app.run(main)
