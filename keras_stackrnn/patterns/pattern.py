"""What a pattern is: a rule that writes sequences and knows which symbols can be predicted."""

import dataclasses
import functools
import itertools
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from keras_stackrnn.patterns.draws import Draw, draw_key
from keras_stackrnn.patterns.parsing import parse
from keras_stackrnn.patterns.sizes import LARGEST_TEST_N, LARGEST_TRAINING_N


class Sequence(NamedTuple):
    """One sequence: its text, its token ids (int32) and which symbols are deterministic (bool)."""

    text: str
    tokens: np.ndarray
    deterministic: np.ndarray

    def marked(self) -> str:
        """The text with its deterministic symbols in square brackets, as in `aab[b]`."""
        runs = itertools.groupby(zip(self.text, self.deterministic, strict=True), lambda s: s[1])
        texts = ((known, "".join(symbol for symbol, _ in run)) for known, run in runs)
        return "".join(f"[{text}]" if known else text for known, text in texts)


class Joined(NamedTuple):
    """Sequences one after the other; `scored` is the number of the sequence each symbol scores."""

    text: str
    tokens: np.ndarray
    deterministic: np.ndarray
    scored: np.ndarray

    marked = Sequence.marked


class Batch(NamedTuple):
    """Many sequences end to end: flat token ids and mask, and every sequence's length."""

    tokens: np.ndarray
    deterministic: np.ndarray
    lengths: np.ndarray


