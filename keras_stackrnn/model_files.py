"""What a command line may mean by a model in Keras' own file, and how it is loaded."""

from pathlib import Path

from keras_stackrnn import gallery

# What a training leaves in its folder.
MODEL = "model.keras"
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

    # Registers the class that trained models are of.
    import keras_stackrnn.models  # noqa: F401

    try:
        return keras.models.load_model(path, compile=False)
    except (OSError, TypeError, ValueError, KeyError) as error:
        reason = (str(error).splitlines() or ["it is damaged"])[0]
        raise ValueError(f"Cannot load {str(path)!r}: {reason}") from None
