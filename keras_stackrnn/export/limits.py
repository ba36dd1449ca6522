"""How much a request may ask for: what is beyond is refused before anything is computed."""

from typing import NamedTuple

import tensorflow as tf

from keras_stackrnn.export.require import require
from keras_stackrnn.export.tensors import longest

# Probabilities of all symbols of a request, all of them together; 256 MiB of them.
_MAX_PROBABILITIES = 2**26
# A symbol's bytes in UTF-8 at most, and a word's with the space after it by far.
_BYTES_OF_A_CHARACTER, _BYTES_OF_A_WORD = 4, 32


class Limits(NamedTuple):
    """What the signatures of an exported model accept.

    Attributes:
        batch: Rows of a request.
        length: Symbols of a row.
        symbols: Symbols of all rows together, the padding included.
    """

    batch: int
    length: int
    symbols: int

    @classmethod
    def of_vocabulary(
        cls,
        size: int,
        batch: int | None = None,
        length: int | None = None,
        symbols: int | None = None,
    ) -> "Limits":
        """The given limits, and defaults that suit a vocabulary of so many symbols."""
        symbols = symbols or min(2**18, max(1, _MAX_PROBABILITIES // size))
        return cls(batch or 4096, min(length or 2**16, symbols), symbols)

    def text(self, text, are_characters: bool):
        """The same texts `[batch]`, if they are few enough, and not too long even to be split."""
        text = self._rows(text, tf.size(text))
        size = tf.reduce_sum(tf.strings.length(text))
        each = _BYTES_OF_A_CHARACTER if are_characters else _BYTES_OF_A_WORD
        most = each * self.symbols
        return require(text, size <= most, f"Expected at most {most} bytes of text, got ", size)

    def lengths(self, lengths):
        """The same lengths of rows `[batch]`, if that is not too much."""
        lengths = self._rows(lengths, tf.size(lengths))
        return self._symbols(lengths, tf.size(lengths), longest(lengths))

    def tokens(self, tokens):
        """The same tokens `[batch, columns]`, if that is not too much."""
        rows, columns = tf.unstack(tf.shape(tokens))
        return self._symbols(self._rows(tokens, rows), rows, columns)

    def rows(self, rows):
        """The same number of rows, if that is not too much."""
        return self._rows(rows, rows)

    def _rows(self, tensor, rows):
        return require(
            tensor,
            rows <= self.batch,
            f"Expected at most {self.batch} rows in a request, got ",
            rows,
        )

    def _symbols(self, tensor, rows, columns):
        tensor = require(
            tensor,
            columns <= self.length,
            f"Expected at most {self.length} symbols in a row, got ",
            columns,
        )
        return require(
            tensor,
            rows <= self.symbols // tf.maximum(columns, 1),
            f"Expected at most {self.symbols} symbols in all rows together, got ",
            rows,
            " times ",
            columns,
        )
