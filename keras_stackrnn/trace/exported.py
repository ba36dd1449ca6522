"""From an exported model, in a folder or behind a server, to a record: the `trace` signature."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from keras_stackrnn import memories
from keras_stackrnn.layers.arguments import require_positive_integer
from keras_stackrnn.trace.predictable import trained_on, upcoming_of
from keras_stackrnn.trace.reading import sentence_of
from keras_stackrnn.trace.record import MemoryTrace, Trace

SAVED_MODEL = "saved_model.pb"
_OUTPUTS = ("symbols", "actions", "memory_kind", "tops", "values", "probabilities", "vocabulary")

Deterministic = str | Sequence[bool] | None


def trace_saved_model(
    folder: str | os.PathLike,
    text: str,
    depth: int | None = None,
    deterministic: Deterministic = None,
) -> Trace:
    """Traces a SavedModel that `keras_stackrnn.export` wrote.

    Args:
        folder: A version's folder, or the folder of all versions, of which the latest counts.
        text: The text.
        depth: How many elements of each memory to record; `None`: as many as the model reads.
        deterministic: As in `keras_stackrnn.trace`; `None`: by the pattern the model was trained
            on, where the export says so.
    """
    import tensorflow as tf

    from keras_stackrnn.export.saved_model import DESCRIPTION

    version = latest_version(folder)
    if version is None:
        raise ValueError(
            f"There is no SavedModel in {os.fspath(folder)!r}: expected {SAVED_MODEL} in it, or in "
            "a folder in it whose name is a number."
        )
    signature = tf.saved_model.load(str(version)).signatures.get("trace")
    if signature is None:
        raise ValueError(f"The SavedModel in {str(version)!r} has no memory to trace.")
    description = version / DESCRIPTION
    config = json.loads(description.read_text(encoding="utf-8")) if description.exists() else {}
    try:
        outputs = signature(text=tf.constant([text]))
    except tf.errors.InvalidArgumentError as error:
        raise ValueError(sentence_of(error)) from None
    outputs = {name: output.numpy() for name, output in outputs.items()}
    task = config.get("task")
    return record_of(
        outputs,
        title=task or version.resolve().parent.name,
        depth=config.get("read_depth") if depth is None else depth,
        deterministic=trained_on(task) if deterministic is None else deterministic,
    )


def trace_server(
    address: str,
    model: str,
    text: str,
    depth: int | None = None,
    deterministic: Deterministic = None,
) -> Trace:
    """Traces a model that a server has: the embedded one, or TensorFlow Serving.

    Args:
        address: `host:port` of its gRPC service.
        model: The model's name.
        text: The text.
        depth: How many elements of each memory to record; `None`: the top-most alone.
        deterministic: As in `keras_stackrnn.trace`; a server does not tell what its model was
            trained on.
    """
    import grpc

    from keras_stackrnn.serving.client import Client

    try:
        with Client(address, model) as client:
            outputs = client.call("trace", {"text": np.array([text.encode()], object)})
    except grpc.RpcError as error:
        raise ValueError(_sentence_of_call(error, address, model)) from None
    return record_of(outputs, model, depth, deterministic)


def latest_version(folder: str | os.PathLike) -> Path | None:
    """The folder itself if it holds a SavedModel, else its latest version, if there is one."""
    folder = Path(folder)
    if (folder / SAVED_MODEL).exists():
        return folder
    versions = [path.parent for path in folder.glob(f"*/{SAVED_MODEL}")]
    numbered = [path for path in versions if path.name.isdecimal()]
    return max(numbered, key=lambda path: int(path.name), default=None)


def _sentence_of_call(error, address: str, model: str) -> str:
    import grpc

    if error.code() == grpc.StatusCode.UNAVAILABLE:
        return f"No server answers at {address}."
    if "not found" in error.details() and "signature" in error.details():
        return f"Model {model!r} at {address} has no memory to trace."
    return f"{address} says {error.code().name}: {sentence_of(error.details())}"


def record_of(
    outputs: Mapping[str, np.ndarray],
    title: str,
    depth: int | None = None,
    deterministic: Deterministic = None,
) -> Trace:
    """The record in the outputs of a `trace` signature that was given one text."""
    missing = [name for name in _OUTPUTS if name not in outputs]
    if missing:
        raise ValueError(
            f"{title!r} was exported by another version, without {', '.join(missing)} in its "
            "traces: export it again."
        )
    outputs = {name: output[0] for name, output in outputs.items()}
    # Only models with places for answers tell where these are.
    asked = outputs.get("asked")
    symbols, vocabulary = (
        tuple(symbol.decode() for symbol in outputs[name]) for name in ("symbols", "vocabulary")
    )
    if not symbols:
        raise ValueError("There is nothing to trace: expected a text with symbols, got none.")
    kind = memories.get(json.loads(outputs["memory_kind"]))
    records = [
        MemoryTrace(
            name=f"{kind.name}{place + 1}",
            kind=kind,
            weights=outputs["actions"][:, place],
            values=outputs["values"][:, place],
            tops=outputs["tops"][:, place, None],
        )
        for place in range(outputs["tops"].shape[1])
    ]
    if depth is not None:
        depth = require_positive_integer("depth", depth)
        records = [memory.with_depth(depth) for memory in records]
    probabilities = outputs["probabilities"]
    if asked is None:
        upcoming, predictable = upcoming_of(symbols, deterministic)
    else:
        upcoming, predictable = (None,) * len(symbols), None
        probabilities = np.where(asked[:, None], probabilities, np.nan)
    return Trace(
        symbols=symbols,
        upcoming=upcoming,
        deterministic=predictable,
        vocabulary=vocabulary,
        probabilities=probabilities,
        memories=tuple(records),
        rounded=all(memory.is_rounded for memory in records),
        title=title,
        asked=asked,
    )
