"""What came of a sweep: a row a run, as a table and as JSON."""

import dataclasses
import json
from pathlib import Path

from keras_stackrnn.training.files import write_aside
from keras_stackrnn.training.sweep.job import Job

TABLE, DATA = "sweep.md", "sweep.json"


def row_of(job: Job) -> dict:
    """What a finished run found, whatever it learned: scores that it does not have are left out."""
    config, found = job.config, job.evaluation()
    row = {"task": config.task, "model": config.model, "seed": config.seed}
    for way in ("soft", "rounded"):
        if found.get(way):
            row[way] = found[way]["percent_n_correct"]
    for name in ("validation_perplexity", "test_perplexity"):
        if found.get(name) is not None:
            row[name] = found[name]
    if "restarts" in found:
        ended = [each["outcome"] for each in found["restarts"] if each["outcome"] != "alive"]
        row |= {"solved": ended.count("solved"), "restarts": len(ended)}
    as_by_hand = dataclasses.replace(config, output_dir=f"runs/{config.task}")
    row |= {"minutes": round(found["wall_seconds"] / 60, 2), "command": as_by_hand.command()}
    return row


def write(jobs: list[Job], folder: Path) -> list[dict]:
    """Writes the rows of all finished runs, and returns them."""
    rows = [row_of(job) for job in jobs if job.is_finished]
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(rows, indent=2) + "\n"
    write_aside(folder / DATA, lambda aside: aside.write_text(text))
    table = "\n".join(table_of(rows)) + "\n"
    write_aside(folder / TABLE, lambda aside: aside.write_text(table))
    return rows


def read(folder: Path) -> list[dict]:
    """The rows that were written."""
    return json.loads((folder / DATA).read_text())


def table_of(rows: list[dict]) -> list[str]:
    """The rows in Markdown, with a column for everything that one of them has."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [names, ["---"] * len(names)]
    lines += [[_cell(row.get(name)) for name in names] for row in rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def _cell(value) -> str:
    if value is None:
        return "-"
    return f"{value:.1f}" if isinstance(value, float) else str(value)
