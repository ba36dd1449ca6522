"""The counting patterns: runs of a, b, c and d whose lengths follow from the first ones.

In all of them n is drawn anew for every sequence, so nothing tells where the a's end. The first b
(or the first c, where the number of b's is free) settles the rest, the a that follows included.
"""

import re
from collections.abc import Callable, Iterator

import numpy as np

from keras_stackrnn.tasks.draws import Draw, Draws
from keras_stackrnn.tasks.grammars import CountedRuns
from keras_stackrnn.tasks.pattern import Batch, Pattern
from keras_stackrnn.tasks.registry import add


def _add_counting(
    name: str,
    alphabet: str,
    settled_by: str,
    runs: Callable[[int, Draw], tuple[int, ...]],
    **properties,
) -> None:
    """Adds the pattern whose symbols repeat `runs(n, draw)` times.

    `runs` takes numbers or arrays alike. Everything after the first `settled_by` is deterministic.
    """
    settling = alphabet.index(settled_by)

    def generate(n: int, draw: Draw) -> tuple[str, str]:
        counts = runs(n, draw)
        text = "".join(symbol * count for symbol, count in zip(alphabet, counts, strict=True))
        free = sum(counts[:settling]) + 1
        return text[:free], text[free:]

    def generate_batch(n: np.ndarray, keys: np.ndarray) -> Batch:
        counts = list(runs(n, Draws(keys)))
        tokens = list(range(len(alphabet)))
        # The settling symbol itself is free, its repetitions are not: two runs of the same token.
        counts[settling : settling + 1] = np.ones_like(n), counts[settling] - 1
        tokens.insert(settling, settling)
        known = np.arange(len(tokens)) > settling
        counts = np.stack(counts, axis=1)
        codes = np.array(tokens, np.int32) * 2 + known.astype(np.int32)
        codes = np.repeat(np.tile(codes, len(n)), counts.ravel())
        return Batch(codes >> 1, (codes & 1).astype(bool), counts.sum(axis=1))

    first_runs = re.compile("({}*)({}*)".format(*alphabet))

    def recover(text: str, start: int) -> Iterator[tuple[int, list[int]]]:
        first, second = map(len, first_runs.match(text, start).groups())
        # n is the first run's length; or that of two together, where the second's is drawn.
        yield first, []
        yield first + max(second, 1), [max(second, 1) - 1]

    add(
        Pattern(
            name=name,
            alphabet=alphabet,
            generate=generate,
            generate_batch=generate_batch,
            recover=recover,
            grammar=CountedRuns(alphabet, settled_by, runs),
            next_first_is_deterministic=True,
            **properties,
        )
    )


def _split_in_two(n, draw):
    """Two positive numbers whose sum is n."""
    second = 1 + draw.below(n - 1)
    return n - second, second


def _sum_runs(n, draw):
    return *_split_in_two(n, draw), n


def _product_runs(n, draw):
    first, second = _split_in_two(n, draw)
    return first, second, first * second


def _crossed_runs(n, draw):
    first, second = _split_in_two(n, draw)
    return first, second, first, second


_add_counting(
    "anbn",
    "ab",
    settled_by="b",
    runs=lambda n, draw: (n, n),
    smallest_n=1,
    n_means="number of a's",
    example="aab[ba]aab[bba]b[a]aaaab[bbbb]",
)
_add_counting(
    "anbncn",
    "abc",
    settled_by="b",
    runs=lambda n, draw: (n, n, n),
    smallest_n=1,
    n_means="number of a's",
    example="aaab[bbccca]b[ca]aaaab[bbbbccccc]",
)
_add_counting(
    "anbncndn",
    "abcd",
    settled_by="b",
    runs=lambda n, draw: (n, n, n, n),
    smallest_n=1,
    n_means="number of a's",
    example="aab[bccdda]aab[bbcccddda]b[cd]",
)
_add_counting(
    "anb2n",
    "ab",
    settled_by="b",
    runs=lambda n, draw: (n, 2 * n),
    smallest_n=1,
    n_means="number of a's",
    example="aab[bbba]aab[bbbbba]b[b]",
)
_add_counting(
    "anbmcnm",
    "abc",
    settled_by="c",
    runs=_sum_runs,
    smallest_n=2,
    n_means="number of a's and b's together",
    example="aabc[cca]aabbc[cccca]bc[c]",
)
_add_counting(
    "multiply",
    "abc",
    settled_by="c",
    runs=_product_runs,
    smallest_n=2,
    n_means="number of a's and b's together; there are as many c's as their product",
    example="aabbc[ccca]bbbc[cca]abc[c]",
)
_add_counting(
    "anbmcndm",
    "abcd",
    settled_by="c",
    runs=_crossed_runs,
    smallest_n=2,
    n_means="number of a's and b's together",
    example="aabc[cda]bbc[dda]bc[d]",
)
