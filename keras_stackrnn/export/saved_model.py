"""From a model in Python to a version folder that a server loads."""

import json
import os
from pathlib import Path

import keras
import tensorflow as tf

from keras_stackrnn.export.forms import require_servable, signatures_of
from keras_stackrnn.export.limits import Limits
from keras_stackrnn.export.reader import Reader
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
    require_servable(model)
    if version is not None:
        version = require_positive_integer("version", version)
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
    symbols = Symbols(model.vocabulary, Limits.of_vocabulary(largest, **given), model.marks)
    reader = Reader(_served(model, rounding))

    def write(folder):
        untraced = signatures_of(reader, symbols)
        signatures = {name: each.traced() for name, each in untraced.items()}
        _write_saved_model(folder, reader.model, symbols, signatures)
        write_warmup_records(folder, signatures)
        description = json.dumps(reader.model.get_config(), indent=2, ensure_ascii=False)
        (folder / DESCRIPTION).write_text(f"{description}\n", encoding="utf-8")

    return write_version(Path(base_path), version, write)


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