@dataclasses.dataclass(frozen=True)
class Pattern:
    """A rule that writes a sequence for every n and every random draw.

    Args:
        name: Lower-case letters, digits and underscores.
        alphabet: The symbols, one character each; a symbol's place is its token id.
        generate: Function of `(n, draw)` that returns the sequence as a tuple of texts, in turn
            free and predictable: `("aab", "b")`. `draw` is a `Draw`.
        smallest_n: The smallest n there is a sequence for.
        n_means: What n counts, in a few words.
        example: Sequences with the predictable symbols in square brackets.
        next_first_is_deterministic: Whether a sequence's end tells the next one's first symbol,
            which then scores the sequence before.
        generate_batch: The same as `generate` for arrays of n and of keys, returning a `Batch`.
            Optional: it makes streams fast.
        limit_means: What else than n can be held small, in a few words, so that easy sequences can
            be learned first; `None` if nothing. `generate` and `generate_batch` then take a limit,
            or an array of limits, as a third argument that may be missing.
        recover: The inverse of `generate`: function of `(text, start)` that gives, most likely
            first, each n and the numbers drawn, in order, that the sequence at that place of the
            text may come from. Optional: it makes `parse` fast. Without, every n is tried, the
            symbols being what was drawn, which reads patterns that draw nothing or first of all
            a word.

    Example:

    >>> get("anbn").sample(3, "test", 0).marked()
    'aaab[bb]'
    """

    name: str
    alphabet: str
    generate: Callable[..., tuple[str, ...]]
    smallest_n: int
    n_means: str
    example: str
    next_first_is_deterministic: bool = False
    generate_batch: Callable[..., Batch] | None = None
    limit_means: str | None = None
    recover: Callable[[str, int], Iterable[tuple[int, Iterable[int]]]] | None = None

    def __post_init__(self):
        if not re.fullmatch("[a-z][a-z0-9_]*", self.name):
            raise ValueError(
                "A pattern's name is lower-case letters, digits and underscores and begins with a "
                f"letter, got {self.name!r}."
            )
        if not self.alphabet or len(set(self.alphabet)) < len(self.alphabet):
            raise ValueError(
                f"The alphabet of {self.name!r} must be distinct characters, got {self.alphabet!r}."
            )
        if self.smallest_n < 1:
            raise ValueError(
                f"The smallest n of {self.name!r} must be 1 or more, got {self.smallest_n}."
            )

    @property
    def train_sizes(self) -> range:
        """The n that may be learned from and validated on."""
        return range(self.smallest_n, LARGEST_TRAINING_N + 1)

    @property
    def test_sizes(self) -> range:
        """The n that are tested at the end."""
        return range(self.smallest_n, LARGEST_TEST_N + 1)

    def sample(self, n: int, split: str, index: int) -> Sequence:
        """Sequence number `index` for n in a split: the same one always and everywhere."""
        return self.sequence(n, Draw(draw_key(self.name, split, n, index)))

    def sequence(self, n: int, draw: Draw, limit: int | None = None) -> Sequence:
        """The sequence for n and a draw, with no more of `limit_means` than `limit`."""
        self.check_n(n)
        self.check_limit(limit)
        pieces = self.generate(n, draw) if limit is None else self.generate(n, draw, limit)
        if isinstance(pieces, str) or not any(pieces):
            raise ValueError(
                f"Pattern {self.name!r} must return a tuple of texts, in turn free and "
                f"predictable, got {pieces!r}."
            )
        deterministic = np.repeat(np.arange(len(pieces)) % 2 == 1, [len(piece) for piece in pieces])
        text = "".join(pieces)
        return Sequence(text, self.encode(text), deterministic)

    def batch(self, n: np.ndarray, keys: np.ndarray, limits: np.ndarray | None = None) -> Batch:
        """`sequence(n, Draw(key), limit)` for arrays of n, of keys (uint64) and of limits."""
        self.check_n(int(n.min()))
        self.check_n(int(n.max()))
        self.check_limit(None if limits is None else int(limits.min()))
        columns = (n, keys) if limits is None else (n, keys, limits)
        if self.generate_batch is not None:
            return self.generate_batch(*columns)
        rows = (map(int, row) for row in zip(*columns, strict=True))
        return _end_to_end(self.sequence(each, Draw(key), *limit) for each, key, *limit in rows)

    def join(self, sequences: Iterable[Sequence]) -> Joined:
        """Writes sequences one after the other, as a model reads them.

        Where a sequence's end tells the next one's first symbol, that symbol is deterministic and
        scores the sequence before. The very first symbol scores nothing.
        """
        sequences = list(sequences)
        tokens, deterministic, lengths = _end_to_end(sequences)
        scored = np.repeat(np.arange(len(sequences), dtype=np.int32), lengths)
        if self.next_first_is_deterministic:
            later_firsts = np.cumsum(lengths)[:-1]
            deterministic[later_firsts] = True
            scored[later_firsts] -= 1
        return Joined("".join(s.text for s in sequences), tokens, deterministic, scored)

    def parse(self, text: str) -> list[Sequence]:
        """The sequences that a text is made of.

        Where the text ends within the last one, that goes on past its end, in one of the ways in
        which it can. Raises ValueError if the pattern does not write such a text.
        """
        return parse(self, text)

    def encode(self, text: str) -> np.ndarray:
        """The token ids (int32) of a text."""
        try:
            return np.array([self._ids[symbol] for symbol in text], np.int32)
        except KeyError as error:
            raise ValueError(
                f"Pattern {self.name!r} knows the symbols {self.alphabet!r}, "
                f"got {error.args[0]!r} in {text!r}."
            ) from None

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of token ids."""
        return "".join(self.alphabet[token] for token in tokens)

    def check_n(self, n: int) -> None:
        """Raises if there is no sequence for n."""
        if n < self.smallest_n:
            raise ValueError(
                f"Pattern {self.name!r} begins at n = {self.smallest_n} ({self.n_means}), got {n}."
            )

    def check_limit(self, limit: int | None) -> None:
        """Raises if there are no sequences with that limit."""
        if limit is None:
            return
        if self.limit_means is None:
            raise ValueError(
                f"Pattern {self.name!r} has nothing but n to limit, got limit {limit}."
            )
        if limit < 1:
            raise ValueError(
                f"A limit of {self.name!r} ({self.limit_means}) is 1 or more, got {limit}."
            )

    @functools.cached_property
    def _ids(self) -> dict[str, int]:
        return {symbol: token for token, symbol in enumerate(self.alphabet)}


def _end_to_end(sequences: Iterable[Sequence]) -> Batch:
    _, tokens, deterministic = zip(*sequences, strict=True)
    lengths = np.array([len(each) for each in tokens])
    return Batch(np.concatenate(tokens), np.concatenate(deterministic), lengths)
