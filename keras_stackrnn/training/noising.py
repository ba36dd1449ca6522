"""Noise on the words that a language model reads: smoothing, as n-grams have it, by data.

Some of the words are replaced by others while training (Xie et al. 2017, *Data Noising as Smoothing
in Neural Network Language Models*). As in Kneser-Ney smoothing it hits most the words of which
little is known, those that are followed by another word nearly every time, and what takes their
place are words that follow many others.
"""

import numpy as np


class Noising:
    """Replaces tokens of windows.

    Args:
        tokens: Token ids of the training text.
        size: Number of tokens in the vocabulary.
        share: Of the occurrences of a word that is never followed by the same word twice, those
            that are replaced; of others, fewer.
        seed: Decides what is replaced, and by what.
    """

    def __init__(self, tokens: np.ndarray, size: int, share: float, seed: int):
        pairs = np.unique(np.stack([tokens[:-1], tokens[1:]]), axis=1)
        followers = np.bincount(pairs[0], minlength=size)
        counts = np.bincount(tokens[:-1], minlength=size)
        self._replaced = share * followers / np.maximum(counts, 1)
        preceded = np.bincount(pairs[1], minlength=size)
        self._up_to = np.cumsum(preceded) / max(1, np.sum(preceded))
        self._seed = seed

    def __call__(self, window: np.ndarray, number: int) -> np.ndarray:
        """The tokens of a window with some of them replaced, the same ones for the same number."""
        hits, others = np.random.default_rng((self._seed, number)).random((2, *window.shape))
        drawn = np.searchsorted(self._up_to, others, side="right").astype(window.dtype)
        return np.where(hits < self._replaced[window], drawn, window)
