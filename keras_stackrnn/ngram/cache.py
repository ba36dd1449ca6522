"""A cache: what was said lately is likelier to be said again (Kuhn & De Mori 1990)."""

import dataclasses
import math

import numpy as np

_HALF_LIVES = tuple(round(25 * 2 ** (step / 2)) for step in range(14))
_STEPS = 30


@dataclasses.dataclass(frozen=True)
class Cache:
    """A unigram model of the tokens so far, the late ones counting most, mixed with another model.

    Args:
        half_life: After how many tokens an occurrence counts half.
        weight: The cache's share of the mixture.
    """

    half_life: float
    weight: float

    def __post_init__(self):
        if not 0 < self.half_life < math.inf:
            raise ValueError(f"half_life must be above 0, got {self.half_life}.")
        if not 0 <= self.weight < 1:
            raise ValueError(f"weight must be from 0 to below 1, got {self.weight}.")

    @classmethod
    def tuned(cls, tokens: np.ndarray, probabilities: np.ndarray) -> "Cache":
        """The cache that helps a model most.

        Args:
            tokens: Validation tokens.
            probabilities: The model's probability of each.
        """
        fits = []
        for half_life in _HALF_LIVES:
            shares = _shares(tokens, half_life)
            weight = _best_weight(shares[1:], probabilities[1:])
            cache = cls(half_life, weight)
            fits.append((-np.log(cache._mixed(shares, probabilities)).sum(), half_life, cache))
        return min(fits)[-1]

    def mix(self, tokens: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
        """The probability of each token after those before it, from another model's."""
        return self._mixed(_shares(tokens, self.half_life), probabilities)

    def distribution(self, history: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
        """The probability of every token after a history, from another model's."""
        ages = np.arange(len(history), 0, -1)
        counts = np.bincount(history, self._decay**ages, len(probabilities))
        if not len(history):
            return probabilities
        return self.weight * counts / counts.sum() + (1 - self.weight) * probabilities

    @property
    def _decay(self) -> float:
        return 0.5 ** (1 / self.half_life)

    def _mixed(self, shares, probabilities):
        mixed = self.weight * shares + (1 - self.weight) * probabilities
        # Before the first token there is nothing to remember.
        return np.concatenate([probabilities[:1], mixed[1:]])


def _shares(tokens, half_life):
    """The cache's own probability of each token."""
    decay = 0.5 ** (1 / half_life)
    counts = {}  # by token: its count when it was last seen, and when that was
    total = 0.0
    shares = np.zeros(len(tokens))
    for now, token in enumerate(np.asarray(tokens).tolist()):
        count, then = counts.get(token, (0.0, now))
        count *= decay ** (now - then)
        if now:
            shares[now] = count / total
        counts[token] = (count + 1, now)
        total = (total + 1) * decay
    return shares


def _best_weight(shares, probabilities):
    """The weight with the highest likelihood, by expectation maximisation."""
    weight = 0.1
    for _ in range(_STEPS):
        of_cache = weight * shares
        weight = float(np.mean(of_cache / (of_cache + (1 - weight) * probabilities)))
    return weight
