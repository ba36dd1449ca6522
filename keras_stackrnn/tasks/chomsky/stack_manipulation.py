"""A stack, what is done to it, and the stack that remains."""

import numpy as np

from keras_stackrnn.tasks.chomsky.suite import chomsky, pairs
from keras_stackrnn.tasks.draws import scale, words
from keras_stackrnn.tasks.strings import Strings, cut, places
from keras_stackrnn.tasks.transduction import Pairs

# POP is -, PUSH 0 is o and PUSH 1 is i.
INPUTS = "01-oi"
OUTPUTS = "01."
_POP, _PUSH_0, _ = (INPUTS.index(symbol) for symbol in "-oi")
_TERMINATOR = OUTPUTS.index(".")


@chomsky(INPUTS, OUTPUTS, answer_places=(1, 1, 1), terminator=".", example="0110i-- -> 110.0000")
def stack_manipulation(sizes: np.ndarray, keys: np.ndarray) -> Pairs:
    """Bits from the bottom up, actions, and what is on the stack then, top first."""
    bits = 1 + scale(words(keys, 0), np.maximum(sizes - 1, 1))
    place = places(sizes)
    is_action = place >= bits[:, None]
    symbols = scale(words(keys[:, None], 1 + place), np.where(is_action, 3, 2))
    inputs = cut(symbols + is_action * _POP, sizes)
    stack, heights = _carry_out(inputs)
    # The row below the stack's last one is where the terminator goes.
    from_top = heights[:, None] - 1 - places(sizes + 1)
    answers = np.take_along_axis(stack, np.maximum(from_top, 0), axis=1) * (from_top >= 0)
    answers[from_top == -1] = _TERMINATOR
    return pairs(inputs, cut(answers, sizes + 1), counted=heights + 1)


def _carry_out(inputs: Strings) -> tuple[np.ndarray, np.ndarray]:
    """The stacks [rows, size + 1], bottom first, and their heights; POP of nothing does nothing."""
    rows = np.arange(len(inputs.tokens))
    stack = np.zeros((len(rows), inputs.tokens.shape[1] + 1), np.int32)
    heights = np.zeros(len(rows), np.int64)
    for place in range(inputs.tokens.shape[1]):
        symbol, here = inputs.tokens[:, place], place < inputs.lengths
        pops = symbol == _POP
        # Above a stack's top nothing counts, so the value may be written there in any case.
        stack[rows, heights] = np.where(symbol >= _PUSH_0, symbol - _PUSH_0, symbol)
        heights += np.where(pops, -(heights > 0).astype(np.int64), 1) * here
    return stack, heights
