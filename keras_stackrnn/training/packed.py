"""Endless windows of whole sequences, each of which begins with an empty memory.

Where sequences do not flow into one another, a window holds as many as fit one after the other,
from its first place on; what is left over at its end asks nothing.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from keras_stackrnn.tasks import VERSION, Task, draws
from keras_stackrnn.training.streams import Windows, dataset_of

if TYPE_CHECKING:
    import tensorflow as tf

_NO_LIMIT = 2**31 - 1


class WindowsOfLanguages(NamedTuple):
    """`Windows` of a language in which several symbols may come.

    Attributes:
        valid: bool [count, lanes, window, answers], which may; the others are as in `Windows`.
    """

    tokens: np.ndarray
    targets: np.ndarray
    deterministic: np.ndarray
    resets: np.ndarray
    asked: np.ndarray
    valid: np.ndarray


class PackedStream:
    """Endless lanes of windows, sizes drawn anew for each sequence from a range that can move.

    Sequence i of a lane has a key of its own, as in a `Stream`, so that a stream continues exactly
    from its `state()`.

    Args:
        task: A task that does not flow.
        lanes: Number of lanes.
        window: Places a window; no sequence may be longer.
        seed: Integer; streams of different seeds are independent.
        largest: The largest size to draw; may be a list of one for each lane.
        limit: Limit of what the task can hold small besides; `None`: none.
    """

    def __init__(
        self,
        task: Task,
        lanes: int,
        window: int,
        seed: int,
        largest: int | list[int],
        limit: int | list[int] | None = None,
    ):
        for name, value in (("lanes", lanes), ("window", window)):
            if value < 1:
                raise ValueError(f"A stream needs {name} of 1 or more, got {value}.")
        self.task = task
        self.lanes = lanes
        self.window = window
        self.seed = seed
        keys = [draws.draw_key(task.name, "stream", seed, lane) for lane in range(lanes)]
        self._lane_keys = np.array(keys, np.uint64)[:, None]
        self._next_sequence = np.zeros(lanes, np.int64)
        self._sequences_ahead = 8
        self.set_largest(largest, limit)

    def set_largest(self, largest: int | list[int], limit: int | list[int] | None = None) -> None:
        """Draws sizes up to `largest` from here on; both are one for all lanes, or one for each."""
        for name, value in (("largest size", largest), ("limit", limit)):
            if np.shape(value) not in [(), (self.lanes,)]:
                raise ValueError(
                    f"The {name} is one for all lanes or one for each of the {self.lanes}, "
                    f"got {len(value)}."
                )
        self.task.check_sizes(largest)
        longest = self.task.places(int(np.max(largest)))
        if longest > self.window:
            raise ValueError(
                f"A window holds whole sequences: expected one of {longest} places or more for "
                f"sizes up to {np.max(largest)}, got {self.window}."
            )
        self.largest, self.limit = largest, limit

    def begin_sequences(self) -> None:
        """Nothing: every window begins with a sequence."""

    def next_windows(self, count: int = 1) -> "Windows | WindowsOfLanguages":
        """The next `count` windows of every lane."""
        if count < 1:
            raise ValueError(f"There are 1 or more windows to ask for, got {count}.")
        places = count * self.window
        while True:
            numbers = self._next_sequence[:, None] + np.arange(self._sequences_ahead)
            rows = self._rows(numbers)
            starts, ends = self._pack(rows.lengths.reshape(numbers.shape))
            fits = np.logical_and.accumulate(ends <= places, axis=1)
            if not fits[:, -1].any():
                break
            self._sequences_ahead *= 2
        used = fits.sum(axis=1)
        self._next_sequence = self._next_sequence + used
        self._sequences_ahead = int(used.max()) + 2

        chosen = np.flatnonzero(fits)
        lane, first = np.divmod(chosen, numbers.shape[1])[0], starts.ravel()[chosen]
        rows = rows.take(chosen)
        inside = np.arange(rows.tokens.shape[1]) < rows.lengths[:, None]
        at = (lane * places + first)[:, None] + np.arange(rows.tokens.shape[1])

        def laid_out(values):
            flat = np.zeros((self.lanes * places, *values.shape[2:]), values.dtype)
            flat[at[inside]] = values[inside]
            return self._cut(flat)

        resets = np.zeros(self.lanes * places, bool)
        resets[at[:, 0]] = True
        arrays = (rows.tokens, rows.targets, rows.scored)
        windows = Windows(*map(laid_out, arrays), self._cut(resets), laid_out(rows.asked))
        valid = self.task.valid_next(rows)
        return windows if valid is None else WindowsOfLanguages(*windows, laid_out(valid))

    def as_dataset(self) -> "tf.data.Dataset":
        """This stream as an endless `tf.data.Dataset`: one window of every lane an element.

        Elements are dictionaries with the fields of `Windows`, each of shape [lanes, window];
        `resets` are for a layer's call, as all begins anew with each sequence. The dataset reads
        from the stream itself, as that of a `Stream`.
        """
        return dataset_of(self, Windows._fields)

    def state(self) -> dict:
        """Everything needed to continue exactly here, fit for JSON."""
        of_files = {"examples": self.task.fingerprint} if self.task.fingerprint else {}
        return {
            **of_files,
            "version": VERSION,
            "task": self.task.name,
            "lanes": self.lanes,
            "window": self.window,
            "seed": self.seed,
            "largest": self.largest,
            "limit": self.limit,
            "next_sequence": self._next_sequence.tolist(),
        }

    @classmethod
    def from_state(cls, task: Task, state: dict) -> "PackedStream":
        """The stream of a task whose `state()` this is."""
        if state["version"] != VERSION:
            raise ValueError(
                f"The stream was saved by version {state['version']} of the tasks and cannot "
                f"continue under version {VERSION}."
            )
        if state.get("examples") != task.fingerprint:
            raise ValueError("The files hold other examples than those that the run began with.")
        names = ("lanes", "window", "seed", "largest", "limit")
        stream = cls(task, **{name: state[name] for name in names})
        stream._next_sequence = np.array(state["next_sequence"], np.int64)
        return stream

    def _rows(self, numbers):
        """The sequences of these numbers, lane by lane."""
        words = draws.words(self._lane_keys, 2 * numbers)
        sizes = self.task.draw_sizes(words, np.reshape(self.largest, (-1, 1)))
        keys = draws.words(self._lane_keys, 2 * numbers + 1)
        limits = None
        if self.task.limit_means is not None:
            limit = _NO_LIMIT if self.limit is None else np.reshape(self.limit, (-1, 1))
            limits = np.broadcast_to(limit, numbers.shape).ravel()
        return self.task.rows(sizes.ravel(), keys.ravel(), limits)

    def _pack(self, lengths):
        """Where each sequence begins and ends in its lane, none of them across windows."""
        starts = np.zeros_like(lengths)
        end = np.zeros(len(lengths), np.int64)
        for k in range(lengths.shape[1]):
            missing = -end % self.window
            starts[:, k] = np.where(lengths[:, k] > missing, end + missing, end)
            end = starts[:, k] + lengths[:, k]
        return starts, starts + lengths

    def _cut(self, flat):
        """[lanes * count * window] to [count, lanes, window]; further axes stay."""
        cut = flat.reshape(self.lanes, -1, self.window, *flat.shape[1:])
        return np.ascontiguousarray(np.swapaxes(cut, 0, 1))
