"""Scores by size: the share of a task's sequences, symbols or places that a model gets right."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_stackrnn.kernels.pointer_scan import CHUNK
from keras_stackrnn.models import THRESHOLD, SequenceModel
from keras_stackrnn.tasks import Rows, Task
from keras_stackrnn.tasks.rows import stacked

# Symbols that are read in one call: enough to keep the cores busy, few enough for any memory.
_SYMBOLS_A_CALL = 2**17
# More of them where that is a compiled program, but for large models.
_NUMBERS_A_COMPILED_CALL = 2**25
_SHORTEST_CALL = 32
# Rows of different lengths that together have no more symbols than these are read in one call: that
# takes less time than to build another program.
_FEW_SYMBOLS = 2**14
# Where there are more symbols than these to read, it pays to compile the programs.
_SYMBOLS_WORTH_COMPILING = 2**23
# Sequences of one size that are drawn at once.
_SEQUENCES_AT_ONCE = 1024


@dataclasses.dataclass(frozen=True)
class Accuracy:
    """The scores of a model by n, the size.

    Attributes:
        per_n: The score that counts, for every n: a share.
        score: Its name, the first of the task's `scores`: `"sequences"` that are right at every
            scored place; `"symbols"` that are right; or `"valid next symbols"`, the places at which
            exactly those symbols get more than `threshold` of probability that may come; or the
            `"probability"` of a symbol, the geometric mean of them all.
        further: The task's other scores by name. `"cross-entropy"` is what the model needs for a
            symbol, in nats, above what the best of all models would need.
        threshold: See `score`; `None` where nothing asks for it.
    """

    per_n: dict[int, float]
    score: str = "sequences"
    further: dict[str, dict[int, float]] = dataclasses.field(default_factory=dict)
    threshold: float | None = None

    @property
    def percent_n_correct(self) -> float:
        """The percentage of the n with everything right."""
        return 100 * sum(share == 1 for share in self.per_n.values()) / len(self.per_n)

    @property
    def mean(self) -> float:
        """The mean of the score over the n, in percent."""
        return 100 * math.fsum(self.per_n.values()) / len(self.per_n)

    def of(self, n_values: Iterable[int]) -> "Accuracy":
        """The scores for some n, of those that there are."""

        def some(per_n: dict[int, float]) -> dict[int, float]:
            return {n: per_n[n] for n in n_values if n in per_n}

        further = {name: some(per_n) for name, per_n in self.further.items()}
        return dataclasses.replace(self, per_n=some(self.per_n), further=further)


def evaluate(
    model: SequenceModel,
    task: Task,
    n_values: Iterable[int],
    sequences: int | None = None,
    rounding: bool = False,
    split: str = "test",
) -> Accuracy:
    """Has a model read sequences of a task, each with an empty memory.

    Args:
        model: A model that reads the task's symbols and gives its answers.
        task: The task.
        n_values: The sizes to evaluate; those without a sequence are left out.
        sequences: Sequences for each size; as many as the task's test has if not given.
        rounding: Whether the model rounds its actions. Either way its memory loses nothing,
            whatever its capacity was in training.
        split: The split to draw sequences from.

    Returns:
        An `Accuracy`.
    """
    check_fits(model, task)
    sequences = task.test_sequences if sequences is None else sequences
    if sequences < 1:
        raise ValueError(f"There are 1 or more sequences to evaluate for each n, got {sequences}.")
    n_values = list(n_values)
    tallies = {n: _Tally() for n in n_values}
    for n, found in _measured(as_tested(model, rounding), task, n_values, sequences, split):
        tallies[n].add(*found)
    tallies = {n: tally for n, tally in tallies.items() if tally.sequences}
    if not tallies:
        raise ValueError("There are no n to evaluate.")
    first, *others = task.scores
    return Accuracy(
        {n: tally.score(first) for n, tally in tallies.items()},
        first,
        {name: {n: tally.score(name) for n, tally in tallies.items()} for name in others},
        THRESHOLD if task.several_valid else None,
    )


def as_tested(model: SequenceModel, rounding: bool) -> SequenceModel:
    """The model with actions that are rounded, or not, and memories that lose nothing."""
    changes: dict[str, bool | None] = {"rounding": rounding}
    if model.has_memory:
        changes["capacity"] = None
    if any(getattr(model, name) != value for name, value in changes.items()):
        return model.twin(**changes)
    return model


def check_fits(model: SequenceModel, task: Task) -> None:
    """Raises unless a model reads what the task writes, and answers with the task's answers."""
    symbols = task.of_model()["vocabulary"]
    for what, needed, has in (
        ("vocabulary", symbols, model.vocabulary),
        ("answers", list(task.outputs), list(model.answers)),
    ):
        if has != needed:
            raise ValueError(
                f"{task.inputs.owner} needs a model with the {what} {needed}, got one with {has}."
            )


