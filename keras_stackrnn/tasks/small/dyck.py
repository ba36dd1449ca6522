"""Well-nested brackets of one and of two kinds, as small languages."""

from keras_stackrnn.tasks.nesting import Nesting
from keras_stackrnn.tasks.small.language import PROBABILITY, SmallLanguage


def _language(kinds: int) -> SmallLanguage:
    nesting = Nesting(kinds)
    return SmallLanguage(
        f"dyck_{kinds}",
        nesting.alphabet,
        draw=lambda keys: nesting.by_opening(keys, PROBABILITY),
        size=lambda string: len(string) // 2,
        size_means="number of pairs of brackets",
        smallest=0,
        number=lambda pairs: nesting.number(2 * pairs),
        in_order=lambda pairs: nesting.in_order(2 * pairs),
        longest=lambda pairs: 2 * pairs,
        example="#(())()#" if kinds == 1 else "#([])()#",
        valid_next=nesting.valid_next,
    )


LANGUAGES = (_language(1), _language(2))
