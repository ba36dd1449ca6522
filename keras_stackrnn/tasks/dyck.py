"""Dyck languages as tasks: `dyck_<kinds of brackets>` and `dyck_<kinds>_<depth>`.

The size is the number of pairs, and all strings of a size are as likely. The sizes are those of
DuSell and Chiang: strings of up to 80 symbols to learn from, and of 40 to 100 for the test.
"""

import functools

from keras_stackrnn.tasks import registry
from keras_stackrnn.tasks.marked import MARK, MarkedLanguage
from keras_stackrnn.tasks.nesting import Nesting

TRAIN_SIZES = range(1, 41)
TEST_SIZES = range(20, 51)


@functools.cache
def dyck(kinds: int, depth: int | None = None) -> MarkedLanguage:
    """The language of so many kinds of brackets, of which only so many may be open at once."""
    language = Nesting(kinds, depth)
    first, last = language.alphabet[:2], language.alphabet[-2:]
    return MarkedLanguage.of(
        f"dyck_{kinds}" if depth is None else f"dyck_{kinds}_{depth}",
        language.alphabet,
        draw=lambda pairs, keys: language.of_length(2 * pairs, keys),
        valid_next=language.valid_next,
        nats=lambda strings: language.nats_of_length(strings.lengths),
        smallest_n=1,
        train_sizes=TRAIN_SIZES,
        test_sizes=TEST_SIZES,
        longest=lambda pairs: 2 * pairs + 2,
        n_means="number of pairs of brackets",
        example=f"{MARK}{first}{last if depth == 1 else first.join(last)}{MARK}",
    )


registry.add(dyck(1))
registry.add(dyck(2))
registry.add_family("dyck", dyck, most_numbers=2)
