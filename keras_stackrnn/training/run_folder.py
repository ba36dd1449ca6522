"""What a run leaves behind in its folder: the files' names, its configuration, its evaluation."""

import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path

import keras

from keras_stackrnn.training.checkpoints import Checkpoint, Checkpoints
from keras_stackrnn.training.configs import AnyConfig, config_class
from keras_stackrnn.training.files import RunError, write_aside
from keras_stackrnn.training.versions import versions

CONFIG, METRICS, EVENTS = "config.json", "metrics.csv", "events"
MODEL, EVALUATION = "model.keras", "evaluation.json"
PLOT, TRACE, CURVE = "accuracy.png", "trace.png", "perplexity.png"
SERVING, CHECKPOINTS = "serving", "checkpoints"
# Of a search alone: what came of it. Of a run of several populations: a folder for each.
OUTCOME, POPULATIONS = "outcome.json", "populations"

# What the bits of a run depend on; another version of these may compute others.
_EXACT = ("patterns", "keras", "tensorflow", "numpy")

# All but what is served: a new run becomes a new version of it.
OF_A_RUN = (
    CONFIG,
    METRICS,
    EVENTS,
    MODEL,
    EVALUATION,
    PLOT,
    TRACE,
    CURVE,
    CHECKPOINTS,
    OUTCOME,
    POPULATIONS,
)


def begin(config: AnyConfig, folder: Path, overwrite: bool) -> None:
    """Makes a folder one of a run at its beginning."""
    there = [folder / name for name in OF_A_RUN if (folder / name).exists()]
    if there and not overwrite and not _is_only_begun(folder, there):
        raise RunError(
            f"{folder} already holds a run: add --resume to go on with it, --overwrite to replace "
            "it, or choose another --output_dir."
        )
    for path in there:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    # The checkpoint comes first: where there is a configuration, there is something to resume.
    try:
        meta = {"seconds": 0.0, "search": None, "config": config.to_json()}
        Checkpoints(folder / CHECKPOINTS).save(Checkpoint({}, meta))
        write_config(folder, config)
    except OSError:
        shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
        raise


def _is_only_begun(folder: Path, there: list[Path]) -> bool:
    """Whether all that is there was left by a start that was killed before there was a run."""
    checkpoints = folder / CHECKPOINTS
    if there != [checkpoints] or not checkpoints.is_dir():
        return False
    names = [path.name for path in checkpoints.iterdir() if not path.name.startswith("partial-")]
    return not names or Checkpoints(checkpoints).load().meta["search"] is None


def check_same_run(config: AnyConfig, folder: Path) -> None:
    """Raises unless the run in a folder can go on exactly, and has this configuration."""
    for name, here, value in _differences(config, read_config(folder).to_json()):
        raise RunError(
            f"The run in {config.output_dir} has {name}={value!r} and cannot go on with "
            f"{here!r}: give it the same, or choose another --output_dir."
        )
    begun_with = json.loads((folder / CONFIG).read_text()).get("versions", {})
    for name, here in versions().items():
        if name in _EXACT and begun_with.get(name, here) != here:
            raise RunError(
                f"The run in {config.output_dir} was begun with {name} {begun_with[name]} and "
                f"cannot go on exactly with {here}: install that one, or start the run anew with "
                "--overwrite."
            )


def check_checkpoint(config: AnyConfig, checkpoint: Checkpoint) -> None:
    """Raises unless a checkpoint was written with this configuration, but for what is free."""
    # Those of earlier versions do not say.
    written = checkpoint.meta.get("config", {})
    for name, here, value in _differences(config, written):
        raise RunError(
            f"{Path(config.output_dir) / CONFIG} has {name}={here!r}, but its checkpoints were "
            f"written with {name}={value!r}: put that back, or start the run anew with "
            "--overwrite."
        )


def _differences(config: AnyConfig, values: dict) -> Iterator[tuple[str, object, object]]:
    """Each value that is another one and must not be: its name, what it is here, and there."""
    for name, value in values.items():
        here = getattr(config, name, None)
        if name not in config.FREE_ON_RESUME and here != value:
            yield name, here, value


def write_config(folder: Path, config: AnyConfig) -> None:
    """Writes all that is needed to run it again."""
    values = {
        "config": config.to_json(),
        "command": config.command(),
        "versions": versions(),
    }
    _write_json(folder / CONFIG, values)


def read_config(folder: Path) -> AnyConfig:
    """The configuration of the run in a folder."""
    path = folder / CONFIG
    if not path.exists():
        raise RunError(f"There is no run in {folder} to resume: leave out --resume.")
    if not path.is_file():
        raise RunError(f"{path} is not a configuration that can go on: it is no file")
    try:
        values = json.loads(path.read_text())["config"]
        return config_class(values.get("task")).from_json(values)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RunError(f"{path} is not a configuration that can go on: {error}") from None


def served_name(task: str) -> str:
    """What a task's model is called where it is served: a `/` would be part of an address there."""
    return task.replace("/", "-")


def save_model(folder: Path, model: keras.Model) -> None:
    # Keras wants the file's ending, which the name aside keeps.
    write_aside(folder / MODEL, model.save)


def write_evaluation(folder: Path, evaluation: dict) -> None:
    _write_json(folder / EVALUATION, evaluation)


def write_outcome(folder: Path, outcome: dict) -> None:
    _write_json(folder / OUTCOME, outcome)


def read_outcome(config: AnyConfig) -> dict | None:
    """What came of a search that was all that was asked for; `None` as long as it has not ended."""
    path = Path(config.output_dir) / OUTCOME
    if not path.exists():
        return None
    found = json.loads(path.read_text())
    # With more minutes it goes on.
    has_time_left = config.minutes is None or found["seconds"] < 60 * config.minutes
    return None if has_time_left and not found["done"] else found


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
