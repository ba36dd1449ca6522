"""Symbolic runs of a machine over runs of symbols whose lengths are any numbers.

Where a machine goes round in a loop it is enough to go round once, with any numbers in the
memories: if the same comes out, only larger or smaller by a constant, then it goes round as often
as the symbols and the memories last. Whatever depends on how large numbers are is looked at case by
case, the small ones one by one; a proof is all of its cases.
"""

import dataclasses
import itertools
from typing import NamedTuple

from keras_stackrnn.extract.machine import Key, Machine, Row
from keras_stackrnn.extract.proof.linear import (
    Linear,
    NotLinearError,
    Number,
    UndecidedError,
    at_least,
    divided,
    substituted,
)
from keras_stackrnn.extract.proof.outcome import NoProofError
from keras_stackrnn.extract.proof.symbolic import SymbolicZipper
from keras_stackrnn.patterns import Pattern

_LONGEST_LOOP = 4
_MOST_STEPS = 200
_MOST_CASES = 3000
_MOST_DRAWS = 3


class _Draws:
    """Stands for a `Draw`: what is drawn is a name for all numbers that can be."""

    def __init__(self, names):
        self._names = iter(names)

    def below(self, bound):
        drawn = next(self._names, None)
        if drawn is None:
            raise NoProofError("more is drawn for a sequence than there are names for")
        rest = bound - 1 - drawn
        if not isinstance(rest, Linear) or rest.constant or [f for _, f in rest.terms] != [1]:
            raise NoProofError("what is drawn for a sequence is not spread evenly")
        return drawn


def lengths(pattern: Pattern) -> list[Number]:
    """How long each run is: expressions of `x`, `y`, …, any numbers from 0 up."""
    for draws in range(_MOST_DRAWS):
        first, *others = map(Linear.name, "xyz"[: draws + 1])
        n = sum(others, pattern.smallest_n + first)
        try:
            return list(pattern.grammar.counts(n, _Draws(others)))
        except NoProofError:
            continue
        except (NotLinearError, TypeError):
            raise NoProofError("the lengths of its runs are not linear") from None
    raise NoProofError("the lengths of its runs are not drawn one after another")


def prove(machine: Machine, pattern: Pattern) -> int:
    """Proves that a machine knows every row of every sequence, and predicts all that is settled.

    Returns:
        How many cases there were. `NoProofError` says why there is no proof.
    """
    open_cases, closed = [lengths(pattern)], 0
    while open_cases:
        counts = open_cases.pop()
        try:
            _Sequence(machine, pattern.grammar, counts).read()
            closed += 1
        except UndecidedError as undecided:
            open_cases += [
                [substituted(count, case) for count in counts] for case in reversed(undecided.cases)
            ]
        if closed + len(open_cases) > _MOST_CASES:
            raise NoProofError(f"there are more than {_MOST_CASES:,} cases")
    return closed


class _Configuration(NamedTuple):
    """All memories of a machine."""

    memories: tuple[SymbolicZipper, ...]

    @property
    def shape(self):
        return tuple(memory.shape for memory in self.memories)

    @property
    def counts(self):
        return [count for memory in self.memories for count in memory.counts]

    def with_counts(self, counts):
        rest = iter(counts)
        return _Configuration(
            tuple(
                memory.with_counts(list(itertools.islice(rest, len(memory.counts))))
                for memory in self.memories
            )
        )


@dataclasses.dataclass
class _Loop:
    """Steps that can be gone round again and again.

    Attributes:
        steps: How many there are.
        gains: How much each count changes by.
        least: Where a count changes or is not known, the least it may be at their beginning.
        predictions: What they predict.
    """

    steps: int
    gains: list[int]
    least: list[int | None]
    predictions: list[int | None]


