"""Where a model answers: texts as it reads them, with the marks that nobody writes."""

from typing import NamedTuple

import tensorflow as tf

from keras_stackrnn.export.tensors import at, longest
from keras_stackrnn.models import SequenceModel


class Reading(NamedTuple):
    """Rows of tokens as a model reads them.

    Attributes:
        tokens: `[B, longest]`.
        lengths: `[B]`, how many of a row's tokens count.
        first: `[B]`, the place of a row's first answer.
        answers: `[B]`, how many answers it has, one place after the other.
    """

    tokens: tf.Tensor
    lengths: tf.Tensor
    first: tf.Tensor
    answers: tf.Tensor

    @property
    def asked(self):
        """bool `[B, longest]`: the places of answers."""
        place = tf.range(tf.shape(self.tokens)[1])
        first = self.first[:, None]
        return (place >= first) & (place < first + self.answers[:, None])

    def of_answers(self, records):
        """Of records `[1 + longest, B, …]` those at the answers, `[B, most answers, …]`, padded
        with anything."""
        place = self.first[:, None] + tf.range(longest(self.answers))
        place = tf.minimum(1 + place, tf.shape(records)[0] - 1)
        row = tf.broadcast_to(tf.range(tf.shape(place)[0])[:, None], tf.shape(place))
        return tf.gather_nd(records, tf.stack([place, row], axis=-1))

    def of_last(self, records):
        """Of the same those after each row's last token, `[B, …]`."""
        return at(self.lengths, records)


def reading_of(model: SequenceModel, tokens, lengths, check=lambda lengths: lengths) -> Reading:
    """What a model reads for the tokens of texts.

    Args:
        model: The model.
        tokens: `[B, columns]`, what is written.
        lengths: `[B]`.
        check: Is given how long the rows become, and gives the same if that is not too long.
    """
    first, answers = model.answer_places_of(lengths)
    total = check(first + answers)
    place = tf.range(longest(total))
    missing = tf.maximum(tf.shape(place)[0] - tf.shape(tokens)[1], 0)
    tokens = tf.pad(tokens, [[0, 0], [0, missing]])[:, : tf.shape(place)[0]]
    # The first mark is that of an answer, the second that of a place to compute in.
    mark = len(model.vocabulary) - model.marks
    marks = tf.where(place < first[:, None], mark + 1, mark)
    tokens = tf.where(place < lengths[:, None], tokens, marks)
    return Reading(tf.where(place < total[:, None], tokens, 0), total, first, answers)
