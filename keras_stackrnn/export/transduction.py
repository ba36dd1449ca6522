"""The signatures of a transducer: a text in, its answer out."""

import tensorflow as tf

from keras_stackrnn.export.signatures import TEXT, Signature, Signatures
from keras_stackrnn.export.symbols import Symbols
from keras_stackrnn.export.tensors import longest, padded, softmax


class TransducerSignatures(Signatures):
    """All that a transducer can be asked. V are the symbols of answers."""

    def __init__(self, reader, symbols):
        super().__init__(reader, symbols)
        self._answers = Symbols(reader.model.answers, symbols.limits)

    def untraced(self):
        transduce = Signature(self.transduce, [TEXT], self.request_of_text())
        return {"serving_default": transduce, "transduce": transduce, **super().untraced()}

    def transduce(self, text):
        """The answer to each text.

        Returns:
            `answer` `[B]`, up to the terminator where answers have one; its `symbols` `[B, N]` and
            their `probabilities` `[B, N]`, N being the most places that an answer of the request
            has; and `lengths` `[B]`, how many symbols there are. Where there is padding: "" and 0.
        """
        reading = self._reading(text)
        hiddens = reading.of_answers(self._read(reading.tokens, reading.lengths))
        probabilities = softmax(self._reader.logits(hiddens))
        tokens = tf.argmax(probabilities, axis=-1, output_type=tf.int32)
        lengths, columns = self._ends(tokens, reading.answers), longest(reading.answers)
        most = tf.reduce_max(probabilities, axis=-1)
        return {
            "answer": self._answers.decode(tokens, lengths),
            "symbols": padded(self._answers.names(tokens), lengths, columns, ""),
            "probabilities": padded(most, lengths, columns, 0.0),
            "lengths": lengths,
        }

    def _ends(self, tokens, lengths):
        """How many symbols an answer has, which may end before its places do."""
        terminator = self._reader.model.terminator
        if terminator is None:
            return lengths
        ends = tf.equal(tokens, self._reader.model.answers.index(terminator))
        # What is after the places ends, too.
        ends = tf.pad(tf.cast(ends, tf.int32), [[0, 0], [0, 1]], constant_values=1)
        return tf.minimum(lengths, tf.argmax(ends, axis=1, output_type=tf.int32))