class _Sequence:
    """A machine that reads one sequence whose runs have these lengths."""

    def __init__(self, machine, grammar, counts):
        self._machine = machine
        self._grammar = grammar
        self._counts = counts
        self._steps = _MOST_STEPS
        self._reach = 1 + max((place for _, place in machine.places), default=0)

    def read(self) -> None:
        alphabet = self._grammar.alphabet
        now = _Configuration((SymbolicZipper(),) * len(self._machine.memories))
        for number, (symbol, count) in enumerate(zip(alphabet, self._counts, strict=True)):
            if not at_least(count, 1):
                raise NoProofError(f"there may be no {symbol} at all")
            following = alphabet[(number + 1) % len(alphabet)]
            settled = number >= alphabet.index(self._grammar.settled_by)
            now = self._read_run(now, symbol, count, following if settled else None)

    def _read_run(self, now, symbol, left, following):
        """Reads a run; `following` is the symbol after it, `None` where nothing is settled."""
        before = []
        while True:
            # The last one is read by itself: what follows it is another symbol.
            if isinstance(left, Linear):
                loop = self._loop(before, now, symbol)
                rounds = loop and self._rounds(loop, now, left)
                if rounds:
                    self._expect(loop.predictions, symbol, following)
                    gains = (gain * rounds for gain in loop.gains)
                    now = now.with_counts(
                        [count + gain for count, gain in zip(now.counts, gains, strict=True)]
                    )
                    left, before = left - rounds * loop.steps, []
                    continue
            is_last = not at_least(left, 2)
            before.append(now)
            now, row = self._step(now, symbol)
            self._expect([row.prediction], following if is_last else symbol, following)
            if is_last:
                return now
            left = left - 1
            self._steps -= 1
            if not self._steps:
                raise NoProofError("the machine goes round in no loop that is found")

    def _expect(self, predictions, symbol, following):
        if following is None:
            return
        wanted = self._machine.vocabulary.index(symbol)
        for prediction in predictions:
            if prediction != wanted:
                said = "nothing" if prediction is None else self._machine.vocabulary[prediction]
                raise NoProofError(
                    f"{said} is predicted where {symbol} comes next, {self._where()}"
                )

    def _where(self):
        return f"in runs of {', '.join(map(str, self._counts))}"

    def _step(self, now, symbol) -> tuple[_Configuration, Row]:
        machine = self._machine
        seen = tuple(
            now.memories[memory].read(machine.kinds[memory], place)
            for memory, place in machine.places
        )
        key = Key(machine.tokens[symbol], seen)
        row = machine.rows.get(key)
        if row is None:
            raise NoProofError(f"there is no row for {machine.words_of(key)}, {self._where()}")
        acts = zip(now.memories, machine.kinds, row.actions, row.writes, strict=True)
        return _Configuration(tuple(memory.act(*act) for memory, *act in acts)), row

    def _loop(self, before, now, symbol) -> _Loop | None:
        """The shortest loop that the last steps went round."""
        for steps in range(1, min(_LONGEST_LOOP, len(before)) + 1):
            earlier = before[-steps]
            if earlier.shape != now.shape:
                continue
            gains = [a - b for a, b in zip(now.counts, earlier.counts, strict=True)]
            if any(isinstance(gain, Linear) for gain in gains):
                continue
            if loop := self._gone_round(now, symbol, steps, gains):
                return loop
        return None

    def _gone_round(self, now, symbol, steps, gains):
        """The loop, if it holds whatever the counts that change or are unknown."""
        least = [
            self._reach + steps + abs(gain) if gain or isinstance(count, Linear) else None
            for count, gain in zip(now.counts, gains, strict=True)
        ]
        general = [
            count if bound is None else Linear.name(f"#{number}") + bound
            for number, (count, bound) in enumerate(zip(now.counts, least, strict=True))
        ]
        start, predictions = now.with_counts(general), []
        end = start
        try:
            for _ in range(steps):
                end, row = self._step(end, symbol)
                predictions.append(row.prediction)
        except (UndecidedError, NoProofError):
            return None
        changed = [count + gain for count, gain in zip(general, gains, strict=True)]
        if end.shape != start.shape or end.counts != changed:
            return None
        return _Loop(steps, gains, least, predictions)

    def _rounds(self, loop, now, left):
        """How often it can be gone round, as long as counts are large enough and symbols left."""
        most = divided(left - 1, loop.steps)
        for count, gain, least in zip(now.counts, loop.gains, loop.least, strict=True):
            if least is None:
                continue
            if not at_least(count, least):
                return 0
            if gain < 0:
                lasts = divided(count - least, -gain) + 1
                if not at_least(most - lasts, 0):
                    continue
                most = lasts
        return most if at_least(most, 1) else 0
