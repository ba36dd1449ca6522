"""Next symbol: a task whose rule writes sequences and knows which symbols can be predicted.

A model reads a sequence symbol by symbol and says at each place which one comes next.
"""

import dataclasses
import functools
import itertools
import re
from collections.abc import Callable, Iterable
from typing import ClassVar, NamedTuple

import numpy as np

from keras_stackrnn.tasks.draws import Draw, draw_key
from keras_stackrnn.tasks.grammars import CountedRuns, WordAndBack
from keras_stackrnn.tasks.parsing import parse
from keras_stackrnn.tasks.rows import Rows, mask, padded
from keras_stackrnn.tasks.sizes import FAR_SIZES, LARGEST_TEST_N, LARGEST_TRAINING_N
from keras_stackrnn.tasks.symbols import Symbols
from keras_stackrnn.tasks.task import Exercise, Task


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


@dataclasses.dataclass(frozen=True, eq=False)
class Pattern(Task):
    """A rule that writes a sequence for every n, its size, and every random draw.

    Args:
        name: Lower-case letters, digits, underscores, and `/` after the name of a suite.
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
        grammar: What all its sequences look like. Optional: what is read out of a network can then
            be proved right for all n.
        flows: Whether sequences are learned from one after the other, the memory not being emptied
            between them, and nothing marks where one ends. Without, each begins with an empty
            memory, and has to mark its end itself if it is to be told.
        train_sizes: The n that may be learned from and validated on; up to 19 if not given.
        test_sizes: The n that are tested at the end; up to 60 if not given.
        longest: Function of n: no sequence of it is longer. Needed only if it does not flow.
        valid_symbols: Function of `Rows` that gives which symbols may come next at each place, as
            booleans `[N, T, symbols]`: for languages in which several may. They are then scored at
            every place, whatever is deterministic.
        nats: Function of `Rows` that gives for each row -log of the probability, given n, that the
            rule writes it (what `Task.information` is).

    Example:

    >>> from keras_stackrnn import patterns
    >>> patterns.get("anbn").sample(3, "test", 0).marked()
    'aaab[bb]'
    """

    form: ClassVar[str] = "next_symbol"

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
    grammar: CountedRuns | WordAndBack | None = None
    flows: bool = True
    train_sizes: range | None = None
    test_sizes: range | None = None
    longest: Callable[[int], int] | None = None
    valid_symbols: Callable[[Rows], np.ndarray] | None = None
    nats: Callable[[Rows], np.ndarray] | None = None

    def __post_init__(self):
        if not re.fullmatch("[a-z][a-z0-9_]*(/[a-z0-9_]+)*", self.name):
            raise ValueError(
                "A pattern's name is lower-case letters, digits and underscores and begins with a "
                f"letter, got {self.name!r}."
            )
        if not self.alphabet or len(set(self.alphabet)) < len(self.alphabet):
            raise ValueError(
                f"The alphabet of {self.name!r} must be distinct characters, got {self.alphabet!r}."
            )
        if self.smallest_n < 0:
            raise ValueError(
                f"The smallest n of {self.name!r} must be 0 or more, got {self.smallest_n}."
            )

        for name, largest in (
            ("train_sizes", LARGEST_TRAINING_N),
            ("test_sizes", LARGEST_TEST_N),
        ):
            if getattr(self, name) is None:
                object.__setattr__(self, name, range(self.smallest_n, largest + 1))
        if not self.flows and self.longest is None:
            raise ValueError(
                f"Pattern {self.name!r} does not flow: expected longest, the length of the longest "
                "sequence of each n, got None."
            )

    @functools.cached_property
    def inputs(self) -> Symbols:
        return Symbols(self.alphabet, f"Pattern {self.name!r}")

    @property
    def outputs(self) -> Symbols:
        return self.inputs

    @property
    def size_means(self) -> str:
        return self.n_means

    @property
    def scores(self) -> tuple[str, ...]:
        shares = ("sequences", "symbols")
        if self.valid_symbols is not None:
            shares = ("valid next symbols", "sequences")
        return shares if self.nats is None else (*shares, "cross-entropy")

    @property
    def far_sizes(self) -> tuple[int, ...]:
        return FAR_SIZES if self.flows else ()

    def as_read(self, size: int) -> str:
        return self.sample(size, "validation", 0).text if self.flows else super().as_read(size)

    def places(self, size: int) -> int:
        if self.longest is not None:
            return self.longest(size)
        return len(self.sample(size, "train", 0).text)

    def rows(self, sizes, keys, limits=None) -> Rows:
        batch = self.batch(np.asarray(sizes), keys, limits)
        read = padded(batch.tokens, batch.lengths)
        known = padded(batch.deterministic, batch.lengths)
        # The last symbol is only ever a target, unless it tells the next sequence's first.
        lengths = batch.lengths - (not self.next_first_is_deterministic)
        asked = mask(lengths, read.shape[1])
        targets, scored = np.roll(read, -1, axis=1), np.roll(known, -1, axis=1)
        if self.next_first_is_deterministic:
            last = (np.arange(len(read)), batch.lengths - 1)
            targets[last], scored[last] = read[:, 0], True
        read, targets = np.where(asked, read, 0), np.where(asked, targets, 0)
        if self.valid_symbols is not None:
            scored = asked
        longest = int(lengths.max(initial=0))
        return Rows(read, targets, asked, scored & asked, lengths).to_length(longest)

    def exercises(self, rows: Rows) -> list[Exercise]:
        return [Exercise(self.decode(symbols), None) for symbols in self._symbols_of(rows)]

    def _symbols_of(self, rows: Rows) -> Iterable[list[int]]:
        last_is_of_next = self.next_first_is_deterministic
        for tokens, targets, length in zip(rows.tokens, rows.targets, rows.lengths, strict=True):
            yield [tokens[0], *targets[: length - last_is_of_next]]

    def lines(self, rows: Rows) -> list[str]:
        last_is_of_next = self.next_first_is_deterministic
        lines = []
        pairs = zip(self._symbols_of(rows), rows.scored, rows.lengths, strict=True)
        for symbols, scored, length in pairs:
            known = [False, *scored[: length - last_is_of_next]]
            # Where several symbols may come, being scored does not mean that one can be predicted.
            deterministic = np.array(known) & (self.valid_symbols is None)
            lines.append(Sequence(self.decode(symbols), symbols, deterministic).marked())
        return lines

    def valid_next(self, rows: Rows) -> np.ndarray | None:
        return None if self.valid_symbols is None else self.valid_symbols(rows)

    def information(self, rows: Rows) -> np.ndarray | None:
        return None if self.nats is None else self.nats(rows)

    def sample(self, n: int, split: str, index: int) -> Sequence:
        """Sequence number `index` for n in a split: the same one always and everywhere."""
        self.check_split(split)
        return self.sequence(n, Draw(draw_key(self.name, split, n, index)))

    def sequence(self, n: int, draw: Draw, limit: int | None = None) -> Sequence:
        """The sequence for n and a draw, with no more of `limit_means` than `limit`."""
        self.check_size(n)
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
        self.check_sizes(n)
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

    def in_a_row(self, n_values: range, sequences: int, split: str, index: int = 0) -> Joined:
        """Stream number `index` of a split: sequences one after the other, their n drawn from
        `n_values`, all as likely. It is the same one always and everywhere."""
        self.check_split(split)
        self.check_size(n_values[-1])
        name = (self.name, "in a row", split, sequences, index)
        draw = Draw(draw_key(*name))
        sizes = [n_values[draw.below(len(n_values))] for _ in range(sequences)]
        keys = [draw_key(*name, number) for number in range(sequences)]
        return self.join(self.sequence(n, Draw(key)) for n, key in zip(sizes, keys, strict=True))

    def parse(self, text: str) -> list[Sequence]:
        """The sequences that a text is made of.

        Where the text ends within the last one, that goes on past its end, in one of the ways in
        which it can. Raises ValueError if the pattern does not write such a text.
        """
        return parse(self, text)

    def encode(self, text: str) -> np.ndarray:
        """The token ids (int32) of a text."""
        return self.inputs.encode(text)

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of token ids."""
        return self.inputs.decode(tokens)

    def check_size(self, size: int) -> None:
        if size < self.smallest_n:
            raise ValueError(
                f"Pattern {self.name!r} begins at n = {self.smallest_n} ({self.n_means}), "
                f"got {size}."
            )
        self._check_not_tested(size)

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


def _end_to_end(sequences: Iterable[Sequence]) -> Batch:
    _, tokens, deterministic = zip(*sequences, strict=True)
    lengths = np.array([len(each) for each in tokens])
    return Batch(np.concatenate(tokens), np.concatenate(deterministic), lengths)
