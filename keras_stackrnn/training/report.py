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

from keras_stackrnn import patterns, trace
from keras_stackrnn.evaluation import Accuracy
from keras_stackrnn.models import NextSymbolModel, has_memory
from keras_stackrnn.trace import figures
from keras_stackrnn.trace.image_summary import write_png
from keras_stackrnn.training.config import TrainingConfig
from keras_stackrnn.training.files import RunError, write_aside
from keras_stackrnn.training.language_config import LanguageModelConfig
from keras_stackrnn.training.language_model import LanguageStatus
from keras_stackrnn.training.language_recipes import TASKS as LANGUAGE_TASKS
from keras_stackrnn.training.progress import clock
from keras_stackrnn.training.search import Status

CONFIG, METRICS, EVENTS = "config.json", "metrics.csv", "events"
MODEL, EVALUATION = "model.keras", "evaluation.json"
PLOT, TRACE, CURVE = "accuracy.png", "trace.png", "perplexity.png"
SERVING = "serving"

AnyConfig = TrainingConfig | LanguageModelConfig

_N_A_LINE = 15


def write_config(folder: Path, config: AnyConfig) -> None:
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


def read_config(folder: Path) -> AnyConfig:
    """The configuration of the run in a folder."""
    path = folder / CONFIG
    if not path.exists():
        raise RunError(f"There is no run in {folder} to resume: leave out --resume.")
    try:
        values = json.loads(path.read_text())["config"]
        is_language = values.get("task") in LANGUAGE_TASKS
        return (LanguageModelConfig if is_language else TrainingConfig).from_json(values)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunError(f"{path} is not a configuration that can go on: {error}") from None


class Metrics:
    """`metrics.csv` and TensorBoard's events: a row for each round of the search.

    Args:
        folder: The run's folder.
        updates: How far the search is; rows from beyond, which a killed run has left, are dropped.
        kind: What the rows are made of.
    """

    def __init__(self, folder: Path, updates: int, kind: type = Status):
        self._path = folder / METRICS
        self._columns = _columns(kind)
        rows = [self._columns, *self._rows_up_to(updates)]
        text = "".join(",".join(row) + "\n" for row in rows)
        write_aside(self._path, lambda aside: aside.write_text(text))
        self._events = tf.summary.create_file_writer(str(folder / EVENTS))

    def add(self, status: Status | LanguageStatus, seconds: float) -> None:
        values = dataclasses.asdict(status)
        if isinstance(status, Status):
            values["smallest_n"], values["largest_n"] = values.pop("n_range")
        values["seconds"] = round(seconds, 3)
        with open(self._path, "a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow(values[name] for name in self._columns)
        with self._events.as_default(step=status.updates):
            for name, value in values.items():
                if math.isfinite(value):
                    _write_scalar(name, value)

    def add_trace(self, png: bytes, updates: int) -> None:
        """A picture of what the memories do by now."""
        with self._events.as_default(step=updates):
            write_png("trace", png)

    def close(self) -> None:
        self._events.close()

    def _rows_up_to(self, updates: int) -> list[list[str]]:
        if not self._path.exists():
            return []
        with open(self._path, newline="") as file:
            rows = list(csv.reader(file))[1:]
        whole = [row for row in rows if len(row) == len(self._columns)]
        return [row for row in whole if int(row[self._columns.index("updates")]) <= updates]


def _columns(kind: type) -> list[str]:
    names = [field.name for field in dataclasses.fields(kind)]
    if kind is Status:
        names.remove("n_range")
        names = ["smallest_n", "largest_n", *names]
    return ["seconds", *names]


def save_model(folder: Path, model: keras.Model) -> None:
    # Keras wants the file's ending, which the name aside keeps.
    write_aside(folder / MODEL, model.save)


def write_evaluation(folder: Path, evaluation: dict) -> None:
    _write_json(folder / EVALUATION, evaluation)


def draw_accuracy(
    folder: Path, config: TrainingConfig, soft: Accuracy, rounded: Accuracy | None
) -> None:
    smallest = patterns.get(config.task).smallest_n
    shares = {"soft": soft.per_n} | ({"rounded": rounded.per_n} if rounded else {})
    title = f"{config.task}, {config.model}"
    picture = figures.accuracy_by_n(shares, title, (smallest, config.max_n))
    write_aside(folder / PLOT, lambda aside: figures.save(picture, aside))


def traced(model: NextSymbolModel, text: str) -> bytes:
    """A picture, as PNG, of what the memories do while they read a text."""
    # All of them, so that a row stays in its place while the algorithm forms.
    return figures.to_png(figures.action_map(trace(model, text), fold=False))


def draw_trace(folder: Path, model: NextSymbolModel, text: str) -> None:
    write_aside(folder / TRACE, lambda aside: trace(model, text).plot(aside))


def closing_words(config: TrainingConfig, evaluation: dict) -> str:
    """The table by n, where everything is, and the next command."""
    ways = {way: evaluation[way] for way in ("soft", "rounded") if evaluation[way]}
    lines = ["Sequences all right, in percent:", *_table(ways)]
    for way, found in ways.items():
        lines.append(f"{way}: every sequence right at {found['percent_n_correct']:.1f}% of the n")
        if found.get("beyond"):
            far = ", ".join(f"n = {n}: {share:.1%}" for n, share in found["beyond"].items())
            lines[-1] += f"; {far}"
    solved = sum(restart["outcome"] == "solved" for restart in evaluation["restarts"])
    lines += [
        f"{solved} of {len(evaluation['restarts'])} restarts solved it on validation; "
        f"{clock(evaluation['wall_seconds'])} minutes, {evaluation['symbols']:,} symbols, "
        f"{evaluation['parameters']:,} parameters.",
        "",
        where(config, *([PLOT, TRACE] if has_memory(config.model) else [PLOT])),
        f"Next: {next_command(config)}",
    ]
    return "\n".join(lines)


def where(config: AnyConfig, *pictures: str) -> str:
    """What is in the run's folder."""
    names = (MODEL, EVALUATION, *pictures, METRICS, CONFIG, f"{EVENTS}/", f"{SERVING}/")
    return f"In {config.output_dir}: {', '.join(names)}"


def next_command(config: AnyConfig) -> str:
    """The command that serves what was learned."""
    models = Path(config.output_dir) / SERVING / config.task
    server = ["python", "-m", "keras_stackrnn.serving.server"]
    return shlex.join([*server, f"--model_name={config.task}", f"--model_base_path={models}"])


def _table(ways: dict[str, dict]) -> list[str]:
    lines = []
    n_values = list(ways["soft"]["per_n"])
    for start in range(0, len(n_values), _N_A_LINE):
        some = n_values[start : start + _N_A_LINE]
        lines.append(f"{'n':>8}" + "".join(f"{n:>5}" for n in some))
        for way, found in ways.items():
            shares = (found["per_n"][n] for n in some)
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
