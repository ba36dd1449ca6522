"""Where a training on text stands."""

import dataclasses

from keras_stackrnn.training.wording import number

_LEGEND = """\
validation, best, training: perplexity, of how many words it is as unsure as if it had to guess one
epoch: how often the text was read; rate: learning rate"""


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
        validation = number(self.validation_perplexity, ".1f")
        return [
            f"validation {validation}, best {number(self.best_perplexity, '.1f')}",
            f"epoch {self.epoch}",
            f"training {number(self.train_perplexity, '.1f')}",
            f"rate {self.learning_rate:.4g}",
        ]

    def legend(self) -> str:
        return _LEGEND
