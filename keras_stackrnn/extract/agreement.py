"""Does the table say what the network says? Seen on sequences longer than those it was made of."""

from typing import NamedTuple

import numpy as np

from keras_stackrnn.extract.lessons import Lesson, OfTask
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


class Fidelity(NamedTuple):
    """How well a table says what a network says, on fresh texts of the sizes it was made of.

    Attributes:
        texts: How many texts there are.
        same_texts: How many of them are predicted alike to the end.
        symbols: How many symbols are compared.
        same: How many of them are predicted alike.
        first: The first text that is not, up to the symbol after which they differ.
    """

    texts: int
    same_texts: int
    symbols: int
    same: int
    first: str | None

    @property
    def share(self) -> float:
        return self.same / self.symbols if self.symbols else 1.0

    def words(self) -> str:
        """One sentence."""
        first = "" if self.first is None else f"; they differ first after {self.first}"
        return (
            f"table and network predict {percent(self.share)} of what is scored alike, and "
            f"{self.same_texts} of {self.texts} fresh texts to the end{first}"
        )


def fidelity(model: NextSymbolModel, machine: Machine, lessons: list[Lesson]) -> Fidelity:
    """Has a model and a machine read texts; a text without any score counts at every symbol."""
    longest = max(len(lesson.tokens) for lesson in lessons)
    tokens = np.array([np.pad(each.tokens, (0, longest - len(each.tokens))) for each in lessons])
    said = np.array(model(tokens.astype("int32"))).argmax(axis=-1)
    symbols = same = same_texts = 0
    first = None
    for lesson, network_said in zip(lessons, said, strict=True):
        targets = np.array(lesson.targets)
        compared = targets >= 0 if (targets >= 0).any() else np.ones(len(targets), bool)
        alike = told_by(machine, lesson.tokens)[0] == network_said[: len(targets)]
        wrong = np.flatnonzero(compared & ~alike)
        symbols += int(compared.sum())
        same += int((compared & alike).sum())
        same_texts += not len(wrong)
        if len(wrong) and first is None:
            joint = " " if any(len(symbol) > 1 for symbol in model.vocabulary) else ""
            read = lesson.tokens[: wrong[0] + 1]
            first = joint.join(model.vocabulary[token] for token in read)
    return Fidelity(len(lessons), same_texts, symbols, same, first)


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
