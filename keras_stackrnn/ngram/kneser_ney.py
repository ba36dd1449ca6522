"""Interpolated modified Kneser-Ney smoothing (Chen & Goodman 1998), of any order."""

import dataclasses

import numpy as np

_NOWHERE = -1
# Counts from here on share one discount.
_LARGEST_CLASS = 3


@dataclasses.dataclass(frozen=True)
class _Order:
    """The k-grams of one k, sorted by their keys, and the sums over the words after a context.

    A k-gram's key is `context * vocabulary_size + word`, where `context` is the place of its first
    k - 1 words among the (k - 1)-grams.
    """

    keys: np.ndarray
    counts: np.ndarray
    totals: np.ndarray  # [contexts]: the sum of the counts after a context
    discounts: np.ndarray  # [4]: what is taken from a count of 0, 1, 2, and 3 or more
    discounted: np.ndarray  # [contexts]: all that was taken after a context


class KneserNey:
    """An n-gram model with interpolated modified Kneser-Ney smoothing.

    With c the count of a k-gram, D its discount and h' the context h without its first word,

        p(w | h) = max(c(h w) - D(c(h w)), 0) / sum_v c(h v) + gamma(h) p(w | h')

    where gamma(h) is such that probabilities add up to 1, and below the unigrams all words are
    equal. Counts are of occurrences for the highest order; for all others they are of the distinct
    words before an n-gram. Histories do not end with a line.

    Args:
        tokens: Token ids to count, in the order of the text.
        vocabulary_size: Positive integer; token ids are below it.
        order: Positive integer, the n of the longest n-grams.

    Example:

    ```python
    model = KneserNey(np.array([0, 1, 0, 1, 2]), vocabulary_size=3, order=2)
    model.probabilities(np.array([0, 1]))  # p(0), p(1 | 0)
    ```
    """

    def __init__(self, tokens: np.ndarray, vocabulary_size: int, order: int = 5):
        if order < 1:
            raise ValueError(f"order must be 1 or more, got {order}.")
        self.vocabulary_size = vocabulary_size
        tokens = self._checked(tokens)
        if not len(tokens):
            raise ValueError("There are no tokens to count.")
        keys, places = self._count_keys(tokens, order)
        self._orders = []
        for k in range(1, order + 1):
            longer = places[k + 1] if k < order else None
            counts = _counts(places[k], longer, len(keys[k]))
            contexts = max(1, len(keys[k - 1])) if k > 1 else 1
            self._orders.append(self._sum_up(keys[k], counts, contexts))

    @property
    def order(self) -> int:
        return len(self._orders)

    @property
    def parameters(self) -> int:
        """The number of n-grams with a count."""
        return sum(len(order.keys) for order in self._orders)

    def probabilities(self, tokens: np.ndarray) -> np.ndarray:
        """The probability of each token after all those before it."""
        tokens = self._checked(tokens)
        probabilities = np.full(len(tokens), 1 / self.vocabulary_size)
        contexts = np.zeros(len(tokens), np.int64)
        for order in self._orders:
            places = self._find(order.keys, contexts, tokens)
            probabilities = _interpolated(order, contexts, places, probabilities)
            contexts = _shifted(places)
        return probabilities

    def distribution(self, history: np.ndarray) -> np.ndarray:
        """`[vocabulary_size]`: the probability of every token after a history."""
        history = self._checked(history)[max(0, len(history) - self.order + 1) :]
        words = np.arange(self.vocabulary_size)
        probabilities = np.full(self.vocabulary_size, 1 / self.vocabulary_size)
        for k, order in enumerate(self._orders[: len(history) + 1]):
            context = np.full(len(words), self._context(history[len(history) - k :]))
            places = self._find(order.keys, context, words)
            probabilities = _interpolated(order, context, places, probabilities)
        return probabilities

    def _context(self, words: np.ndarray) -> int:
        """The place of words among the n-grams of their number."""
        place = np.zeros(1, np.int64)
        for order, word in zip(self._orders, words, strict=False):
            place = self._find(order.keys, place, np.array([word]))
        return place[0]

    def _checked(self, tokens: np.ndarray) -> np.ndarray:
        tokens = np.asarray(tokens)
        if tokens.size and not 0 <= tokens.min() <= tokens.max() < self.vocabulary_size:
            raise ValueError(
                f"Tokens must be from 0 to {self.vocabulary_size - 1}, "
                f"got {tokens.min()} to {tokens.max()}."
            )
        return tokens.astype(np.int64)

    def _count_keys(self, tokens, order):
        """For each k from 1, the k-grams' sorted keys, and the k-gram that ends at each token."""
        keys, places = [None], [None]
        contexts = np.zeros(len(tokens), np.int64)
        for _ in range(order):
            there = contexts != _NOWHERE
            found = np.unique(contexts[there] * self.vocabulary_size + tokens[there])
            keys.append(found)
            places.append(self._find(found, contexts, tokens))
            contexts = _shifted(places[-1])
        return keys, places

    def _find(self, keys, contexts, words):
        """The places of n-grams among `keys`; `_NOWHERE` for those that are not there."""
        if not len(keys):
            return np.full(len(words), _NOWHERE)
        wanted = contexts * self.vocabulary_size + words
        places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where((contexts != _NOWHERE) & (keys[places] == wanted), places, _NOWHERE)

    def _sum_up(self, keys, counts, contexts):
        context = keys // self.vocabulary_size
        discounts = _discounts(counts)
        taken = discounts[np.minimum(counts, _LARGEST_CLASS)]
        return _Order(
            keys=keys,
            counts=counts,
            totals=np.bincount(context, counts, contexts),
            discounts=discounts,
            discounted=np.bincount(context, taken, contexts),
        )