class _Found(NamedTuple):
    """What was found of some sequences, a number or a truth for each; `times` it was drawn."""

    times: np.ndarray
    scored: np.ndarray
    right: np.ndarray
    asked: np.ndarray
    nats: np.ndarray
    fewest_nats: np.ndarray


class _Tally:
    """What was found of the sequences of one size."""

    def __init__(self):
        self._found: list[_Found] = []

    def add(self, *columns) -> None:
        self._found.append(_Found(*columns))

    @property
    def sequences(self) -> int:
        return sum(int(found.times.sum()) for found in self._found)

    def score(self, name: str) -> float:
        found = _Found(*map(np.concatenate, zip(*self._found, strict=True)))
        if name == "sequences":
            return float(found.times @ (found.right == found.scored) / found.times.sum())
        if name == "cross-entropy":
            above = found.nats - found.fewest_nats
            return float(found.times @ above / (found.times @ found.asked))
        if name == "probability":
            return math.exp(-float(found.times @ found.nats / (found.times @ found.asked)))
        return float(found.times @ found.right / max(1, found.times @ found.scored))


def _measured(model, task, n_values, sequences, split) -> Iterator[tuple[int, tuple]]:
    """Of every size, and as many times as there are calls with it, the columns of a `_Found`."""
    symbols = sum(task.places(n) for n in n_values) * sequences
    programs = _Programs(model, task, symbols > _SYMBOLS_WORTH_COMPILING)
    drawn = _drawn(task, n_values, sequences, split)
    for n_of_rows, times, rows in _calls(drawn, programs.rows_a_call):
        right, nats = programs.measure(rows)
        fewest = task.information(rows) if "cross-entropy" in task.scores else np.zeros(len(times))
        columns = (times, rows.scored.sum(axis=1), right, rows.asked.sum(axis=1), nats, fewest)
        for n in np.unique(n_of_rows):
            here = n_of_rows == n
            yield int(n), tuple(column[here] for column in columns)


class _Part(NamedTuple):
    """Rows: of which size each is, how often it was drawn, and itself."""

    n: np.ndarray
    times: np.ndarray
    rows: Rows

    def take(self, chosen) -> "_Part":
        return _Part(self.n[chosen], self.times[chosen], self.rows.take(chosen))

    @classmethod
    def joined(cls, parts: list["_Part"]) -> "_Part":
        n, times, rows = zip(*parts, strict=True)
        return cls(np.concatenate(n), np.concatenate(times), stacked(rows))


def _drawn(task, n_values, sequences, split) -> Iterator[_Part]:
    for n in n_values:
        for first in range(0, sequences, _SEQUENCES_AT_ONCE):
            rows = task.samples(split, n, min(_SEQUENCES_AT_ONCE, sequences - first), first)
            if not len(rows.lengths):
                break
            # Counting leaves nothing to chance: all sequences of an n may be one and the same.
            rows, times = rows.counted()
            yield _Part(np.full(len(times), n), times, rows)


def _calls(drawn: Iterator[_Part], rows_a_call: Callable[[int], int]) -> Iterator[_Part]:
    """Those rows that are read in one call, all padded to one length.

    Lengths are powers of two, so that there are few programs to build.
    """
    waiting: dict[int, list[_Part]] = {}
    for part in drawn:
        padded = 2 ** np.ceil(np.log2(np.maximum(_SHORTEST_CALL, part.rows.lengths))).astype(int)
        for length in np.unique(padded).tolist():
            some = part.take(padded == length)
            parts = waiting.setdefault(length, [])
            parts.append(some._replace(rows=some.rows.to_length(length)))
            count = rows_a_call(length)
            if sum(len(each.n) for each in parts) >= count:
                together = _Part.joined(parts)
                full = len(together.n) // count * count
                parts[:] = [together.take(slice(full, None))]
                for start in range(0, full, count):
                    yield together.take(slice(start, start + count))
    left = [_Part.joined(parts) for _, parts in sorted(waiting.items())]
    yield from _few_together([part for part in left if len(part.n)], rows_a_call)


