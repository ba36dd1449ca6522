"""Endless lanes of concatenated sequences, cut into windows of a fixed size.

A lane is a row of a stream: what is read in it goes on from window to window. Lanes are read side
by side, and share nothing but the model.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from keras_stackrnn import patterns
from keras_stackrnn.tasks import draws

if TYPE_CHECKING:
    import tensorflow as tf

_SYMBOLS_A_BLOCK = 2**17


class Windows(NamedTuple):
    """Windows of shape [count, lanes, window]; the windows of a lane continue one another.

    Attributes:
        tokens: int32, what the model reads.
        targets: int32, the symbol after each of the tokens.
        deterministic: bool, whether that target can be predicted.
        resets: bool, whether a memory reset is due before the token is read.
        asked: bool, whether there is a target at all.
    """

    tokens: np.ndarray
    targets: np.ndarray
    deterministic: np.ndarray
    resets: np.ndarray
    asked: np.ndarray


def dataset_of(stream: Any, fields: Sequence[str]) -> "tf.data.Dataset":
    """A stream as an endless `tf.data.Dataset`: one window of every lane an element.

    Args:
        stream: Has `lanes`, `window` and `next_windows`.
        fields: Those of `Windows` that an element has, by name.
    """
    import tensorflow as tf

    def elements():
        while True:
            windows = stream.next_windows()._asdict()
            yield {name: windows[name][0] for name in signature}

    shape = (stream.lanes, stream.window)
    dtypes = {"tokens": tf.int32, "targets": tf.int32}
    signature = {name: tf.TensorSpec(shape, dtypes.get(name, tf.bool)) for name in fields}
    options = tf.data.Options()
    # TensorFlow would read ahead of its own accord, and a moved range would act late.
    options.experimental_optimization.inject_prefetch = False
    endless = tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
    dataset = tf.data.Dataset.from_generator(elements, output_signature=signature)
    return dataset.apply(endless).with_options(options)


class _Position(NamedTuple):
    """Where each lane stands: its sequence's number, n and limit, how much of it has been read."""

    sequence: np.ndarray
    n: np.ndarray
    limit: np.ndarray
    offset: np.ndarray


class _Block(NamedTuple):
    """Symbols made ahead, [lanes, symbols], and the sequences they are of, [lanes, sequences]."""

    tokens: np.ndarray
    deterministic: np.ndarray
    resets: np.ndarray
    first_sequence: np.ndarray
    n: np.ndarray
    limit: np.ndarray
    starts: np.ndarray


_NOT_DRAWN = -1
_NO_LIMIT = 2**31 - 1


