"""Measures every row of the language-modelling table, and writes it down.

    python reproduce/penn_treebank.py --manual_dir=DIR
    python reproduce/penn_treebank.py --manual_dir=DIR --rows=lstm,stack

A row that is finished is not measured again, and one that was stopped goes on: each test is read
once. After every row `results/` gets the table (penn_treebank.md), the same as data
(penn_treebank.json) and the learning curves (penn_treebank.png). A row that is there already stays
until it is measured again.
"""

import dataclasses
import json
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from absl import app, flags, logging

from keras_stackrnn import corpus
from keras_stackrnn.ngram.__main__ import measure
from keras_stackrnn.training import LanguageModelConfig, RunError, learning_curve, run_folder, train
from keras_stackrnn.training.files import write_aside

NGRAMS = {"5-gram": False, "5-gram with a cache": True}
NETWORKS = {
    "rnn": {"model": "rnn"},
    "lstm": {"model": "lstm"},
    "srcn": {"model": "srcn"},
    "stack": {"model": "stack"},
    "stack tuned": {"model": "stack", "recipe": "tuned"},
}
MINUTES = 85.0
FIGURES = "figures.json"


def define_flags(values: flags.FlagValues) -> None:
    options = {"flag_values": values}
    flags.DEFINE_string("manual_dir", None, "Folder with Penn Treebank's files.", **options)
    flags.DEFINE_list("rows", [*NGRAMS, *NETWORKS], "Rows to measure.", **options)
    flags.DEFINE_string("runs", "runs/penn_treebank", "Folder for the runs.", **options)
    flags.DEFINE_string("results", "results", "Folder for the table.", **options)


def measure_row(name: str, manual_dir: str, runs: Path) -> None:
    """Measures a row unless it is finished, and leaves its figures among the runs."""
    folder = runs / name.replace(" ", "-")
    if (folder / FIGURES).exists():
        return
    if name in NGRAMS:
        row = measure_ngram(name, manual_dir)
    else:
        row = measure_network(name, manual_dir, folder)
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(row, indent=2) + "\n"
    write_aside(folder / FIGURES, lambda aside: aside.write_text(text))


def measure_ngram(name: str, manual_dir: str) -> dict:
    figures = measure(corpus.penn_treebank(manual_dir), order=5, use_cache=NGRAMS[name])
    command = "python -m keras_stackrnn.ngram --manual_dir=DIR"
    return {
        "model": name,
        "validation_perplexity": figures["validation_perplexity"],
        "test_perplexity": figures["test_perplexity"],
        "parameters": figures["parameters"],
        "epochs": 1,
        "minutes": round(figures["seconds"] / 60, 2),
        "seed": None,
        "command": command + " --cache" * NGRAMS[name],
        "curve": [],
    }


def measure_network(name: str, manual_dir: str, folder: Path) -> dict:
    config = LanguageModelConfig.from_recipe(
        "penn_treebank",
        manual_dir=manual_dir,
        output_dir=str(folder),
        minutes=MINUTES,
        **NETWORKS[name],
    )
    evaluation = train(config, resume=(folder / run_folder.CONFIG).exists()).evaluation
    anywhere = dataclasses.replace(config, manual_dir="DIR", output_dir="runs/penn_treebank")
    return {
        "model": name,
        "validation_perplexity": evaluation["validation_perplexity"],
        "test_perplexity": evaluation["test_perplexity"],
        "parameters": evaluation["parameters"],
        "epochs": len(evaluation["epochs"]),
        "minutes": round(evaluation["wall_seconds"] / 60, 1),
        "seed": config.seed,
        "command": anywhere.command(),
        "curve": [epoch["validation_perplexity"] for epoch in evaluation["epochs"]],
    }


def write_results(runs: Path, results: Path) -> None:
    """The table of the rows that are finished, in three forms."""
    data = results / "penn_treebank.json"
    earlier = json.loads(data.read_text()) if data.exists() else []
    found = [json.loads(path.read_text()) for path in runs.glob(f"*/{FIGURES}")]
    known = {row["model"]: row for row in [*earlier, *found]}
    rows = [known[name] for name in [*NGRAMS, *NETWORKS] if name in known]
    curves = {row["model"]: row["curve"] for row in rows if row["curve"]}
    results.mkdir(parents=True, exist_ok=True)
    text = json.dumps(rows, indent=2) + "\n"
    write_aside(data, lambda aside: aside.write_text(text))
    table = "\n".join(_table(rows)) + "\n"
    write_aside(results / "penn_treebank.md", lambda aside: aside.write_text(table))
    if curves:
        write_aside(
            results / "penn_treebank.png",
            lambda aside: learning_curve.draw(aside, "Penn Treebank, validation", curves),
        )


def _table(rows: list[dict]) -> list[str]:
    lines = [
        "# Penn Treebank",
        "",
        "Perplexity by word, of every token including `<eos>`: 73,760 of validation, 82,430 of the "
        "test, which is",
        "read once, at the end. `DIR` holds the corpus. `python reproduce/penn_treebank.py "
        "--manual_dir=DIR` measures it all.",
        "",
        "| model | validation | test | parameters | epochs | minutes | seed | command |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        seed = "-" if row["seed"] is None else row["seed"]
        lines.append(
            f"| {row['model']} | {row['validation_perplexity']:.1f} "
            f"| {row['test_perplexity']:.1f} | {row['parameters']:,} | {row['epochs']} "
            f"| {row['minutes']} | {seed} | `{row['command']}` |"
        )
    return lines


def main(arguments: list[str], values: flags.FlagValues = flags.FLAGS) -> None:
    """Measures the rows; a fault ends the program with one sentence."""
    logging.set_verbosity(logging.WARNING)
    rows = [*NGRAMS, *NETWORKS]
    for name in values.rows:
        if name not in rows:
            sys.exit(f"rows must be some of {'; '.join(rows)}, got {name!r}.")
    for name in values.rows:
        try:
            measure_row(name, values.manual_dir, Path(values.runs))
        except (RunError, ValueError) as error:
            sys.exit(str(error))
        write_results(Path(values.runs), Path(values.results))


if __name__ == "__main__":
    define_flags(flags.FLAGS)
    app.run(main)