def _few_together(parts: list[_Part], rows_a_call: Callable[[int], int]) -> Iterator[_Part]:
    """The same rows, by length; shorter ones join those of the next length where they are few."""
    waiting: list[_Part] = []
    for part in parts:
        length = part.rows.tokens.shape[1]
        few = min(_FEW_SYMBOLS // length, rows_a_call(length))
        if waiting and len(waiting[0].n) + len(part.n) > few:
            yield waiting.pop()
        padded = [each._replace(rows=each.rows.to_length(length)) for each in waiting]
        waiting = [_Part.joined([*padded, part])]
    yield from waiting


class _Programs:
    """Programs that read rows, and count what is right.

    Compiling them takes longer than running them once or twice without. Where actions are rounded,
    a program that is not compiled reads rows of any length; others are for one.
    """

    def __init__(self, model: SequenceModel, task: Task, compiled: bool):
        self._model = model
        self._task = task
        self._compiled = compiled
        self._by_length: dict[int | None, Callable] = {}

    def rows_a_call(self, length: int) -> int:
        """How many rows of a length are read at once."""
        symbols = _SYMBOLS_A_CALL
        if self._is_compiled(length):
            symbols = max(symbols, _NUMBERS_A_COMPILED_CALL // max(64, self._model.units))
        return max(1, symbols // length)

    def measure(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """How many scored places of each row are right, and the nats of all that are asked."""
        length = rows.tokens.shape[1]
        is_compiled = self._is_compiled(length)
        valid = self._task.valid_next(rows)
        arrays = [*rows[:4], *([] if valid is None else [valid])]
        steps = length if is_compiled or not self._model.rounding else None
        if steps not in self._by_length:
            self._by_length[steps] = self._program(steps, is_compiled, valid is not None)
        count = len(rows.lengths)
        if is_compiled:
            # A shape of its own would be a program of its own.
            missing = self.rows_a_call(length) - count
            arrays = [np.pad(a, [(0, missing)] + [(0, 0)] * (a.ndim - 1)) for a in arrays]
        right, nats = self._by_length[steps](*map(tf.constant, arrays))
        return right.numpy()[:count], nats.numpy()[:count]

    def _program(self, steps: int | None, is_compiled: bool, with_valid: bool):
        def read(tokens, targets, asked, scored, *valid):
            logits = self._model(tokens)
            logs = tf.nn.log_softmax(logits)
            if valid:
                possible = logs > math.log(THRESHOLD)
                is_right = tf.reduce_all(tf.equal(possible, valid[0]), axis=-1)
            else:
                is_right = tf.equal(tf.argmax(logits, axis=-1, output_type=tf.int32), targets)
            chosen = tf.reduce_sum(tf.one_hot(targets, logits.shape[-1]) * logs, axis=-1)
            right = tf.reduce_sum(tf.cast(is_right & scored, tf.int32), axis=1)
            return right, -tf.reduce_sum(tf.where(asked, chosen, 0), axis=1)

        kinds = [tf.int32, tf.int32, tf.bool, tf.bool]
        shapes = [[None, steps]] * len(kinds)
        if with_valid:
            kinds, shapes = [*kinds, tf.bool], [*shapes, [None, steps, len(self._task.outputs)]]
        specs = [tf.TensorSpec(*spec) for spec in zip(shapes, kinds, strict=True)]
        program = tf.function(read, specs, autograph=False, jit_compile=is_compiled or None)
        return program.get_concrete_function()

    def _is_compiled(self, length: int) -> bool:
        # Rounded memories grow on the way through sequences that are longer, which XLA cannot.
        return self._compiled and (length <= CHUNK or not self._model.rounding)
