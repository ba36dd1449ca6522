"""Reads the programs out of trained networks, and writes down what is proved of them.

    python reproduce/extraction.py
    python reproduce/extraction.py --tasks=anbn,memorize --models=stack

Networks are those of `reproduce/patterns.py` with the default seed, trained where they are not
there yet. A network that has a row already is not looked at again; one that was trained anew is.
`results/` gets the table (extraction.md) and the same as data (extraction.json).
"""

import hashlib
import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from absl import app, flags, logging

from keras_stackrnn import model_files
from keras_stackrnn.extract import extract
from keras_stackrnn.extract.agreement import agreement, score
from keras_stackrnn.extract.changes import ChangeError
from keras_stackrnn.extract.prune import pruned
from keras_stackrnn.extract.sharpen import sharpened
from keras_stackrnn.training import RunError, TrainingConfig, run_folder, train
from keras_stackrnn.training.files import write_aside

TASKS = ("anbn", "anbncn", "anbncndn", "anb2n", "anbmcnm", "memorize", "binary_addition")
MODELS = ("stack", "list")
# Trained already, with the default seed; a list that adds is in no table of the patterns.
KNOWN = {("binary_addition", "stack"): "results/binary_addition.keras"}
LEFT_OUT = {("binary_addition", "list")}
FAR = (1_000, 100_000)
CHANGES = {"sharpened": sharpened, "pruned": pruned}


def define_flags(values: flags.FlagValues) -> None:
    options = {"flag_values": values}
    flags.DEFINE_list("tasks", list(TASKS), "Tasks whose networks are read.", **options)
    flags.DEFINE_list("models", list(MODELS), "Which networks of them.", **options)
    flags.DEFINE_string("runs", "runs/patterns", "Folder for the runs.", **options)
    flags.DEFINE_string("results", "results", "Folder for the table.", **options)


def network_of(task: str, model: str, runs: Path) -> Path:
    """The file of a network, which is trained if need be."""
    if (task, model) in KNOWN:
        return Path(KNOWN[task, model])
    folder = runs / f"{task}-{model}-1"
    if not (folder / run_folder.EVALUATION).exists():
        config = TrainingConfig.from_recipe(task, model=model, output_dir=str(folder))
        train(config, resume=(folder / run_folder.CONFIG).exists())
    return model_files.find(str(folder))


def row_of(task: str, kind: str, path: Path) -> dict:
    """What is read out of a network, and out of one made of it where nothing is proved of it."""
    begun = time.monotonic()
    model = model_files.load_file(path).twin(rounding=True, capacity=None)
    found = extract(model, name=f"{task}, {kind}")
    row = {
        "task": task,
        "model": kind,
        "network": hashlib.sha256(path.read_bytes()).hexdigest(),
        "certified_as_trained": found.certificate.holds,
        "fault": None if found.certificate.holds else found.statement(),
    }
    changes = []
    # Pruned first, since of a small network all is quicker; again, once a sharp one is clearer.
    for change in ("pruned", "sharpened", "pruned"):
        if found.certificate.holds and (found.proof.holds or change == "sharpened"):
            continue
        try:
            model, found = CHANGES[change](model, found, found.name)
        except ChangeError:
            continue
        changes.append(change)
    seconds = time.monotonic() - begun
    far = {n: agreement(model, found.machine, found.lessons.pattern, n) for n in FAR}
    shares = score(found.machine, found.lessons.pattern).values()
    return {
        **row,
        "changes": changes,
        "certified": found.certificate.holds,
        "fine_rows": len(found.fine.rows),
        "classes": sum(map(len, found.fine.classes)),
        "rules": len(found.quotient.rules),
        "memories": len(found.machine.memories),
        "proof": found.proof.holds,
        "no_proof": found.proof.reason,
        "fidelity": None if found.fidelity is None else found.fidelity.words(),
        "n_right": f"{sum(share == 1 for share in shares)} of {len(shares)}",
        "agreement": {str(n): each.words() for n, each in far.items()},
        "seconds": round(seconds, 1),
        "program": found.to_text() if len(found.quotient.rules) <= 20 else None,
    }


