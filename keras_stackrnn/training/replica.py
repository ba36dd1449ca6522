"""A restart of a search: its life so far, and the best of it."""

import dataclasses
import math

import numpy as np

from keras_stackrnn.training.exam import UNGRADED, Grade

# Windows that a lesson has to go well for: a single one can be luck.
_WINDOWS_OF_MASTERY = 4
# Share of the symbols of the newest lesson that are right while noise grows.
_GOES_WELL = 0.975
# Of the noise that a life begins with.
_NOISE_WITHIN = (0.1, 20.0)
# How much more is clearly better.
_CLEARLY_BETTER = 0.05
# A lead in accuracy that counts within the same lesson.
_FAR_AHEAD = 0.2


@dataclasses.dataclass(frozen=True)
class Scores:
    """What a validation found of one replica, soft and rounded."""

    soft_accuracy: float
    soft_entropy: float
    soft_confidence: float
    rounded_accuracy: float
    rounded_entropy: float
    rounded_confidence: float

    @property
    def solved(self) -> bool:
        return self.soft_accuracy == 1 and self.rounded_accuracy == 1

    @property
    def diverged(self) -> bool:
        """Whether the loss is no number any more."""
        return math.isnan(self.soft_entropy)

    def rank(self) -> tuple[float, ...]:
        """Higher is better: first the sequences that are right both ways, then how sure the model
        is of the symbol that it is least sure of. A memory that blurs shows there before it errs.
        """
        accuracy = min(self.soft_accuracy, self.rounded_accuracy)
        return (
            accuracy,
            min(self.soft_confidence, self.rounded_confidence),
            -max(self.soft_entropy, self.rounded_entropy),
        )


NEVER = Scores(0.0, float("inf"), 0.0, 0.0, float("inf"), 0.0)


@dataclasses.dataclass
class Replica:
    """One restart: its seed, its lesson, its age in updates, and the best of its life so far."""

    seed: int
    heir_of: int | None = None  # the seed of the replica that it goes on from
    rate: float = 1.0  # of the usual learning rate
    noise: float = 1.0  # of the usual noise on the logits
    scale: float = 1.0  # of the usual initial weights
    listening: bool = False  # whether each hidden unit listened to one symbol at first
    lesson: int = 0
    lately: list[float] = dataclasses.field(default_factory=list)  # shares of symbols right
    age: int = 0
    latest: Scores = NEVER
    best: Scores = NEVER
    best_age: int = 0
    grade: Grade = UNGRADED
    in_a_row: float = 0.0  # share of streams of sequences that are all right, rounded
    halvings: int = 0
    outcome: str = "alive"
    # Of a finite set: what its best weights take to be written down, and how well they know what
    # was learned from.
    bits: float | None = None
    learned: float | None = None

    def comes_on(self, share: float, mastery: float) -> bool:
        """Notes how the last window went; whether the lesson is mastered now."""
        self.lately = [*self.lately, share][-_WINDOWS_OF_MASTERY:]
        return len(self.lately) == _WINDOWS_OF_MASTERY and np.mean(self.lately) >= mastery

    def noise_follows(self, growth: float, updates: int) -> None:
        """Makes the noise grow while the newest lesson goes well, and shrink while it does not."""
        goes_well = bool(self.lately) and np.mean(self.lately) > _GOES_WELL
        self.noise *= growth ** (updates if goes_well else -updates)
        self.noise = float(np.clip(self.noise, *_NOISE_WITHIN))

    def rank(self) -> tuple:
        """Higher is better: first the sequences that are right, then those in a row, then the exam,
        then how sure.

        Where there are but few sequences, several restarts may do equally well on them, to a
        hundredth: of these the smallest is the best.
        """
        accuracy, *further = self.best.rank()
        if self.bits is not None:
            return math.floor(100 * accuracy), -self.bits, *further
        return accuracy, self.in_a_row, *self.grade.rank(), *further

    @property
    def knows_by_heart(self) -> bool:
        """Whether it does clearly better on what it has learned from than on other sequences."""
        return self.learned is not None and self.learned > self.best.rank()[0] + _CLEARLY_BETTER

    def progress(self) -> tuple:
        return self.lesson, *self.latest.rank()

    def is_far_ahead_of(self, other: "Replica", lessons: int = 0) -> bool:
        """Whether it leads by so many lessons; of 0, whether it leads by any, or in the same one by
        far."""
        if lessons:
            return self.lesson >= other.lesson + lessons
        lead = self.latest.rank()[0] - other.latest.rank()[0]
        return self.lesson > other.lesson or lead > _FAR_AHEAD

    @classmethod
    def from_json(cls, values: dict) -> "Replica":
        """The replica whose `dataclasses.asdict` this is."""
        scores = {name: Scores(**values[name]) for name in ("latest", "best")}
        return cls(**{**values, **scores, "grade": Grade(**values["grade"])})
