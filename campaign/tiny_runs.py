"""Trainings of seconds, and what of a finished one has to be the same however it came about."""

import hashlib
import io
import json
import random
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import tensorflow as tf
from tensorflow.python.util import deprecation

from keras_stackrnn.kernels import scan
from keras_stackrnn.training import (
    InterruptedRunError,
    LanguageModelConfig,
    RunError,
    TrainingConfig,
    run_folder,
    train,
)
from keras_stackrnn.training.configs import AnyConfig

# How a process that trains ends, besides by a signal.
FINISHED, REFUSED, INTERRUPTED = 0, 3, 4

_COMMON = {"units": 4, "lanes": 2, "updates_a_round": 5, "checkpoint_seconds": 1e-3, "seed": 1}
_PATTERN = {
    **_COMMON,
    "window": 10,
    "episode": 5,
    "population": 2,
    "lifetime": 20,
    "max_n": 6,
    "validation_sequences": 2,
}
_SENTENCES = ("the cat sees a bird", "a bird sees the cat", "the dog forgets the cat")


def _pattern(model: str, **values) -> Callable[[Path], AnyConfig]:
    def config(folder: Path) -> TrainingConfig:
        return TrainingConfig.from_recipe(
            "anbn", model, output_dir=str(folder), **{**_PATTERN, **values}
        )

    return config


def _text(folder: Path) -> LanguageModelConfig:
    draw, paths = random.Random(0), {}
    for name, number in {"train": 60, "validation": 15, "test": 10}.items():
        path = folder.parent / f"{name}.txt"
        if not path.exists():
            path.write_text("".join(f"{draw.choice(_SENTENCES)}\n" for _ in range(number)))
        paths[f"{name}_file"] = str(path)
    values = {**_COMMON, "window": 8, "epochs": 2, "embedding": 3, "level": "word"}
    return LanguageModelConfig.from_recipe("text", "rnn", output_dir=str(folder), **values, **paths)


# By name: the configuration of a run in a folder. Those with memories take the longest to compile.
CONFIGS: dict[str, Callable[[Path], AnyConfig]] = {
    "rnn": _pattern("rnn"),
    "stack": _pattern("stack", memories=1, capacity=6, updates=20),
    "text": _text,
}


def run(config: AnyConfig, hours: int = 0) -> int:
    """Trains as `train.py` does, whatever there is to go on with; returns how it ended.

    Args:
        config: what to train.
        hours: by how many the clock is wrong.
    """
    true_time = time.time
    time.time = lambda: true_time() + 3600 * hours
    # XLA needs seconds for each block of steps, whatever they compute.
    scan.SHORTEST_BLOCK = 1_000_000
    resume = (Path(config.output_dir) / run_folder.CONFIG).exists()
    try:
        train(config, resume=resume, log="none")
    except InterruptedRunError:
        return INTERRUPTED
    except RunError as error:
        print(error, file=sys.stderr)
        return REFUSED
    return FINISHED


def fingerprint(folder: Path) -> dict[str, object]:
    """All that a run leaves, but for times of day and how long things took."""
    evaluation = json.loads((folder / run_folder.EVALUATION).read_text())
    del evaluation["wall_seconds"]
    pictures = {path.name: _sum(path.read_bytes()) for path in folder.glob("*.png")}
    return {
        "names": sorted(path.name for path in folder.iterdir()),
        "weights": weights(folder / run_folder.MODEL),
        "evaluation": evaluation,
        "metrics": metrics(folder),
        "events": _points(folder / run_folder.EVENTS),
        "pictures": pictures,
    }


def stray(folder: Path) -> list[str]:
    """What a finished run must not have left: half of something, or a version that is not whole."""
    found = [str(path.relative_to(folder)) for path in folder.rglob("partial-*")]
    for version in (folder / run_folder.SERVING).glob("*/*"):
        files = (
            "saved_model.pb",
            "variables/variables.index",
            "assets.extra/tf_serving_warmup_requests",
            "assets.extra/model.json",
        )
        missing = [name for name in files if not (version / name).is_file()]
        found += [f"{version.relative_to(folder)} without {name}" for name in missing]
    checkpoints = len(list((folder / run_folder.CHECKPOINTS).iterdir()))
    if checkpoints > 2:
        found.append(f"{checkpoints} checkpoints")
    return found


def weights(file: Path) -> dict[str, str]:
    """The sum of each array in a `.keras` file."""
    found = {}

    def note(name, item):
        if isinstance(item, h5py.Dataset):
            array = np.asarray(item)
            found[name] = f"{array.dtype}{array.shape} {_sum(array.tobytes())}"

    with zipfile.ZipFile(file) as archive:
        content = io.BytesIO(archive.read("model.weights.h5"))
    with h5py.File(content) as arrays:
        arrays.visititems(note)
    return found


def metrics(folder: Path) -> list[dict[str, str]]:
    """The rows of a run."""
    first, *lines = (folder / run_folder.METRICS).read_text().splitlines()
    names = first.split(",")
    rows = [dict(zip(names, line.split(","), strict=True)) for line in lines]
    return [{name: value for name, value in row.items() if name not in _TIMES} for row in rows]


def _points(folder: Path) -> list[tuple[int, str, str]]:
    """Every point for TensorBoard; one that is there twice is twice in the list."""
    points = []
    for path in folder.iterdir():
        # This reader needs no operation, and so no thread.
        with deprecation.silence():
            records = tf.compat.v1.python_io.tf_record_iterator(str(path))
        for record in records:
            event = tf.compat.v1.Event.FromString(record)
            for value in event.summary.value:
                if value.tag not in _TIMES:
                    points.append((event.step, value.tag, _sum(value.tensor.SerializeToString())))
    return sorted(points)


def _sum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


# Columns and tags of how long things took.
_TIMES = ("seconds",)
