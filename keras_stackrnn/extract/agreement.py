"""Does the table say what the network says? Seen on sequences longer than those it was made of."""

from typing import NamedTuple

import numpy as np

from keras_stackrnn.extract.lessons import OfTask
from keras_stackrnn.extract.machine import Machine, Run, UnknownRowError
from keras_stackrnn.models import NextSymbolModel
from keras_stackrnn.patterns import Pattern


class Agreement(NamedTuple):
    """How often two that read a sequence of some n predict the same where it is scored.

    Attributes:
        n: The sequence's n.
        symbols: How many symbols are scored.
        same: How many of them the table and the network predict alike.
        right: How many of them the network predicts right.
        unknown: What a run of the table says of an unknown row; `None` if it meets none.
    """

    n: int
    symbols: int
    same: int
    right: int
    unknown: str | None

    @property
    def share(self) -> float:
        return self.same / self.symbols if self.symbols else 1.0

    def words(self) -> str:
        """As in `1,000: 100%`."""
        unknown = "" if self.unknown is None else ", then a row that is not in the table"
        return f"{self.n:,}: {percent(self.share)}{unknown}"


def agreement(model: NextSymbolModel, machine: Machine, pattern: Pattern, n: int) -> Agreement:
    """Has a model and a machine read one sequence of the test for n."""
    lesson = OfTask(pattern).lesson(n, 0, "test")
    targets = np.array(lesson.targets)
    said = np.array(model(np.array([lesson.tokens], "int32"))).argmax(axis=-1)[0]
    told, unknown = told_by(machine, lesson.tokens)
    scored = targets >= 0
    return Agreement(
        n,
        int(scored.sum()),
        int((said == told)[scored].sum()),
        int((said == targets)[scored].sum()),
        unknown,
    )


def told_by(machine: Machine, tokens: list[int]) -> tuple[np.ndarray, str | None]:
    """What a machine predicts after each token, -1 where it does not; and why it stopped early."""
    run, told = Run(machine), np.full(len(tokens), -1)
    for place, token in enumerate(tokens):
        try:
            prediction = run.step(token)[1].prediction
        except UnknownRowError as unknown:
            return told, str(unknown)
        told[place] = -1 if prediction is None else prediction
    return told, None


def score(machine: Machine, pattern: Pattern, sequences: int = 20) -> dict[int, float]:
    """For each n of the test, the share of sequences that a machine predicts right."""
    shares = {}
    for n in pattern.test_sizes:
        lessons = [OfTask(pattern).lesson(n, index, "test") for index in range(sequences)]
        # Counting leaves nothing to chance: all sequences of an n may be one and the same.
        distinct = {tuple(lesson.tokens): lesson for lesson in lessons}
        right = {tokens: _is_right(machine, lesson) for tokens, lesson in distinct.items()}
        shares[n] = float(np.mean([right[tuple(lesson.tokens)] for lesson in lessons]))
    return shares


def _is_right(machine, lesson):
    told, unknown = told_by(machine, lesson.tokens)
    targets = np.array(lesson.targets)
    return unknown is None and bool(np.all(told[targets >= 0] == targets[targets >= 0]))


def percent(share: float) -> str:
    """A share as a percentage that is 100% only where nothing is missing."""
    if share == 1:
        return "100%"
    return f"{min(100 * share, 99.99):.2f}%"