def write_results(rows: dict, results: Path) -> None:
    """All rows, as data and as a table."""
    ordered = [rows[each] for each in _planned(TASKS, MODELS) if each in rows]
    results.mkdir(parents=True, exist_ok=True)
    data = json.dumps(ordered, indent=2) + "\n"
    write_aside(results / "extraction.json", lambda aside: aside.write_text(data))
    text = "\n".join(_page(ordered)) + "\n"
    write_aside(results / "extraction.md", lambda aside: aside.write_text(text))


def _planned(tasks, models):
    return [(task, model) for model in models for task in tasks if (task, model) not in LEFT_OUT]


def _page(rows):
    yield from (
        "# What the networks have learned",
        "",
        "Of every network that `reproduce/patterns.py` trains with the default seed: its fine "
        "table, the quotient that",
        "people read, and what is proved. [docs/extraction.md](../docs/extraction.md) says what "
        "the words mean.",
        "Where the table of a network as it was trained has no certificate, or no proof, the row "
        "is that of a",
        "network made of it: sharpened, or pruned to the memories that matter. `all n`: proved "
        "right on every sequence",
        "of the task. `n right` counts the n of the test (to 60) at which 20 sequences are right; "
        "agreement is that of",
        "network and program on one sequence. Seconds are those from the model to its program and "
        "proof, changes included,",
        "the checks on long sequences not, on a machine with two cores that other work shared. "
        "Binary addition has a recurrent",
        "kernel, and its network is binary_addition.keras. `python reproduce/extraction.py` makes "
        "it all; extraction.json has the programs.",
        "",
        "| task | model | as trained | made of it | fine rows | classes | rows | memories left | "
        "certificate | all n | n right | n = 1,000 | n = 100,000 | seconds |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    )
    for row in rows:
        cells = [
            row["task"],
            row["model"],
            "certified" if row["certified_as_trained"] else "fails",
            ", ".join(row["changes"]) or "-",
            row["fine_rows"],
            row["classes"],
            row["rules"],
            row["memories"],
            "holds" if row["certified"] else "fails",
            "proved" if row["proof"] else "-",
            row["n_right"],
            *(words.split(": ", 1)[1] for words in row["agreement"].values()),
            f"{row['seconds']:.0f}",
        ]
        yield f"| {' | '.join(map(str, cells))} |"
    if faults := [row for row in rows if row["fault"]]:
        yield from ("", "## Where the networks as trained fail", "")
        for row in faults:
            worst = row["fault"].partition(" of the network")[0]
            yield f"- {row['task']}, {row['model']}: {worst}."
    if loose := [row for row in rows if row["fidelity"]]:
        yield from ("", "## Where there is no exact table", "")
        yield from (f"- {row['task']}, {row['model']}: {row['fidelity']}." for row in loose)
    if open_rows := [row for row in rows if row["no_proof"] and row["program"]]:
        yield from ("", "## Why some are not proved for all n", "")
        yield from (f"- {row['task']}, {row['model']}: {row['no_proof']}." for row in open_rows)
    yield from ("", "## The programs", "")
    for row in rows:
        if row["program"]:
            yield from (f"{row['task']}, {row['model']}:", "", "```", row["program"] + "```", "")


def main(arguments: list[str], values: flags.FlagValues = flags.FLAGS) -> None:
    """Reads what is asked for; a fault ends the program with one sentence."""
    logging.set_verbosity(logging.WARNING)
    for name, known in (("tasks", TASKS), ("models", MODELS)):
        for value in values[name].value:
            if value not in known:
                sys.exit(f"{name} must be some of {', '.join(known)}, got {value!r}.")
    runs, results = Path(values.runs), Path(values.results)
    data = results / "extraction.json"
    known = json.loads(data.read_text()) if data.exists() else []
    rows = {(row["task"], row["model"]): row for row in known}
    for task, model in _planned(values.tasks, values.models):
        print(f"== {task}, {model}", flush=True)
        try:
            path = network_of(task, model, runs)
        except (RunError, ValueError) as error:
            sys.exit(str(error))
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if rows.get((task, model), {}).get("network") != digest:
            rows[task, model] = row_of(task, model, path)
            write_results(rows, results)


if __name__ == "__main__":
    define_flags(flags.FLAGS)
    app.run(main)
