"""What a run leaves behind in its folder: the files' names, its configuration, its evaluation."""

import importlib.metadata
import json
import math
import platform
import shutil
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from keras_stackrnn import patterns
from keras_stackrnn.training.checkpoints import Checkpoint, Checkpoints
from keras_stackrnn.training.configs import AnyConfig, config_class
from keras_stackrnn.training.files import RunError, write_aside

CONFIG, METRICS, EVENTS = "config.json", "metrics.csv", "events"
MODEL, EVALUATION = "model.keras", "evaluation.json"
PLOT, TRACE, CURVE = "accuracy.png", "trace.png", "perplexity.png"
SERVING, CHECKPOINTS = "serving", "checkpoints"

# All but what is served: a new run becomes a new version of it.
OF_A_RUN = (CONFIG, METRICS, EVENTS, MODEL, EVALUATION, PLOT, TRACE, CURVE, CHECKPOINTS)


def begin(config: AnyConfig, folder: Path, overwrite: bool) -> None:
    """Makes a folder one of a run at its beginning."""
    there = [folder / name for name in OF_A_RUN if (folder / name).exists()]
    if there and not overwrite:
        raise RunError(
            f"{folder} already holds a run: add --resume to go on with it, --overwrite to replace "
            "it, or choose another --output_dir."
        )
    for path in there:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    # The checkpoint comes first: where there is a configuration, there is something to resume.
    try:
        Checkpoints(folder / CHECKPOINTS).save(Checkpoint({}, {"seconds": 0.0, "search": None}))
        write_config(folder, config)
    except OSError:
        shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
        raise


def check_same_run(config: AnyConfig, folder: Path) -> None:
    """Raises unless this is the configuration of the run in a folder."""
    for name, value in read_config(folder).to_json().items():
        if name not in config.FREE_ON_RESUME and getattr(config, name) != value:
            raise RunError(
                f"The run in {config.output_dir} has {name}={value!r} and cannot go on with "
                f"{getattr(config, name)!r}: give it the same, or choose another --output_dir."
            )


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
        return config_class(values.get("task")).from_json(values)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunError(f"{path} is not a configuration that can go on: {error}") from None


def save_model(folder: Path, model: keras.Model) -> None:
    # Keras wants the file's ending, which the name aside keeps.
    write_aside(folder / MODEL, model.save)


def write_evaluation(folder: Path, evaluation: dict) -> None:
    _write_json(folder / EVALUATION, evaluation)


def _write_json(path: Path, values: dict) -> None:
    text = json.dumps(_without_infinities(values), indent=2, allow_nan=False) + "\n"
    write_aside(path, lambda aside: aside.write_text(text))


def _without_infinities(values):
    """JSON knows neither infinity nor NaN: a score that there is none of becomes null."""
    if isinstance(values, dict):
        return {key: _without_infinities(value) for key, value in values.items()}
    if isinstance(values, list):
        return [_without_infinities(value) for value in values]
    if isinstance(values, float) and not math.isfinite(values):
        return None
    return values


def _own_version() -> str:
    try:
        return importlib.metadata.version("keras-stackrnn")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
