"""Measures what the models learn of the patterns, and writes it down.

    python reproduce/patterns.py
    python reproduce/patterns.py --tasks=anbn,memorize --models=stack,list --seeds=1,2,3

There is a run on each core. One that is finished is not repeated, and one that was stopped goes on.
After every run `results/` gets the table (patterns.md), the same as data (patterns.json) and the
pictures. A row that is there already stays until it is measured again.
"""

import dataclasses
import json
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from absl import app, flags, logging

from keras_stackrnn.models import has_memory
from keras_stackrnn.trace import figures
from keras_stackrnn.training import TrainingConfig, run_folder
from keras_stackrnn.training.files import write_aside
from keras_stackrnn.training.sweep import places
from keras_stackrnn.training.sweep.script import measure

TASKS = ("anbn", "anbncn", "anbncndn", "anb2n", "anbmcnm", "memorize", "binary_addition")
DEFAULT_SEED = 1
OTHER_SEEDS = tuple(range(2, 12))

MODELS = {
    "stack": {"model": "stack"},
    "list": {"model": "list"},
    **{f"rnn {units}": {"model": "rnn", "units": units} for units in (40, 100, 500)},
    **{
        f"lstm {layers}x{units}": {"model": "lstm", "units": units, "layers": layers}
        for layers in (1, 2)
        for units in (50, 100, 200)
    },
}
# What a baseline gets for a task at most: longer than a stack or a list needs.
BASELINE_MINUTES = {"binary_addition": 6.0}
OTHER_BASELINE_MINUTES = 3.0


def define_flags(values: flags.FlagValues) -> None:
    options = {"flag_values": values}
    seeds = [str(seed) for seed in (DEFAULT_SEED, *OTHER_SEEDS)]
    flags.DEFINE_list("tasks", list(TASKS), "Tasks to learn.", **options)
    flags.DEFINE_list("models", list(MODELS), "Models to learn them.", **options)
    flags.DEFINE_list("seeds", seeds, "Seeds; the baselines have the first alone.", **options)
    flags.DEFINE_string("runs", "runs/patterns", "Folder for the runs.", **options)
    places.define_flags(values)
    flags.DEFINE_string("results", "results", "Folder for the table.", **options)


def config_of(task: str, model: str, seed: int, runs: Path) -> TrainingConfig:
    folder = runs / f"{task}-{model.replace(' ', '-')}-{seed}"
    values = {**MODELS[model], "seed": seed, "output_dir": str(folder)}
    if not has_memory(model):
        values["minutes"] = BASELINE_MINUTES.get(task, OTHER_BASELINE_MINUTES)
    return TrainingConfig.from_recipe(task, **values)


def planned(tasks: list[str], models: list[str], seeds: list[int]) -> list[tuple[str, str, int]]:
    """All runs, those of the first seed before those of the others."""
    return [
        (task, model, seed)
        for seed in seeds
        for model in models
        for task in tasks
        if seed == seeds[0] or has_memory(model)
    ]


def row_of(task: str, model: str, seed: int, runs: Path) -> dict | None:
    """The figures of a run that is finished."""
    config = config_of(task, model, seed, runs)
    path = Path(config.output_dir) / run_folder.EVALUATION
    if not path.exists():
        return None
    evaluation = json.loads(path.read_text())
    rounded = evaluation["rounded"]
    ended = [each for each in evaluation["restarts"] if each["outcome"] != "alive"]
    solved = sum(each["outcome"] == "solved" for each in ended)
    as_by_hand = dataclasses.replace(config, output_dir=f"runs/{task}")
    return {
        "task": task,
        "model": model,
        "seed": seed,
        "soft": evaluation["soft"]["percent_n_correct"],
        "rounded": rounded and rounded["percent_n_correct"],
        "rounded_beyond": rounded and rounded["beyond"],
        "in_a_row": {way: each["right"] for way, each in evaluation["in_a_row"].items()},
        "restarts": len(ended),
        "restarts_that_solved_it": solved / len(ended) if ended else None,
        "minutes": round(evaluation["wall_seconds"] / 60, 2),
        "command": as_by_hand.command(),
    }


