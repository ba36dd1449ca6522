"""Where a training on text stands."""

import dataclasses

from keras_stackrnn.training.wording import number


@dataclasses.dataclass(frozen=True)
class LanguageStatus:
    """Where a training stands; the training text's perplexity is that of the epoch so far."""

    updates: int
    symbols: int
    epoch: int
    learning_rate: float
    train_perplexity: float
    validation_perplexity: float
    best_perplexity: float

    def row(self) -> dict[str, float]:
        return dataclasses.asdict(self)

    def words(self) -> list[str]:
        return [
            f"epoch {self.epoch}",
            f"rate {self.learning_rate:.4g}",
            f"perplexity {number(self.train_perplexity, '.1f')}",
            f"validation {number(self.validation_perplexity, '.1f')}",
            f"best {number(self.best_perplexity, '.1f')}",
        ]
