"""Who can be asked what a model would predict, had its memories acted otherwise."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from keras_stackrnn import model_files
from keras_stackrnn import trace as tracing
from keras_stackrnn.trace.blame import Blame, blame
from keras_stackrnn.trace.exported import latest_version
from keras_stackrnn.trace.record import Trace
from keras_stackrnn.trace.sources import trace_source

if TYPE_CHECKING:
    import keras

# From a signature's name and its inputs to its outputs.
_Ask = Callable[[str, Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]


def blame_source(source: str, text: str, **options) -> list[Blame]:
    """What each memory does for the prediction after a text.

    Args:
        source: What names a model, as of `trace_source`.
        text: The text.
        **options: Those of `trace_source`, without `force`.
    """
    if (file := model_files.find(source)) is not None:
        return blame_model(model_files.load_file(file), text, **options)
    ask = _asking_saved_model if Path(source).is_dir() else _asking_server
    return _blamed(trace_source(source, text, **options), ask(source))


def blame_model(model: "keras.Model", text: str, **options) -> list[Blame]:
    """The same of a model in Python.

    Args:
        model: One that can be exported.
        text: The text.
        **options: Those of `keras_stackrnn.trace`, without `force`.
    """
    return _blamed(
        tracing.trace(model, text, **options), _asking_model(model, options.get("rounding"))
    )


def _blamed(trace: Trace, ask: _Ask) -> list[Blame]:
    [description] = ask("describe", {"batch_size": np.array(1, np.int32)})["model"]
    symbols = json.loads(description)["symbols"]
    tokens = np.array([symbols.index(symbol) for symbol in trace.symbols], np.int32)

    def force(forced: np.ndarray) -> np.ndarray:
        rows = len(forced)
        inputs = {
            "tokens": np.tile(tokens, (rows, 1)),
            "lengths": np.full(rows, len(tokens), np.int32),
            "forced": forced,
        }
        return ask("force", inputs)["probabilities"]

    return blame(trace, force)


def _asking_model(model: "keras.Model", rounding: bool | None) -> _Ask:
    from keras_stackrnn.export.forms import require_servable, signatures_of
    from keras_stackrnn.export.reader import Reader
    from keras_stackrnn.export.symbols import Symbols

    changes = {} if rounding is None else {"rounding": rounding}
    served = require_servable(model).twin(capacity=None, **changes)
    symbols = Symbols(served.vocabulary, marks=served.marks)
    signatures = signatures_of(Reader(served), symbols)
    traced = {name: signatures[name].traced() for name in ("describe", "force")}

    def ask(name: str, inputs: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        arrays = [inputs[spec.name] for spec in traced[name].inputs]
        outputs = traced[name].function(*arrays)
        return {alias: output.numpy() for alias, output in outputs.items()}

    return ask


def _asking_saved_model(folder: str) -> _Ask:
    import tensorflow as tf

    loaded = tf.saved_model.load(str(latest_version(folder)))
    if "force" not in loaded.signatures:
        raise ValueError(_too_old(f"The SavedModel in {folder!r}"))

    def ask(name: str, inputs: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        tensors = {alias: tf.constant(array) for alias, array in inputs.items()}
        outputs = loaded.signatures[name](**tensors)
        return {alias: output.numpy() for alias, output in outputs.items()}

    return ask


def _asking_server(source: str) -> _Ask:
    import grpc

    from keras_stackrnn.serving.client import Client

    address, _, model = source.rpartition("/")

    def ask(name: str, inputs: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        try:
            with Client(address, model) as client:
                return client.call(name, inputs)
        except grpc.RpcError as error:
            if "not found" in error.details():
                raise ValueError(_too_old(f"{model!r} at {address}")) from None
            raise ValueError(f"{address} says {error.code().name}: {error.details()}") from None

    return ask


def _too_old(what: str) -> str:
    return f"{what} was exported by another version, which cannot be forced: export it again."
