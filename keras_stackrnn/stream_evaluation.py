"""Sequences in a row: how many are right if the memory is never emptied between them."""

import dataclasses

import numpy as np
import tensorflow as tf

from keras_stackrnn.evaluation import as_tested, check_fits
from keras_stackrnn.kernels.pointer_scan import CHUNK
from keras_stackrnn.models import SequenceModel
from keras_stackrnn.tasks import Pattern

SEQUENCES = 200


@dataclasses.dataclass(frozen=True)
class StreamAccuracy:
    """What a model got right of sequences in a row.

    Attributes:
        sequences: How many there were.
        right: How many of them were right at every scored place.
        first_fault: The number of the first that was not, counted from 1; `None`: all were right.
    """

    sequences: int
    right: int
    first_fault: int | None


def evaluate_stream(
    model: SequenceModel,
    pattern: Pattern,
    n_range: range,
    sequences: int = SEQUENCES,
    rounding: bool = False,
    split: str = "test",
) -> StreamAccuracy:
    """Has a model read sequences of a pattern one after the other, from an empty memory on.

    Args:
        model: A model that reads the pattern's symbols.
        pattern: A pattern whose sequences flow.
        n_range: The n to draw from, all as likely.
        sequences: How many sequences there are.
        rounding: Whether the model rounds its actions. Either way its memory loses nothing.
        split: What the stream is for; those of different splits are independent.
    """
    check_fits(model, pattern)
    joined = pattern.in_a_row(n_range, sequences, split)
    answers = _answers(as_tested(model, rounding), joined.tokens[:-1])
    wrong = (answers != joined.tokens[1:]) & joined.deterministic[1:]
    faulty = np.unique(joined.scored[1:][wrong])
    first = int(faulty[0]) + 1 if len(faulty) else None
    return StreamAccuracy(sequences, sequences - len(faulty), first)


def _answers(model: SequenceModel, tokens: np.ndarray) -> np.ndarray:
    count = len(tokens)
    if model.rounding:
        # Its steps are compiled, a chunk at a time: a last one that is shorter would be a program
        # more, and what comes after the sequences changes nothing.
        read, tokens = model, np.pad(tokens, (0, -count % CHUNK))
    else:
        read = tf.function(model, autograph=False, jit_compile=True)
    return np.argmax(read(tf.constant(tokens[None]))[0, :count], axis=-1)
