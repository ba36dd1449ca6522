"""What a command line may mean by a model in Keras' own file, and how it is loaded."""

import json
import math
import zipfile
from pathlib import Path

from keras_stackrnn import gallery

# What a training leaves in its folder.
MODEL = "model.keras"
# Keras' own files are not packed at all; this much may be.
_MOST_UNPACKED = 100
SOURCES = ("the folder of a run", "a .keras file", f"{gallery.PREFIX}NAME")


def find(source: str) -> Path | None:
    """The `.keras` file that is meant by a run's folder, a file or `gallery:anb2n`, if any."""
    if source.startswith(gallery.PREFIX):
        return gallery.path_of(source.removeprefix(gallery.PREFIX))
    path = Path(source)
    if path.suffix == ".keras" and path.is_file():
        return path
    return path / MODEL if (path / MODEL).is_file() else None


def load(source: str):
    """The model that is meant; ValueError says what is wrong with it."""
    path = find(source)
    if path is None:
        *others, last = SOURCES
        raise ValueError(f"There is no model {source!r}: expected {', '.join(others)} or {last}.")
    return load_file(path)


def load_file(path: Path):
    """The model in a `.keras` file; ValueError says what is wrong with it."""
    import keras

    # Registers the classes that trained models are of.
    import keras_stackrnn.task_models  # noqa: F401

    try:
        _check_size(path)
        return keras.models.load_model(path, compile=False)
    # There is no end to what libraries raise of a file that somebody has made, or damaged.
    except Exception as error:
        reason = (str(error).splitlines() or ["it is damaged"])[0]
        raise ValueError(f"Cannot load {str(path)!r}: {reason}") from None


def _check_size(path: Path) -> None:
    """Raises where a file would become far more than it holds: nothing of it is built by then."""
    import keras

    with zipfile.ZipFile(path) as archive:
        held = sum(info.file_size for info in archive.infolist())
        if held > _MOST_UNPACKED * path.stat().st_size:
            raise ValueError(f"its {path.stat().st_size:,} bytes would unpack to {held:,}")
        config = json.loads(archive.read("config.json"))
    config.pop("compile_config", None)
    # There, variables have a shape and no value.
    with keras.StatelessScope(initialize_variables=False):
        model = keras.saving.deserialize_keras_object(config)
    needed = sum(4 * math.prod(variable.shape) for variable in model.variables)
    if needed > 4 * held:
        raise ValueError(f"its weights would take {needed:,} bytes, and it holds {held:,}")