def _counts(places, longer, size):
    """How often each k-gram counts.

    Args:
        places: The k-gram that ends at each token.
        longer: The (k + 1)-gram that does; `None`: k is the highest order.
        size: Number of k-grams.
    """
    if longer is None:
        return np.bincount(places[places != _NOWHERE], minlength=size)
    followed = longer != _NOWHERE
    # A (k + 1)-gram's last k words are the same wherever it is.
    _, first = np.unique(longer[followed], return_index=True)
    preceding = np.bincount(places[followed][first], minlength=size)
    # Nothing comes before the text: there an occurrence counts as one.
    at_the_beginning = (places != _NOWHERE) & ~followed
    return preceding + np.bincount(places[at_the_beginning], minlength=size)


def _discounts(counts):
    """Chen & Goodman's estimates from how many counts are 1, 2, 3 and 4."""
    ones, twos, threes, fours = (np.count_nonzero(counts == n) for n in range(1, 5))
    if not (ones and twos and threes and fours):
        # Of a text too small to estimate them from.
        return np.array([0.0, 0.5, 0.75, 0.9])
    share = ones / (ones + 2 * twos)
    discounts = [
        0,
        1 - 2 * share * twos / ones,
        2 - 3 * share * threes / twos,
        3 - 4 * share * fours / threes,
    ]
    return np.clip(discounts, [0, 0, 0, 0], [0, 1, 2, 3])


def _interpolated(order, contexts, places, lower):
    """The probabilities of an order, from those of the next lower one."""
    totals = np.where(contexts == _NOWHERE, 0, order.totals[contexts])
    counts = np.where(places == _NOWHERE, 0, order.counts[places]) if len(order.counts) else 0
    left = counts - order.discounts[np.minimum(counts, _LARGEST_CLASS)]
    known = totals > 0
    at_least_one = np.where(known, totals, 1)
    higher = left / at_least_one + order.discounted[contexts] / at_least_one * lower
    return np.where(known, higher, lower)


def _shifted(places):
    """The n-gram before each token, from the n-gram that ends there."""
    return np.concatenate([[_NOWHERE], places[:-1]])
