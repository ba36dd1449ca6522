"""Where a search over restarts stands."""

import dataclasses

from keras_stackrnn.training.wording import number


@dataclasses.dataclass(frozen=True)
class SearchStatus:
    """Where a search stands; accuracies and entropy are the best replica's on validation."""

    updates: int
    symbols: int
    n_range: tuple[int, int]
    alive: int
    solved: int
    best_entropy: float
    soft_accuracy: float
    rounded_accuracy: float

    def row(self) -> dict[str, float]:
        values = dataclasses.asdict(self)
        smallest, largest = values.pop("n_range")
        return {"smallest_n": smallest, "largest_n": largest, **values}

    def words(self) -> list[str]:
        smallest, largest = self.n_range
        return [
            f"n {smallest}-{largest}",
            f"{self.alive} alive, {self.solved} solved",
            f"entropy {number(self.best_entropy, '.4f')}",
            f"soft {number(self.soft_accuracy, '.0%')}",
            f"rounded {number(self.rounded_accuracy, '.0%')}",
        ]
