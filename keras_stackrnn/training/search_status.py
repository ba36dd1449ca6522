"""Where a search over restarts stands."""

import dataclasses

from keras_stackrnn.training.wording import number

LEGEND = """\
right: validation sequences that the best restart has right, its actions mixed (soft) or the most
  probable one taken (rounded)
n: sizes of the sequences it learns from; alive: restarts under way; solved: those that are done
entropy: what it is unsure of, in nats a predictable symbol"""


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
        soft, rounded = number(self.soft_accuracy, ".0%"), number(self.rounded_accuracy, ".0%")
        return [
            f"right: soft {soft}, rounded {rounded}",
            f"n {smallest}-{largest}",
            f"{self.alive} alive, {self.solved} solved",
            f"entropy {number(self.best_entropy, '.4f')}",
        ]

    def legend(self) -> str:
        return LEGEND
