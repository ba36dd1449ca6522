"""The vocabulary inside the graph: from text to token ids and back."""

import tensorflow as tf

from keras_stackrnn.export.limits import Limits
from keras_stackrnn.export.require import require_none

UNKNOWN = "<unk>"
END_OF_LINE = "<eos>"
# Vocabularies up to this size are spelled out when a symbol is unknown.
_FEW_SYMBOLS = 20


class Symbols:
    """Takes texts apart into symbols, and puts them together again.

    A vocabulary of single characters (and perhaps `<unk>` and `<eos>`) takes texts character by
    character, and the end of a line stands for `<eos>`; any other takes them apart at white space.
    What is not in the vocabulary is `<unk>`, or an error where there is none.

    Args:
        vocabulary: The symbols in the order of their token ids.
        limits: How much text is taken apart; by default as much as suits the vocabulary.
        marks: How many of the last symbols nobody writes.
    """

    def __init__(self, vocabulary: list[str], limits: Limits | None = None, marks: int = 0):
        self.limits = limits or Limits.of_vocabulary(len(vocabulary))
        self.vocabulary = vocabulary
        vocabulary = vocabulary[: len(vocabulary) - marks]
        names = [symbol for symbol in vocabulary if symbol not in (UNKNOWN, END_OF_LINE)]
        self.are_characters = all(len(name) == 1 for name in names)
        if not self.are_characters:
            for symbol in vocabulary:
                if symbol.split() != [symbol]:
                    raise ValueError(
                        "A vocabulary of words is written with spaces between them: expected "
                        f"words without white space, got {symbol!r}."
                    )
        self.separator = "" if self.are_characters else " "
        self._names = vocabulary
        self._written = list(vocabulary)
        if self.are_characters and END_OF_LINE in vocabulary and "\n" not in vocabulary:
            self._written[vocabulary.index(END_OF_LINE)] = "\n"
        self.can_be_unknown = UNKNOWN not in vocabulary
        self.table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(
                tf.constant(self._written), tf.range(len(vocabulary), dtype=tf.int32)
            ),
            default_value=-1 if self.can_be_unknown else vocabulary.index(UNKNOWN),
        )

    def encode(self, text):
        """`[batch]` texts as token ids `[batch, longest]`, padded with 0, and lengths `[batch]`."""
        text = self.limits.text(text, self.are_characters)
        text = tf.strings.unicode_transcode(text, "UTF-8", "UTF-8", errors="replace")
        if self.are_characters:
            symbols = tf.strings.unicode_split(text, "UTF-8")
        else:
            symbols = tf.strings.split(text)
        lengths = self.limits.lengths(tf.cast(symbols.row_lengths(), tf.int32))
        with tf.control_dependencies([lengths]):
            symbols = tf.identity(symbols)
        tokens = self.table.lookup(symbols.flat_values)
        if self.can_be_unknown:
            unknown = tf.unique(tf.boolean_mask(symbols.flat_values, tokens < 0)).y
            sentence = f"Unknown symbol: expected {self.description}"
            tokens = require_none(tokens, unknown, sentence)
        tokens = symbols.with_flat_values(tokens)
        return tokens.to_tensor(), lengths

    def names(self, tokens):
        """The symbols of token ids of any shape."""
        return tf.gather(tf.constant(self.vocabulary), tokens)

    def written(self, tokens, positions):
        """What each of the tokens `[batch, columns]` adds to a text of so many symbols."""
        written = tf.gather(tf.constant(self._written), tokens)
        if not self.separator:
            return written
        is_first = positions[:, None] + tf.range(tf.shape(tokens, tf.int64)[1])[None] == 0
        return tf.strings.join([tf.where(is_first, "", self.separator), written])

    def all_written(self) -> list[str]:
        """Each symbol as it stands in a text, or nowhere, in the order of the token ids."""
        return [*self._written, *self.vocabulary[len(self._written) :]]

    def decode(self, tokens, lengths):
        """The texts of the first `lengths` tokens of every row."""
        written = tf.gather(tf.constant(self._written), tokens)
        rows = tf.RaggedTensor.from_tensor(written, lengths)
        return tf.strings.reduce_join(rows, axis=1, separator=self.separator)

    def example(self, length: int) -> str:
        """A text of so many symbols."""
        written = [name for name in self._written if name != UNKNOWN] or [UNKNOWN]
        return self.separator.join(written[i % len(written)] for i in range(length))

    @property
    def description(self) -> str:
        """What a symbol can be, in words."""
        if len(self._names) <= _FEW_SYMBOLS:
            return f"one of {' '.join(self._names)}"
        return f"one of {len(self._names):,} symbols"
