"""Between text and a Keras model: what it reads of a text, and what its outputs say about it."""

import keras
import numpy as np
import tensorflow as tf
from keras import tree

# How far the probabilities of a model that computes in half precision may be from adding up to 1.
_CLOSE_TO_ONE = 0.02


def tokens_of(text: str, vocabulary: list[str], marks: int = 0) -> list[int]:
    """A text as token ids, by the rule that exported models have as well."""
    from keras_stackrnn.export.symbols import Symbols

    symbols = Symbols(vocabulary, marks=marks)
    pieces = list(text) if symbols.are_characters else text.split()
    if not pieces:
        return []
    tokens = symbols.table.lookup(tf.constant(pieces)).numpy().tolist()
    unknown = [piece for piece, token in zip(pieces, tokens, strict=True) if token < 0]
    if unknown:
        raise ValueError(
            f"Unknown symbol in the text: expected {symbols.description}, got {unknown[0]!r}."
        )
    return tokens


def places_of(
    model: keras.Model, text: str, vocabulary: list[str]
) -> tuple[list[int], np.ndarray | None]:
    """What a model reads of a text, as token ids, and at which of them it is asked an answer.

    `None` takes the place of the latter where a model predicts the next symbol.
    """
    marks = getattr(model, "marks", 0)
    tokens, asked = tokens_of(text, vocabulary, marks), None
    if marks:
        from keras_stackrnn.export.answers import reading_of

        row = tf.constant([tokens], tf.int32, [1, len(tokens)])
        reading = reading_of(model, row, tf.constant([len(tokens)]))
        tokens, asked = reading.tokens[0].numpy().tolist(), reading.asked[0].numpy()
    if not tokens:
        raise ValueError(f"There is nothing to trace: expected a text with symbols, got {text!r}.")
    return tokens, asked


def answers_of(model: keras.Model, vocabulary: list[str]) -> list[str]:
    """What a model gives probabilities of."""
    return getattr(model, "answers", vocabulary) if getattr(model, "marks", 0) else vocabulary


def sentence_of(error: Exception | str) -> str:
    """The sentence of a check inside a graph, without what TensorFlow writes around it."""
    _, _, after = str(error).partition("assertion failed: [")
    if not after:
        return str(error).splitlines()[0]
    return after.splitlines()[0].partition("] [Op:")[0].removesuffix("]") + "."


def inputs_of(model: keras.Model, tokens: list[int], symbols: int, batch: int) -> np.ndarray:
    """The tokens as the model reads them: as they are, or one-hot.

    Args:
        model: The model.
        tokens: Token ids.
        symbols: How many symbols the vocabulary has.
        batch: How many copies of the sequence there are to be.
    """
    shape = _input_shape(model)
    inputs = np.array([tokens] * batch, "int32")
    if len(shape) == 2:
        return inputs
    if shape[-1] not in (None, symbols):
        raise ValueError(
            f"The model reads {shape[-1]} features of each symbol: expected a vocabulary of as "
            f"many symbols, to be read one-hot, got {symbols}."
        )
    return np.eye(symbols, dtype="float32")[inputs]


def outputs_of(model: keras.Model, inputs: np.ndarray):
    """What a model makes of inputs; some can read nothing but the length they were made for."""
    try:
        return model(inputs, training=False)
    except (ValueError, tf.errors.InvalidArgumentError):
        length = _input_shape(model)[1]
        if length in (None, inputs.shape[1]):
            raise
        raise ValueError(
            f"The model reads texts of {length} symbols and no others, got {inputs.shape[1]}."
        ) from None


def _input_shape(model: keras.Model) -> tuple[int | None, ...]:
    if not model.built:
        raise ValueError(
            f"Model {model.name!r} has no weights yet: train or load it, or call it once."
        )
    if getattr(model, "inputs", None):
        if len(model.inputs) != 1:
            raise ValueError(
                f"A trace wants a model with one input, the text; got {len(model.inputs)}."
            )
        shape = model.inputs[0].shape
    else:
        shape = (model.get_build_config() or {}).get("input_shape")
    if shape is None or len(shape) not in (2, 3):
        raise ValueError(
            "A trace wants a model that reads (batch, symbols) token ids or (batch, symbols, "
            f"features) one-hot symbols, got one with inputs of shape {shape}."
        )
    return tuple(shape)


def probabilities_of(outputs, steps: int, symbols: int) -> np.ndarray:
    """`[steps, symbols]`: the next symbol's probabilities; NaN where the model gives none.

    Args:
        outputs: Whatever the model returned. The first tensor with a number for each symbol of the
            vocabulary counts: at each step, or once for the last.
        steps: How many symbols were read.
        symbols: How many symbols there are.
    """
    probabilities = np.full((steps, symbols), np.nan, "float32")
    for output in map(keras.ops.convert_to_numpy, tree.flatten(outputs)):
        row = output[0].astype("float32")
        if row.shape == (steps, symbols):
            probabilities[:] = _normalised(row)
            break
        if row.shape == (symbols,):
            probabilities[-1:] = _normalised(row[None])
            break
    return probabilities


def _normalised(rows: np.ndarray) -> np.ndarray:
    """Probabilities as they are, and logits as probabilities."""
    if (rows >= 0).all() and (abs(rows.sum(axis=1) - 1) < _CLOSE_TO_ONE).all():
        return rows
    powers = np.exp(rows - rows.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