def write_results(runs: Path, results: Path) -> None:
    """What is finished: as data, as a table, and as pictures."""
    data = results / "patterns.json"
    earlier = json.loads(data.read_text()) if data.exists() else []
    known = {(row["task"], row["model"], row["seed"]): row for row in earlier}
    everything = planned(list(TASKS), list(MODELS), [DEFAULT_SEED, *OTHER_SEEDS])
    rows = [row for each in everything if (row := row_of(*each, runs) or known.get(each))]
    results.mkdir(parents=True, exist_ok=True)
    text = json.dumps(rows, indent=2) + "\n"
    write_aside(data, lambda aside: aside.write_text(text))
    table = "\n".join(_table(rows)) + "\n"
    write_aside(results / "patterns.md", lambda aside: aside.write_text(table))
    first = [row for row in rows if row["seed"] == DEFAULT_SEED]
    for task in dict.fromkeys(row["task"] for row in first):
        if folders := _folders([row for row in first if row["task"] == task], runs):
            _draw(results / f"{task}_accuracy.png", figures.accuracy_of_runs(folders))
    for model in filter(has_memory, MODELS):
        if folders := _folders([row for row in first if row["model"] == model], runs):
            _draw(results / f"{model}_restarts.png", figures.success_of_restarts(folders))


def _folders(rows: list[dict], runs: Path) -> list[str]:
    """The runs of these rows, or none of them if some were made elsewhere: a picture shows all."""
    folders = [config_of(row["task"], row["model"], row["seed"], runs).output_dir for row in rows]
    made_here = all((Path(folder) / run_folder.EVALUATION).exists() for folder in folders)
    return folders if made_here else []


def _draw(path: Path, figure) -> None:
    write_aside(path, lambda aside: figure.savefig(aside, format="png", dpi=150))


def _table(rows: list[dict]) -> list[str]:
    lines = [
        "# Patterns",
        "",
        "Every model is trained on n below 20. A figure is the percentage of the n from the "
        "pattern's smallest to 60",
        "with all of 200 test sequences right; `far` is the share of sequences that are right at "
        "n = 200 and n = 1,000,",
        "rounded; `in a row`, how many of 200 sequences of all n are right, rounded, if the memory "
        "is not emptied between them.",
        "Minutes are those of the whole command on a machine with two cores, which some runs had "
        "to share.",
        "Restarts are those of all seeds together.",
        "`python reproduce/patterns.py` measures it all; patterns.json has every seed.",
        "",
        "| task | model | soft | rounded | far | in a row | minutes "
        "| other seeds with 100% rounded | with 100% soft | restarts that solved it | command |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        if row["seed"] != DEFAULT_SEED:
            continue
        same = [each for each in rows if all(each[k] == row[k] for k in ("task", "model"))]
        others = [each for each in same if each["seed"] != DEFAULT_SEED]
        far = (row["rounded_beyond"] or {}).values()
        restarts = sum(each["restarts"] for each in same)
        solved = sum((each["restarts_that_solved_it"] or 0) * each["restarts"] for each in same)
        cells = [
            row["task"],
            row["model"],
            f"{row['soft']:.1f}",
            "-" if row["rounded"] is None else f"{row['rounded']:.1f}",
            " / ".join(f"{share:.0%}" for share in far) or "-",
            f"{row.get('in_a_row', {}).get('rounded', '-')}",
            f"{row['minutes']:.1f}",
            _share_of(others, "rounded"),
            _share_of(others, "soft"),
            f"{round(solved)} of {restarts}",
            f"`{row['command']}`",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _share_of(rows: list[dict], way: str) -> str:
    if not rows:
        return "-"
    return f"{sum(row[way] == 100 for row in rows)} of {len(rows)}"


def main(arguments: list[str], values: flags.FlagValues = flags.FLAGS) -> None:
    """Runs what is asked for; a fault ends the program with one sentence."""
    logging.set_verbosity(logging.WARNING)
    for name, known in (("tasks", TASKS), ("models", MODELS)):
        for value in values[name].value:
            if value not in known:
                sys.exit(f"{name} must be some of {', '.join(known)}, got {value!r}.")
    runs, results = Path(values.runs), Path(values.results)
    to_run = planned(values.tasks, values.models, list(map(int, values.seeds)))
    measure(
        lambda: [config_of(*each, runs) for each in to_run],
        "python reproduce/patterns.py",
        lambda _: write_results(runs, results),
        **places.given(values),
    )


if __name__ == "__main__":
    define_flags(flags.FLAGS)
    app.run(main)
