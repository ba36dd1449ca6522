"""Small languages as tasks: `small/<language>_<strings>`, and of another seed with `_<seed>`."""

import collections
import dataclasses
import functools
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from keras_stackrnn.tasks import pattern
from keras_stackrnn.tasks.finite import FiniteSet
from keras_stackrnn.tasks.marked import MARK, MarkedLanguage
from keras_stackrnn.tasks.rows import Rows, padded
from keras_stackrnn.tasks.small.language import TEST_STRINGS, SmallLanguage
from keras_stackrnn.tasks.strings import Strings

# Of the strings that were drawn but once, one in so many is not trained on.
_HELD_OUT = 3


class Texts(FiniteSet):
    """The strings to learn from."""

    def __init__(self, language: SmallLanguage, texts: list[str]):
        super().__init__([language.size(text) for text in texts])
        self.texts = texts
        self._strings = encoded(language.symbols, texts)

    def draw(self, sizes: np.ndarray, keys: np.ndarray) -> Strings:
        """A string of each size."""
        chosen = self.choose(sizes, keys)
        lengths = self._strings.lengths[chosen]
        return Strings(self._strings.tokens[chosen, : lengths.max(initial=0)], lengths)


@dataclasses.dataclass(frozen=True, eq=False)
class SmallTask(MarkedLanguage):
    """A finite set of strings to learn a language from.

    Some are held out: the longest, and of those that were drawn but once every third. They are
    validated on, beside the others, but never trained on, so that a search can tell what has
    understood from what has learned by heart.

    Args:
        language: The language.
        strings: The strings of the set, as they were drawn.
        trained: Those of them that are trained on.
    """

    test_sequences: ClassVar[int] = TEST_STRINGS

    language: SmallLanguage | None = None
    strings: tuple[str, ...] = ()
    trained: Texts | None = None

    def draw_sizes(self, numbers, largest):
        return self.trained.draw_sizes(numbers, largest)

    def samples(self, split: str, size: int, count: int, first: int = 0) -> Rows:
        self.check_split(split)
        self.check_size(size)
        return self.rows_of_texts(self.texts(split, size)[first : first + count])

    def rows_of_texts(self, texts: Sequence[str]) -> Rows:
        """Rows of strings in symbols, without their marks."""
        return self.rows_of_strings(encoded(self.language.symbols, texts))

    def sample(self, n: int, split: str, index: int) -> pattern.Sequence:
        """String number `index` of a size in a split, counted from the first again at the end."""
        self.check_split(split)
        self.check_size(n)
        texts = self.texts(split, n)
        if not texts:
            raise ValueError(f"{self.name!r} has no string of size {n} in its {split} split.")
        return self.parse(f"{MARK}{texts[index % len(texts)]}{MARK}")[0]

    def texts(self, split: str, size: int) -> list[str]:
        """The strings of a size in a split."""
        if split == "test":
            return list(self.language.test(size))
        if split == "train":
            return [self.trained.texts[number] for number in self.trained.of_size(size)]
        return sorted({text for text in self.strings if self.language.size(text) == size})


@functools.cache
def small_task(language: SmallLanguage, count: int, seed: int = 0) -> SmallTask:
    """The task of learning a language from so many strings."""
    strings = language.training(count, seed)
    numbers = collections.Counter(sorted(strings, key=lambda text: (-len(text), text)))
    longest, *others = numbers
    held_out = {longest, *[text for text in others if numbers[text] == 1][::_HELD_OUT]}
    trained = Texts(language, [text for text in strings if text not in held_out])
    if not trained.texts:
        raise ValueError(f"There is too little to learn from in {count} strings.")
    sizes = [language.size(text) for text in strings]
    return SmallTask.of(
        f"small/{language.name}_{count}" + (f"_{seed}" if seed else ""),
        language.symbols,
        draw=trained.draw,
        known=language.known,
        valid_next=language.valid_next,
        smallest_n=language.smallest,
        train_sizes=range(language.smallest, max(sizes) + 1),
        test_sizes=range(language.smallest, max(language.test_numbers) + 1),
        longest=lambda size: language.longest(size) + 2,
        n_means=language.size_means,
        example=language.example,
        language=language,
        strings=tuple(strings),
        trained=trained,
    )


def encoded(symbols: str, texts: Sequence[str]) -> Strings:
    """Texts as token ids."""
    lengths = np.array([len(text) for text in texts], np.int64)
    ids = np.zeros(128, np.int32)
    ids[[ord(symbol) for symbol in symbols]] = np.arange(len(symbols))
    flat = ids[np.frombuffer("".join(texts).encode("ascii"), np.uint8)]
    return Strings(padded(flat, lengths), lengths)
