"""A word written twice, with one symbol of the two hidden: which was it?"""

import numpy as np

from keras_stackrnn.tasks.chomsky.suite import ONE_ANSWER, chomsky, pairs
from keras_stackrnn.tasks.draws import scale, words
from keras_stackrnn.tasks.strings import cut, places, random_strings, single
from keras_stackrnn.tasks.transduction import Pairs

INPUTS = "01?_"
_HIDDEN, _BLANK = (INPUTS.index(symbol) for symbol in "?_")


@chomsky(INPUTS, "01", answer_places=ONE_ANSWER, example="0110?1_ -> 1")
def missing_duplicate_string(sizes: np.ndarray, keys: np.ndarray) -> Pairs:
    """The hidden bit of `w w`; an odd size ends with a blank, and size 1 is a 1 that asks for a 1.

    All bits but the hidden one come in pairs, so it is the parity of those that can be seen.
    """
    halves = sizes // 2
    hidden = scale(words(keys, 0), np.maximum(2 * halves, 1))
    # Where there is no word, the symbol is a 1 that nothing hides.
    word = random_strings(keys, np.maximum(halves, 1), 2, first_word=1).tokens
    word[sizes == 1] = 1
    rows, place = np.arange(len(sizes)), places(sizes)
    within = np.minimum(place % np.maximum(halves, 1)[:, None], word.shape[1] - 1)
    symbols = np.take_along_axis(word, within, axis=1)
    answers = symbols[rows, hidden]
    symbols[rows, hidden] = _HIDDEN
    symbols[place == (2 * halves)[:, None]] = _BLANK
    symbols[sizes == 1, 0] = 1
    return pairs(cut(symbols, sizes), single(answers))
