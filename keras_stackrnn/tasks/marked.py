"""Languages whose strings stand between two marks, each learned from with an empty memory."""

import dataclasses
import itertools
from collections.abc import Callable

import numpy as np

from keras_stackrnn.tasks.draws import Draw
from keras_stackrnn.tasks.pattern import Batch, Pattern, Sequence
from keras_stackrnn.tasks.rows import Rows, mask
from keras_stackrnn.tasks.strings import Strings

MARK = "#"


@dataclasses.dataclass(frozen=True, eq=False)
class MarkedLanguage(Pattern):
    """A pattern of strings between marks, of which what was read alone says what can be predicted.

    Args:
        draw: Function of sizes and keys that gives a string for each.
        known: Function of `Strings` that gives the places that can be predicted, and in the last
            column whether the mark at the end can: bool [N, longest + 1].
    """

    draw: Callable[[np.ndarray, np.ndarray], Strings] | None = None
    known: Callable[[Strings], np.ndarray] | None = None

    @classmethod
    def of(
        cls,
        name: str,
        symbols: str,
        draw: Callable[[np.ndarray, np.ndarray], Strings],
        known: Callable[[Strings], np.ndarray] | None = None,
        valid_next: Callable[[Strings], np.ndarray] | None = None,
        nats: Callable[[Strings], np.ndarray] | None = None,
        **properties,
    ) -> "MarkedLanguage":
        """A language as a task.

        Args:
            name: The task's name.
            symbols: The symbols of the strings.
            draw: See `MarkedLanguage`.
            known: See there; by default nothing can be predicted for sure.
            valid_next: Function of `Strings` that gives which symbols may come after each number of
                symbols read, the mark last: bool [N, longest + 1, symbols + 1].
            nats: Function of `Strings` that gives -log of their probabilities, given their sizes.
            **properties: Further properties of a `Pattern`.
        """
        known = known or _nothing
        mark = len(symbols)

        def generate_batch(sizes: np.ndarray, keys: np.ndarray) -> Batch:
            return _between(mark, draw(sizes, keys), known)

        def generate(size: int, draw: Draw) -> tuple[str, ...]:
            batch = generate_batch(np.array([size]), np.array([draw.key], np.uint64))
            text = "".join((symbols + MARK)[token] for token in batch.tokens)
            turns = np.flatnonzero(np.diff(batch.deterministic.astype(np.int8))) + 1
            bounds = [0, *turns.tolist(), len(text)]
            return tuple(text[start:end] for start, end in itertools.pairwise(bounds))

        return cls(
            name=name,
            alphabet=symbols + MARK,
            generate=generate,
            generate_batch=generate_batch,
            flows=False,
            draw=draw,
            known=known,
            valid_symbols=valid_next and (lambda rows: valid_next(between_marks(rows))),
            nats=nats and (lambda rows: nats(between_marks(rows))),
            **properties,
        )

    def rows(self, sizes, keys, limits=None) -> Rows:
        self.check_sizes(sizes)
        self.check_limit(None if limits is None else int(limits.min()))
        return self.rows_of_strings(self.draw(np.asarray(sizes), keys))

    def rows_of_strings(self, strings: Strings) -> Rows:
        """Rows of strings that are given without their marks."""
        mark = len(self.alphabet) - 1
        rows, longest = strings.tokens.shape
        tokens, targets = np.zeros((2, rows, longest + 1), np.int32)
        tokens[:, 0], tokens[:, 1:] = mark, strings.tokens
        targets[:, :-1] = strings.tokens
        targets[np.arange(rows), strings.lengths] = mark
        asked = mask(strings.lengths + 1, longest + 1)
        scored = asked.copy() if self.valid_symbols else asked & self.known(strings)
        return Rows(tokens, targets, asked, scored, strings.lengths + 1)

    def parse(self, text: str) -> list[Sequence]:
        tokens = self.encode(text)
        mark = len(self.alphabet) - 1
        sequences, start = [], 0
        while start < len(text):
            if tokens[start] != mark:
                raise ValueError(
                    f"A sequence of {self.name!r} stands between two {MARK}, got "
                    f"{text[start : start + 20]!r} at place {start} of the text."
                )
            end = text.find(MARK, start + 1)
            string = tokens[start + 1 : end if end >= 0 else None]
            end = end + 1 if end >= 0 else len(text)
            strings = Strings(string[None], np.array([len(string)]))
            known = np.concatenate([[False], self.known(strings)[0]])[: end - start]
            sequences.append(Sequence(text[start:end], tokens[start:end], known))
            start = end
        return sequences


def _between(mark: int, strings: Strings, known: Callable[[Strings], np.ndarray]) -> Batch:
    """The strings with a mark before and behind each, and what of them can be predicted."""
    tokens = np.pad(strings.tokens, ((0, 0), (1, 1)))
    rows, ends = np.arange(len(tokens)), strings.lengths + 1
    tokens[:, 0] = tokens[rows, ends] = mark
    marked = Strings(tokens, ends + 1)
    predictable = np.pad(known(strings), ((0, 0), (1, 0)))
    return Batch(tokens[marked.written], predictable[marked.written], marked.lengths)


def between_marks(rows: Rows) -> Strings:
    """The strings that rows were made of: the first mark is read, and the last one only asked."""
    return Strings(rows.tokens[:, 1:], rows.lengths - 1)


def _nothing(strings: Strings) -> np.ndarray:
    return np.zeros((len(strings.tokens), strings.tokens.shape[1] + 1), bool)
