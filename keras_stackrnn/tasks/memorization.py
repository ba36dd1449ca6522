"""Memorization: a random word, `=`, and the word backwards."""

import functools
import string
from collections.abc import Iterable, Iterator

import numpy as np

from keras_stackrnn.tasks.draws import Draw, scale, words
from keras_stackrnn.tasks.grammars import WordAndBack
from keras_stackrnn.tasks.pattern import Batch, Pattern
from keras_stackrnn.tasks.registry import add, add_family

# One character a symbol: digits, then letters, then Unicode's main block of ideographs.
_SYMBOLS = string.digits[1:] + string.ascii_letters + "".join(map(chr, range(0x4E00, 0xA000)))


@functools.cache
def memorize(number_of_symbols: int) -> Pattern:
    """Memorization over so many symbols: `memorize` for two, else `memorize_<number>`."""
    if not 1 <= number_of_symbols <= len(_SYMBOLS):
        raise ValueError(
            f"Memorization takes from 1 to {len(_SYMBOLS)} symbols, got {number_of_symbols}."
        )
    symbols = _SYMBOLS[:number_of_symbols]

    def generate(n: int, draw: Draw) -> tuple[str, str]:
        word = "".join(draw.choice(symbols) for _ in range(n))
        return word + "=", word[::-1]

    def generate_batch(n: np.ndarray, keys: np.ndarray) -> Batch:
        lengths = 2 * n + 1
        equals_signs = np.cumsum(lengths) - n - 1
        from_equals_sign = np.arange(lengths.sum()) - np.repeat(equals_signs, lengths)
        place_in_word = np.repeat(n, lengths) - np.abs(from_equals_sign)
        tokens = scale(words(np.repeat(keys, lengths), place_in_word), number_of_symbols)
        tokens[equals_signs] = number_of_symbols
        return Batch(tokens.astype(np.int32), from_equals_sign > 0, lengths)

    def recover(text: str, start: int) -> Iterator[tuple[int, Iterable[int]]]:
        equals = text.find("=", start)
        word = text[start : equals if equals >= 0 else None]
        yield len(word), map(symbols.find, word)

    return Pattern(
        name="memorize" if number_of_symbols == 2 else f"memorize_{number_of_symbols}",
        alphabet=symbols + "=",
        generate=generate,
        generate_batch=generate_batch,
        recover=recover,
        grammar=WordAndBack(symbols, "="),
        smallest_n=1,
        n_means="length of the word",
        example=(
            "12=[21]2122=[2212]11121=[12111]"
            if number_of_symbols == 2
            else f"{symbols[:5]}=[{symbols[:5][::-1]}]"
        ),
    )


add(memorize(2))
add_family("memorize", memorize)
