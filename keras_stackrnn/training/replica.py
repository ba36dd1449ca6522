"""A restart of a search: its life so far, and the best of it."""

import dataclasses

import numpy as np

from keras_stackrnn.training.exam import UNGRADED, Grade

# Windows that a lesson has to go well for: a single one can be luck.
_WINDOWS_OF_MASTERY = 4
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
    lesson: int = 0
    lately: list[float] = dataclasses.field(default_factory=list)  # shares of symbols right
    age: int = 0
    latest: Scores = NEVER
    best: Scores = NEVER
    best_age: int = 0
    grade: Grade = UNGRADED
    halvings: int = 0
    outcome: str = "alive"

    def comes_on(self, share: float, mastery: float) -> bool:
        """Notes how the last window went; whether the lesson is mastered now."""
        self.lately = [*self.lately, share][-_WINDOWS_OF_MASTERY:]
        return len(self.lately) == _WINDOWS_OF_MASTERY and np.mean(self.lately) >= mastery

    def rank(self) -> tuple:
        """Higher is better: first the sequences that are right, then the exam, then how sure."""
        accuracy, *further = self.best.rank()
        return accuracy, *self.grade.rank(), *further

    def progress(self) -> tuple:
        return self.lesson, *self.latest.rank()

    def is_far_ahead_of(self, other: "Replica") -> bool:
        lead = self.latest.rank()[0] - other.latest.rank()[0]
        return self.lesson > other.lesson or lead > _FAR_AHEAD

    @classmethod
    def from_json(cls, values: dict) -> "Replica":
        """The replica whose `dataclasses.asdict` this is."""
        scores = {name: Scores(**values[name]) for name in ("latest", "best")}
        return cls(**{**values, **scores, "grade": Grade(**values["grade"])})
