"""What a memory is for: the fewest forced actions on it alone that break a prediction.

The playground's page does the same: see `blame.js`, which follows this file.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from keras_stackrnn.trace.record import Trace

MOST_ACTIONS = 4
_MOST_PAIRS = 2000
_SYMBOLS_AT_ONCE = 20_000
# Probabilities that differ by less are called equal.
_EQUAL = 1e-6

# Where, and the index of the action that is forced there.
Order = tuple[int, int]
# From `forced` `[B, T, M]`, an action's index or -1, to the probabilities after the text, `[B, V]`.
Force = Callable[[np.ndarray], np.ndarray]


class Blame(NamedTuple):
    """What breaks a prediction.

    Attributes:
        memory: The memory's name.
        orders: For each place of the text the action that is forced there; empty if no set of
            `MOST_ACTIONS` that was tried breaks the prediction.
        predicted: What is predicted instead; `None` if nothing is.
        is_smallest: Whether no smaller set breaks it. Otherwise none of its actions can be left
            out, but another set may be smaller.
        sentence: All of that in words.
    """

    memory: str
    orders: dict[int, str]
    predicted: str | None
    is_smallest: bool
    sentence: str


class _Result(NamedTuple):
    orders: tuple[Order, ...]
    after: int
    probability: float
    margin: float  # of what was predicted before; negative where that is broken


def blame(trace: Trace, force: Force) -> list[Blame]:
    """Finds out what each memory does for the prediction after the last symbol.

    All single actions are tried, then all pairs if they are few, then sets that grow by the action
    that brings the prediction closest to breaking.

    Args:
        trace: What the model did by itself.
        force: Asks the same model about the same text with forced actions.

    Returns:
        A `Blame` for each memory.
    """
    return [_blamed(trace, place, force) for place in range(len(trace.memories))]


def _blamed(trace: Trace, place: int, force: Force) -> Blame:
    memory = trace.memories[place]
    before = int(trace.probabilities[-1].argmax())
    taken = memory.weights.argmax(axis=1)

    def trial(sets: Sequence[tuple[Order, ...]]) -> list[_Result]:
        return _trials(sets, trace, place, before, force)

    found, is_smallest = _breaking_set(taken, len(memory.actions), trial)
    orders = {} if found is None else {step: memory.actions[a] for step, a in sorted(found.orders)}
    predicted = None if found is None else trace.vocabulary[found.after]
    sentence = _sentence(trace, place, orders, predicted, is_smallest)
    return Blame(memory.name, orders, predicted, is_smallest, sentence)


def _breaking_set(taken: np.ndarray, actions: int, trial) -> tuple[_Result | None, bool]:
    singles = [
        (step, action)
        for step in range(len(taken))
        for action in range(actions)
        if action != taken[step]
    ]
    results = trial([(single,) for single in singles])
    if found := _most_certain(results):
        return found, True
    pairs = [(a, b) for a, b in itertools.combinations(singles, 2) if a[0] != b[0]]
    if len(pairs) <= _MOST_PAIRS and (found := _most_certain(trial(pairs))):
        return found, True
    for _ in range(2, MOST_ACTIONS + 1):
        closest = min(results, key=lambda result: result.margin)
        free = [single for single in singles if single[0] not in dict(closest.orders)]
        if not free:
            break
        results = trial([(*closest.orders, single) for single in free])
        if found := _most_certain(results):
            return _pruned(found, trial), False
    return None, False


def _pruned(found: _Result, trial) -> _Result:
    """The same without actions that are not needed."""
    for each in found.orders:
        fewer = tuple(other for other in found.orders if other != each)
        if fewer and (without := trial([fewer])[0]).margin < 0:
            found = without
    return found


def _trials(sets, trace, place, before, force) -> list[_Result]:
    steps, memories = len(trace.symbols), len(trace.memories)
    at_once = max(1, _SYMBOLS_AT_ONCE // steps)
    results = []
    for first in range(0, len(sets), at_once):
        part = sets[first : first + at_once]
        forced = np.full((len(part), steps, memories), -1, np.int32)
        for row, orders in enumerate(part):
            for step, action in orders:
                forced[row, step, place] = action
        for orders, probabilities in zip(part, force(forced), strict=True):
            after = int(probabilities.argmax())
            margin = float(probabilities[before] - np.delete(probabilities, before).max())
            results.append(_Result(orders, after, float(probabilities[after]), margin))
    return [
        result if result.after == before else result._replace(margin=-result.probability)
        for result in results
    ]


def _most_certain(results: list[_Result]) -> _Result | None:
    """Of those that break the prediction the one that is surest of another; of equals the last,
    which is closest to the prediction."""
    best = None
    for result in results:
        is_surer = best is None or result.probability >= best.probability - _EQUAL
        if result.margin < 0 and is_surer:
            best = result
    return best


def _sentence(trace, place, orders, predicted, is_smallest) -> str:
    memory = trace.memories[place]
    if not orders:
        return (
            f"{memory.name} is not needed here: no set of up to {MOST_ACTIONS} forced actions that "
            "was tried changes the prediction."
        )
    words = " and ".join(
        f"{action} instead of {memory.taken[step]} at symbol {step + 1} ({trace.symbols[step]})"
        for step, action in orders.items()
    )
    least = "" if is_smallest else "; none of them can be left out"
    return (
        f"{memory.name}: {words} makes it predict {predicted} instead of "
        f"{trace.predictions[-1]}{least}."
    )