class Stream:
    """Endless lanes of sequences of one pattern, n drawn anew for each from a range that can move.

    Nothing marks where a sequence ends. Sequence i of a lane has a key of its own, which makes a
    stream continue exactly from its `state()`, whatever stopped it.

    Args:
        pattern: Name of a pattern, or a `Pattern`.
        lanes: Number of lanes.
        window: Symbols a window.
        seed: Integer; streams of different seeds are independent.
        n_range: Pair of the smallest and the largest n to draw, both included; the largest may be
            a list of one for each lane. Defaults to the pattern's smallest n and 19, the largest n
            the paper trains on.
        reset_every: A memory reset is due before every sequence of a lane whose number is a
            multiple of this. The paper's authors reset every 1,000 sequences, every 100 for
            memorization and every 10 for addition.
        limit: Limit of what the pattern can hold small besides n (`Pattern.limit_means`); may be a
            list of one for each lane. Defaults to none.

    Example:

    >>> stream = Stream("anbn", lanes=8, window=50, seed=1, n_range=(1, 5))
    >>> stream.next_windows(100).tokens.shape
    (100, 8, 50)
    >>> stream.set_range(1, 6)
    """

    def __init__(
        self,
        pattern: str | patterns.Pattern,
        lanes: int,
        window: int = 50,
        seed: int = 0,
        n_range: tuple[int, int | list[int]] | None = None,
        reset_every: int = 1000,
        limit: int | list[int] | None = None,
    ):
        for name, value in (("lanes", lanes), ("window", window), ("reset_every", reset_every)):
            if value < 1:
                raise ValueError(f"A stream needs {name} of 1 or more, got {value}.")
        self.pattern = patterns.get(pattern) if isinstance(pattern, str) else pattern
        self.lanes = lanes
        self.window = window
        self.seed = seed
        self.reset_every = reset_every
        self._lane_keys = np.array(
            [draws.draw_key(self.pattern.name, "stream", seed, lane) for lane in range(lanes)],
            np.uint64,
        )
        self._block_start = self._unread(np.zeros(lanes, np.int64))
        self._block: _Block | None = None
        self._read = 0
        # Symbols of a lane to make at once: the more, the longer the stream flows undisturbed.
        self._ahead = 0
        self._sequences_a_block = 8
        usual = (self.pattern.smallest_n, patterns.LARGEST_TRAINING_N)
        self.set_range(*(n_range or usual), limit)

    def next_windows(self, count: int = 1) -> Windows:
        """The next `count` windows of every lane."""
        if count < 1:
            raise ValueError(f"There are 1 or more windows to ask for, got {count}.")
        symbols = count * self.window
        # The last target is the first token of the window to come.
        if self._block is None or self._read + symbols + 1 > self._block.tokens.shape[1]:
            self._start_block_here()
            made = max(symbols, self._ahead)
            self._block = self._make_block(made + 1)
            most = _SYMBOLS_A_BLOCK // self.lanes // self.window * self.window
            self._ahead = min(2 * made, most)
        here = slice(self._read, self._read + symbols)
        next_symbol = slice(self._read + 1, self._read + symbols + 1)
        self._read += symbols
        tokens = self._cut(self._block.tokens[:, here])
        return Windows(
            tokens,
            self._cut(self._block.tokens[:, next_symbol]),
            self._cut(self._block.deterministic[:, next_symbol]),
            self._cut(self._block.resets[:, here]),
            np.ones(tokens.shape, bool),
        )

    def set_range(
        self, smallest: int, largest: int | list[int], limit: int | list[int] | None = None
    ) -> None:
        """Draws n from `smallest` to `largest`, both included, for every sequence not begun yet.

        `largest` and `limit` are one for all lanes, or a list of one for each.
        """
        self.pattern.check_size(smallest)
        for name, value in (("largest n", largest), ("limit", limit)):
            each = np.asarray(value)
            if each.shape not in [(), (self.lanes,)]:
                raise ValueError(
                    f"The {name} is one for all lanes or one for each of the {self.lanes}, "
                    f"got {each.size}."
                )
        self.pattern.check_limit(None if limit is None else int(np.min(limit)))
        if np.min(largest) < smallest:
            raise ValueError(
                f"The largest n must not be below the smallest, got {smallest} to {largest}."
            )
        self.pattern.check_size(int(np.max(largest)))
        self._start_block_here()
        self._ahead = 0
        self.n_range = (smallest, largest)
        self.limit = limit

    def begin_sequences(self) -> None:
        """Leaves the sequence each lane is in unfinished, and begins the next one here."""
        position = self._position()
        unread = (position.offset == 0) & (position.n == _NOT_DRAWN)
        next_sequence = np.where(unread, position.sequence, position.sequence + 1)
        self._block_start = self._unread(next_sequence)
        self._block, self._read, self._ahead = None, 0, 0

    def as_dataset(self) -> "tf.data.Dataset":
        """This stream as an endless `tf.data.Dataset`: one window of every lane an element.

        Elements are dictionaries with the fields of `Windows`, each of shape [lanes, window], but
        without `asked`, which is true everywhere. The dataset reads from the stream itself:
        `set_range` acts on its next element, and `state()` stands behind the last element taken. A
        `prefetch` after it runs ahead of both.
        """
        return dataset_of(self, ("tokens", "targets", "deterministic", "resets"))

    def state(self) -> dict:
        """Everything needed to continue exactly here, fit for JSON."""
        position = self._position()
        return {
            "version": patterns.VERSION,
            "pattern": self.pattern.name,
            "lanes": self.lanes,
            "window": self.window,
            "seed": self.seed,
            "n_range": list(self.n_range),
            "limit": self.limit,
            "reset_every": self.reset_every,
            **{name: array.tolist() for name, array in position._asdict().items()},
        }

    @classmethod
    def from_state(cls, state: dict) -> "Stream":
        """The stream whose `state()` this is."""
        state = dict(state)
        version = state.pop("version")
        if version != patterns.VERSION:
            raise ValueError(
                f"The stream was saved by version {version} of the patterns and cannot "
                f"continue under version {patterns.VERSION}."
            )
        position = _Position(*(np.array(state.pop(name), np.int64) for name in _Position._fields))
        stream = cls(**{**state, "n_range": tuple(state["n_range"])})
        stream._block_start = position
        return stream

    def _unread(self, sequence: np.ndarray) -> _Position:
        """Before the first symbol of these sequences."""
        nothing = np.full(self.lanes, _NOT_DRAWN)
        return _Position(sequence, nothing, nothing, np.zeros(self.lanes, np.int64))

    def _cut(self, symbols: np.ndarray) -> np.ndarray:
        """[lanes, count * window] to [count, lanes, window]."""
        return np.ascontiguousarray(symbols.reshape(self.lanes, -1, self.window).transpose(1, 0, 2))

    def _start_block_here(self) -> None:
        """Forgets what was made ahead."""
        self._block_start, self._block, self._read = self._position(), None, 0

    def _position(self) -> _Position:
        if self._block is None:
            return self._block_start
        begun = (self._block.starts <= self._read).sum(axis=1) - 1
        lane = np.arange(self.lanes)
        return _Position(
            self._block.first_sequence + begun,
            self._block.n[lane, begun],
            self._block.limit[lane, begun],
            self._read - self._block.starts[lane, begun],
        )

    def _make_block(self, symbols: int) -> _Block:
        """Writes sequences until every lane has that many symbols."""
        sequence, current_n, current_limit, offset = self._block_start
        limit = _NO_LIMIT if self.limit is None else np.reshape(self.limit, (-1, 1))
        while True:
            numbers = sequence[:, None] + np.arange(self._sequences_a_block)
            n, keys = self._draw_sequences(numbers)
            limits = np.broadcast_to(limit, n.shape).copy()
            begun = current_n != _NOT_DRAWN
            n[begun, 0], limits[begun, 0] = current_n[begun], current_limit[begun]
            has_limits = self.pattern.limit_means is not None
            batch = self.pattern.batch(
                n.ravel(), keys.ravel(), limits.ravel() if has_limits else None
            )
            lengths = batch.lengths.reshape(n.shape)
            missing = symbols - (lengths.sum(axis=1) - offset).min()
            if missing <= 0:
                break
            self._sequences_a_block += 1 + math.ceil(1.1 * missing / lengths.mean())

        flat_starts = np.cumsum(batch.lengths) - batch.lengths
        if self.pattern.next_first_is_deterministic:
            batch.deterministic[flat_starts] = True
        resets = np.zeros(len(batch.tokens), bool)
        resets[flat_starts] = (numbers % self.reset_every == 0).ravel()

        flat_starts = flat_starts.reshape(n.shape)
        first = flat_starts[:, 0] + offset
        taken = first[:, None] + np.arange(symbols)
        return _Block(
            batch.tokens[taken],
            batch.deterministic[taken],
            resets[taken],
            sequence,
            n,
            limits,
            flat_starts - first[:, None],
        )

    def _draw_sequences(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The n and the key of sequence i of a lane: words 2i and 2i + 1 of the lane's key."""
        smallest, largest = self.n_range
        lane_keys = self._lane_keys[:, None]
        span = np.reshape(np.subtract(largest, smallest) + 1, (-1, 1))
        n = smallest + draws.scale(draws.words(lane_keys, 2 * numbers), span)
        return n, draws.words(lane_keys, 2 * numbers + 1)
