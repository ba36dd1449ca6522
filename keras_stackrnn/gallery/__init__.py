"""Small trained models that come with the package, each with what it was measured to do.

Every command that takes a `--model` takes `gallery:anb2n`, too. `reproduce/gallery.py` makes them.
"""

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import keras

__all__ = ["Entry", "about", "load", "names", "path_of"]

PREFIX = "gallery:"
FOLDER = Path(__file__).parent
INDEX = FOLDER / "gallery.json"


class Entry(NamedTuple):
    """What is known of a model.

    Attributes:
        task: The pattern it learned.
        shows: What there is to see, in a sentence.
        command: The training that made it.
        right: The share of sequences that it gets right with rounded actions, in percent, by the
            n they have: `{"1-60": 100.0, "1000": 100.0}`.
    """

    task: str
    shows: str
    command: str
    right: dict[str, float]


def names() -> tuple[str, ...]:
    """The names of all models.

    Returns:
        Their names.

    Example:

    >>> from keras_stackrnn import gallery
    >>> "anb2n" in gallery.names()
    True
    """
    return tuple(_index())


def about(name: str) -> Entry:
    """What is known of a model.

    Args:
        name: One of `names()`.

    Returns:
        An `Entry`.

    Example:

    >>> from keras_stackrnn import gallery
    >>> gallery.about("anb2n").task
    'anb2n'
    """
    index = _index()
    if name not in index:
        raise ValueError(
            f"There is no model {name!r} in the gallery: expected one of {', '.join(index)}."
        )
    return Entry(**index[name])


def path_of(name: str) -> Path:
    """The file of a model.

    Args:
        name: One of `names()`.

    Returns:
        The path of its `.keras` file.

    Example:

    >>> from keras_stackrnn import gallery
    >>> gallery.path_of("anbn").name
    'anbn.keras'
    """
    about(name)
    return FOLDER / f"{name}.keras"


def load(name: str) -> "keras.Model":
    """A model, which rounds its actions.

    Args:
        name: One of `names()`.

    Returns:
        A `NextSymbolModel`.

    Example:

    ```python
    model = keras_stackrnn.gallery.load("anb2n")
    print(keras_stackrnn.trace(model, "aabbbb").to_text())
    ```
    """
    from keras_stackrnn.model_files import load_file

    return load_file(path_of(name))


@functools.cache
def _index() -> dict[str, dict]:
    return json.loads(INDEX.read_text(encoding="utf-8"))
