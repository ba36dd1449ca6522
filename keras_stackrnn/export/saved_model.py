"""From a model in Python to a version folder that a server loads."""

import functools
import json
import os
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from keras_stackrnn.export.forms import require_servable, signatures_of
from keras_stackrnn.export.limits import Limits
from keras_stackrnn.export.reader import Reader
from keras_stackrnn.export.signatures import Signature
from keras_stackrnn.export.symbols import Symbols
from keras_stackrnn.export.versions import write_version
from keras_stackrnn.export.warmup import write_warmup_records
from keras_stackrnn.layers.arguments import require_positive_integer
from keras_stackrnn.models import SequenceModel

DESCRIPTION = Path("assets.extra") / "model.json"


def export(
    model: SequenceModel,
    base_path: str | os.PathLike,
    rounding: bool | None = None,
    version: int | None = None,
    *,
    max_batch: int | None = None,
    max_length: int | None = None,
    max_symbols: int | None = None,
) -> Path:
    """Writes a model for TensorFlow Serving, or the embedded server, as `base_path/VERSION/`.

    The SavedModel holds the vocabulary and needs nothing but TensorFlow. What it can be asked is
    described with its signatures: `signatures.py` has what all models can do, `next_symbol.py`
    continues texts, `transduction.py` answers them, `recognition.py` labels them. Its memories lose
    nothing, whatever the model's capacity was in training. `assets.extra/` holds warm-up requests
    and, in `model.json`, the model's configuration.

    The folder appears complete, in one step: a server may be watching.

    Args:
        model: A `NextSymbolModel`, `Transducer` or `Recognizer`.
        base_path: The folder of all its versions, whose name is the model's by custom.
        rounding: Whether the most probable action alone is taken; `None`: as the model does.
        version: A positive integer that is not taken yet; `None`: one more than the latest.
        max_batch: How many rows a request may have; 4,096 if not given.
        max_length: How many symbols a row may have; 65,536, or `max_symbols` if that is less.
        max_symbols: How many symbols all rows together may have, with padding; 262,144, or less if
            the vocabulary is large. Requests beyond are refused before anything is computed.

    Returns:
        The path of the version's folder.

    Example:

    ```python
    export(model, "serving/anbn")  # serving/anbn/1
    export(model, "serving/anbn", rounding=True)  # serving/anbn/2
    ```
    """
    limits = {"max_batch": max_batch, "max_length": max_length, "max_symbols": max_symbols}
    if version is not None:
        version = require_positive_integer("version", version)
    return Export(model, rounding, **limits).write(base_path, version)


class Export:
    """A model on its way to a server, whose weights may change until it is written.

    Args:
        model, rounding, max_batch, max_length, max_symbols: As of `export`.
    """

    def __init__(
        self,
        model: SequenceModel,
        rounding: bool | None = None,
        *,
        max_batch: int | None = None,
        max_length: int | None = None,
        max_symbols: int | None = None,
    ):
        require_servable(model)
        if keras.backend.backend() != "tensorflow":
            raise ValueError(
                "A SavedModel is written with TensorFlow: expected Keras to run on the backend "
                f"'tensorflow', got '{keras.backend.backend()}'."
            )
        if model.compute_dtype != "float32":
            raise ValueError(
                "A model is served in float32: expected one that computes in it, got one in "
                f"{model.compute_dtype}."
            )
        given = {"batch": max_batch, "length": max_length, "symbols": max_symbols}
        for name, value in given.items():
            if value is not None:
                require_positive_integer(f"max_{name}", value)
        largest = max(len(model.vocabulary), len(model.answers))
        limits = Limits.of_vocabulary(largest, **given)
        self._symbols = Symbols(model.vocabulary, limits, model.marks)
        self._reader = Reader(_served(model, rounding))

    @functools.cached_property
    def signatures(self) -> dict[str, Signature]:
        """What it can be asked: the graphs are made when this is first asked for, which takes more
        time than to write them."""
        untraced = signatures_of(self._reader, self._symbols)
        return {name: each.traced() for name, each in untraced.items()}

    def set_weights(self, weights: list[np.ndarray]) -> None:
        """Gives it the weights of a model of the same configuration."""
        self._reader.model.set_weights(weights)

    def write(self, base_path: str | os.PathLike, version: int | None = None) -> Path:
        """Writes it as `base_path/VERSION/`; the path of that folder."""
        return write_version(Path(base_path), version, self._write)

    def _write(self, folder: Path) -> None:
        model = self._reader.model
        _write_saved_model(folder, model, self._symbols, self.signatures)
        write_warmup_records(folder, self.signatures)
        description = json.dumps(model.get_config(), indent=2, ensure_ascii=False)
        (folder / DESCRIPTION).write_text(f"{description}\n", encoding="utf-8")


def _served(model, rounding):
    changes = {}
    if rounding is not None:
        changes["rounding"] = rounding
    if model.has_memory:
        changes["capacity"] = None
    return model.twin(**changes)


def _write_saved_model(folder, model, symbols, signatures):
    archive = keras.export.ExportArchive()
    archive.track(model)
    archive.track(symbols.table)
    for name, signature in signatures.items():
        archive.add_endpoint(name, signature.function, signature.inputs)
    archive.write_out(str(folder), verbose=False)
    usual = tf.saved_model.PREDICT_METHOD_NAME
    methods = {n: each.method for n, each in signatures.items() if each.method != usual}
    if methods:
        # TensorFlow 2 writes no other method's name.
        updater = tf.compat.v1.saved_model.signature_def_utils.MethodNameUpdater(str(folder))
        for name, method in methods.items():
            updater.replace_method_name(name, method)
        updater.save()
