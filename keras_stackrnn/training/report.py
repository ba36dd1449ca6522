"""What a run leaves behind: its configuration, metrics, events, evaluation and closing words."""

import csv
import dataclasses
import importlib.metadata
import json
import math
import platform
import shlex
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from keras_stackrnn import patterns
from keras_stackrnn.evaluation import Accuracy
from keras_stackrnn.training import accuracy_plot
from keras_stackrnn.training.config import TrainingConfig
from keras_stackrnn.training.files import RunError, write_aside
from keras_stackrnn.training.progress import clock
from keras_stackrnn.training.search import Status

CONFIG, METRICS, EVENTS = "config.json", "metrics.csv", "events"
MODEL, EVALUATION, PLOT = "model.keras", "evaluation.json", "accuracy.png"
SERVING = "serving"

_STATUS = tuple(field.name for field in dataclasses.fields(Status) if field.name != "n_range")
_COLUMNS = ("seconds", "smallest_n", "largest_n", *_STATUS)
_N_A_LINE = 15


def write_config(folder: Path, config: TrainingConfig) -> None:
    """Writes all that is needed to run it again."""
    values = {
        "config": config.to_json(),
        "command": config.command(),
        "versions": {
            "python": platform.python_version(),
            "keras_stackrnn": _own_version(),
            "patterns": patterns.VERSION,
            "keras": keras.__version__,
            "tensorflow": tf.__version__,
            "numpy": np.__version__,
        },
    }
    _write_json(folder / CONFIG, values)


def read_config(folder: Path) -> TrainingConfig:
    """The configuration of the run in a folder."""
    path = folder / CONFIG
    if not path.exists():
        raise RunError(f"There is no run in {folder} to resume: leave out --resume.")
    try:
        return TrainingConfig.from_json(json.loads(path.read_text())["config"])
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path} is not a configuration that can go on: {error}") from None


class Metrics:
    """`metrics.csv` and TensorBoard's events: a row for each round of the search.

    Args:
        folder: The run's folder.
        updates: How far the search is; rows from beyond, which a killed run has left, are dropped.
    """

    def __init__(self, folder: Path, updates: int):
        self._path = folder / METRICS
        rows = [_COLUMNS, *self._rows_up_to(updates)]
        text = "".join(",".join(row) + "\n" for row in rows)
        write_aside(self._path, lambda aside: aside.write_text(text))
        self._events = tf.summary.create_file_writer(str(folder / EVENTS))

    def add(self, status: Status, seconds: float) -> None:
        values = dataclasses.asdict(status)
        values["smallest_n"], values["largest_n"] = values.pop("n_range")
        values["seconds"] = round(seconds, 3)
        with open(self._path, "a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow(values[name] for name in _COLUMNS)
        with self._events.as_default(step=status.updates):
            for name, value in values.items():
                if math.isfinite(value):
                    _write_scalar(name, value)

    def close(self) -> None:
        self._events.close()

    def _rows_up_to(self, updates: int) -> list[list[str]]:
        if not self._path.exists():
            return []
        with open(self._path, newline="") as file:
            rows = list(csv.reader(file))[1:]
        whole = [row for row in rows if len(row) == len(_COLUMNS)]
        return [row for row in whole if int(row[_COLUMNS.index("updates")]) <= updates]


def save_model(folder: Path, model: keras.Model) -> None:
    # Keras wants the file's ending, which the name aside keeps.
    write_aside(folder / MODEL, model.save)


def write_evaluation(folder: Path, evaluation: dict) -> None:
    _write_json(folder / EVALUATION, evaluation)


def draw_accuracy(
    folder: Path, config: TrainingConfig, soft: Accuracy, rounded: Accuracy | None
) -> None:
    smallest = patterns.get(config.task).smallest_n
    write_aside(
        folder / PLOT,
        lambda aside: accuracy_plot.draw(
            aside,
            f"{config.task}, {config.model}",
            (smallest, config.max_n),
            soft.per_n,
            rounded and rounded.per_n,
        ),
    )


def closing_words(config: TrainingConfig, evaluation: dict) -> str:
    """The table by n, where everything is, and the next command."""
    ways = {way: evaluation[way] for way in ("soft", "rounded") if evaluation[way]}
    lines = ["Sequences all right, in percent:", *_table(ways)]
    for way, figures in ways.items():
        lines.append(f"{way}: every sequence right at {figures['percent_n_correct']:.1f}% of the n")
        if figures.get("beyond"):
            far = ", ".join(f"n = {n}: {share:.1%}" for n, share in figures["beyond"].items())
            lines[-1] += f"; {far}"
    solved = sum(restart["outcome"] == "solved" for restart in evaluation["restarts"])
    lines += [
        f"{solved} of {len(evaluation['restarts'])} restarts solved it on validation; "
        f"{clock(evaluation['wall_seconds'])} minutes, {evaluation['symbols']:,} symbols, "
        f"{evaluation['parameters']:,} parameters.",
        "",
        f"In {config.output_dir}: {MODEL}, {EVALUATION}, {PLOT}, {METRICS}, {CONFIG}, {EVENTS}/, "
        f"{SERVING}/",
        f"Next: {_next_command(config)}",
    ]
    return "\n".join(lines)


def _next_command(config: TrainingConfig) -> str:
    models = Path(config.output_dir) / SERVING / config.task
    server = ["python", "-m", "keras_stackrnn.serving.server"]
    return shlex.join([*server, f"--model_name={config.task}", f"--model_base_path={models}"])


def _table(ways: dict[str, dict]) -> list[str]:
    lines = []
    n_values = list(ways["soft"]["per_n"])
    for start in range(0, len(n_values), _N_A_LINE):
        some = n_values[start : start + _N_A_LINE]
        lines.append(f"{'n':>8}" + "".join(f"{n:>5}" for n in some))
        for way, figures in ways.items():
            shares = (figures["per_n"][n] for n in some)
            # Rounded down, so that 100 always means all of them.
            lines.append(f"{way:>8}" + "".join(f"{math.floor(100 * s):>5}" for s in shares))
    return lines


def _write_json(path: Path, values: dict) -> None:
    text = json.dumps(_without_infinities(values), indent=2, allow_nan=False) + "\n"
    write_aside(path, lambda aside: aside.write_text(text))


def _without_infinities(values):
    """JSON knows neither infinity nor NaN: a figure that there is none of becomes null."""
    if isinstance(values, dict):
        return {key: _without_infinities(value) for key, value in values.items()}
    if isinstance(values, list):
        return [_without_infinities(value) for value in values]
    if isinstance(values, float) and not math.isfinite(values):
        return None
    return values


def _write_scalar(name: str, value: float) -> None:
    # What `tf.summary.scalar` does, which is only there where TensorBoard is installed.
    metadata = tf.compat.v1.SummaryMetadata(
        plugin_data=tf.compat.v1.SummaryMetadata.PluginData(plugin_name="scalars")
    )
    tf.summary.write(name, tf.constant(value, tf.float32), metadata=metadata)


def _own_version() -> str:
    try:
        return importlib.metadata.version("keras-stackrnn")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
