"""From a Keras model and a text to a record."""

from collections.abc import Mapping, Sequence

import keras
import numpy as np

from keras_stackrnn.layers.arguments import require_positive_integer
from keras_stackrnn.trace import force as forcing
from keras_stackrnn.trace.predictable import trained_on, upcoming_of
from keras_stackrnn.trace.reading import (
    answers_of,
    inputs_of,
    outputs_of,
    places_of,
    probabilities_of,
)
from keras_stackrnn.trace.record import Trace
from keras_stackrnn.trace.recorder import Recorder


def trace_model(
    model: keras.Model,
    text: str,
    vocabulary: Sequence[str] | None,
    rounding: bool | None,
    depth: int | None,
    deterministic: str | Sequence[bool] | None,
    force: Mapping[str, str | Mapping[int, str]] | None,
) -> Trace:
    """See `keras_stackrnn.trace`."""
    if not isinstance(model, keras.layers.Layer):
        raise ValueError(f"There is nothing to trace in {model!r}: expected a Keras model.")
    vocabulary = _vocabulary_of(model, vocabulary)
    if depth is not None:
        depth = require_positive_integer("depth", depth)
    tokens, asked = places_of(model, text, vocabulary)
    forced = forcing.at_steps(force, len(tokens))
    recorder = Recorder(model, len(tokens), rounding, depth, forced)
    if not recorder.sees_anything:
        raise ValueError(
            f"Model {model.name!r} has no memory to trace: expected a StackCell, a StackRNN or the "
            "like in it."
        )
    inputs = inputs_of(model, tokens, len(vocabulary), recorder.batch_size)
    with recorder.recording():
        outputs = outputs_of(model, inputs)
        is_rounded = bool(recorder.cells) and all(cell.rounding for cell in recorder.cells)
    memories = recorder.memories()
    forcing.check(forced, memories, len(tokens))
    symbols = tuple(vocabulary[token] for token in tokens)
    task = getattr(model, "task", None)
    if asked is None:
        known = trained_on(task) if deterministic is None else deterministic
        upcoming, predictable = upcoming_of(symbols, known)
    else:
        upcoming, predictable = (None,) * len(symbols), None
    answers = answers_of(model, vocabulary)
    probabilities = probabilities_of(outputs, len(tokens), len(answers))
    if asked is not None:
        probabilities[~asked] = np.nan
    return Trace(
        symbols=symbols,
        upcoming=upcoming,
        deterministic=predictable,
        vocabulary=tuple(answers),
        probabilities=probabilities,
        memories=tuple(memories),
        rounded=is_rounded,
        title=task or model.name,
        forced=forcing.describe(force),
        asked=asked,
        states=tuple(recorder.states()),
    )


def _vocabulary_of(model, vocabulary):
    if vocabulary is None:
        vocabulary = getattr(model, "vocabulary", None)
    if vocabulary is None:
        raise ValueError(
            f"Model {model.name!r} does not know its symbols: expected vocabulary='ab' or the "
            "like, with a symbol for each token id, got None."
        )
    vocabulary = list(vocabulary)
    if not vocabulary or len(set(vocabulary)) < len(vocabulary):
        raise ValueError(
            "Received an invalid value for argument `vocabulary`: expected distinct symbols, "
            f"got {vocabulary!r}."
        )
    return vocabulary
