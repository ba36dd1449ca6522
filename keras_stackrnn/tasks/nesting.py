"""Well-nested brackets of k kinds, as deep as one likes or not: the Dyck languages.

Two ways to draw them. By length: every string of that length is as likely. By opening: at each step
a bracket opens with a probability, and otherwise the last one closes, or the string ends where none
is open; this is the grammar S -> ( S ) S | nothing. Both know the probability of each string, so
what a model could reach at best is known exactly.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator

import numpy as np

from keras_stackrnn.tasks.draws import scale, words
from keras_stackrnn.tasks.strings import Strings, cut

# One pair a kind: the usual ones, then letters, small for opening and capital for closing.
_PAIRS = ("()", "[]", "{}", "<>", *(letter + letter.upper() for letter in "abcdefghijklmnop"))


@dataclasses.dataclass(frozen=True)
class Nesting:
    """Well-nested brackets.

    Args:
        kinds: How many kinds of brackets there are.
        depth: How many may be open at once; `None` for any number.
    """

    kinds: int = 1
    depth: int | None = None

    def __post_init__(self):
        if not 1 <= self.kinds <= len(_PAIRS):
            raise ValueError(f"There are 1 to {len(_PAIRS)} kinds of brackets, got {self.kinds}.")
        if self.depth is not None and self.depth < 1:
            raise ValueError(f"Brackets are 1 deep or more, got a depth of {self.depth}.")

    @property
    def alphabet(self) -> str:
        """Every kind's opening and closing bracket; kind i has tokens 2i and 2i + 1."""
        return "".join(_PAIRS[: self.kinds])

    def of_length(self, lengths: np.ndarray, keys: np.ndarray) -> Strings:
        """Strings of those even lengths, all as likely."""
        if (lengths % 2).any():
            raise ValueError(
                f"Brackets come in pairs, got a length of {lengths[lengths % 2 == 1][0]}."
            )
        longest = int(lengths.max(initial=0))
        opens_at = self._chance_of_opening(longest)
        chances = words(keys[:, None], 2 * np.arange(longest)) >> np.uint64(32)
        opens = np.zeros((longest, len(lengths)), bool)
        depth = np.zeros(len(lengths), np.int64)
        for place, chance in enumerate(np.ascontiguousarray(chances.T)):
            left = np.maximum(lengths - place, 0)
            opens[place] = up = opens_at(left, depth, chance)
            # What is read beyond an end is cut off below.
            depth = np.maximum(depth + 2 * up - 1, 0)
        return self._written(opens.T, lengths, keys)

    def by_opening(self, keys: np.ndarray, probability: float) -> Strings:
        """Strings that open a bracket with that probability at each step; ends are drawn, too.

        Where no more may be open, a bracket closes for sure.
        """
        self._check_probability(probability)
        threshold = np.uint64(round(probability * 2**32))
        steps = 64
        while True:
            opens = words(keys[:, None], 2 * np.arange(steps)) >> np.uint64(32) < threshold
            if self.depth is not None:
                opens = self._held_down(opens)
            # The step that goes below the ground is the end.
            ended = np.cumsum(np.where(opens, 1, -1), axis=1) < 0
            if ended[:, -1:].all():
                return self._written(opens, ended.argmax(axis=1), keys)
            steps *= 2

    def nats_of_length(self, lengths: np.ndarray) -> np.ndarray:
        """What each string of those lengths costs at best, when its length is known."""
        each = {length: math.log(self.number(length)) for length in np.unique(lengths).tolist()}
        return np.array([each[length] for length in lengths.tolist()])

    def nats_by_opening(self, strings: Strings, probability: float) -> np.ndarray:
        """What each string and its end cost at best, when it was drawn by opening."""
        self._check_probability(probability)
        _, depths = self._last_open(strings)
        free = depths < (self.depth or np.inf)
        opens = (strings.tokens % 2 == 0) & strings.written
        going_up = (opens * -math.log(probability / self.kinds)).sum(axis=1)
        steps = np.arange(depths.shape[1]) <= strings.lengths[:, None]
        closes = steps & ~np.pad(opens, ((0, 0), (0, 1)))
        return going_up + (closes & free).sum(axis=1) * -math.log1p(-probability)

    def valid_next(self, strings: Strings) -> np.ndarray:
        """Which symbols may come after each number of symbols read.

        Bool [rows, longest + 1, symbols + 1]; the last one says that the string may end.
        """
        rows, longest = strings.tokens.shape
        last_open, depths = self._last_open(strings)
        valid = np.zeros((rows, longest + 1, 2 * self.kinds + 1), bool)
        valid[:, :, 0:-1:2] = (depths < (self.depth or np.inf))[:, :, None]
        np.put_along_axis(valid, 2 * last_open[:, :, None] + 1, (depths > 0)[:, :, None], axis=2)
        valid[:, :, -1] = depths == 0
        return valid & (np.arange(longest + 1) <= strings.lengths[:, None])[:, :, None]

    def contains(self, strings: Strings) -> np.ndarray:
        """Whether each row is well nested."""
        written, tokens = strings.written, strings.tokens
        opens = tokens % 2 == 0
        depths = np.cumsum(np.where(opens, 1, -1) * written, axis=1)
        most = np.inf if self.depth is None else self.depth
        nested = (depths >= 0).all(axis=1) & (depths <= most).all(axis=1)
        nested &= depths[:, -1:].sum(axis=1) == 0
        # Sorted by their height, opening and closing brackets of a nested string take turns.
        order = _by_level(opens)
        symbols = np.take_along_axis(tokens, order, axis=1)
        is_written = np.take_along_axis(written, order, axis=1)
        wrong = (symbols[:, 1:] % 2 == 1) & (symbols[:, 1:] - 1 != symbols[:, :-1])
        return nested & ~(wrong & is_written[:, 1:]).any(axis=1)

    def number(self, length: int) -> int:
        """How many strings there are of a length."""
        if length % 2:
            return 0
        pairs = length // 2
        if self.depth is None:
            shapes = math.comb(length, pairs) // (pairs + 1)
        else:
            shapes = _ways_down(self.depth, _power_of_two(length))[length][0]
        return shapes * self.kinds**pairs

    def in_order(self, length: int) -> Iterator[str]:
        """All strings of a length in the alphabet's order."""
        return self._completions("", "", length)

    def _completions(self, text: str, closing: str, left: int) -> Iterator[str]:
        if not left:
            yield text
            return
        may_open = len(closing) < min(left, self.depth or left)
        for pair in _PAIRS[: self.kinds]:
            if may_open:
                yield from self._completions(text + pair[0], pair[1] + closing, left - 1)
            if closing[:1] == pair[1]:
                yield from self._completions(text + pair[1], closing[1:], left - 1)

    def _chance_of_opening(self, longest: int) -> Callable[..., np.ndarray]:
        """A function that says whether a bracket opens where so many symbols are left and so many
        are open, by a number below 2^32."""
        if self.depth is None:
            # The share of the ways down to the ground that begin upwards: two ballot numbers.
            return lambda left, depth, number: (
                (number * (2 * left * (depth + 1)).astype(np.uint64) >> np.uint64(32)).astype(
                    np.int64
                )
                < (depth + 2) * (left - depth)
            )
        chances = _chances(self.depth, _power_of_two(longest))
        return lambda left, depth, number: number < chances[left, depth]

    def _check_probability(self, probability: float) -> None:
        most = "1/2" if self.depth is None else "1"
        if not 0 < probability < (0.5 if self.depth is None else 1):
            raise ValueError(
                f"Brackets open with a probability above 0 and below {most}, got {probability}."
            )

    def _held_down(self, opens: np.ndarray) -> np.ndarray:
        depth = np.zeros(len(opens), np.int64)
        held = np.zeros_like(opens)
        for place in range(opens.shape[1]):
            held[:, place] = opens[:, place] & (depth < self.depth)
            depth += np.where(held[:, place], 1, -1)
        return held

    def _written(self, opens: np.ndarray, lengths: np.ndarray, keys: np.ndarray) -> Strings:
        """Ups and downs as symbols: kinds are drawn for the ups, and downs close what is open."""
        longest = int(lengths.max(initial=0))
        opens = opens[:, :longest]
        if self.kinds == 1:
            return cut(~opens, lengths)
        kinds = scale(words(keys[:, None], 2 * np.arange(longest) + 1), self.kinds)
        order = _by_level(opens)
        sorted_kinds = np.take_along_axis(kinds, order, axis=1)
        closes = ~np.take_along_axis(opens, order, axis=1)
        # Where brackets are sorted by their height, each closes the one before it.
        sorted_kinds[:, 1:] = np.where(closes[:, 1:], sorted_kinds[:, :-1], sorted_kinds[:, 1:])
        np.put_along_axis(kinds, order, sorted_kinds, axis=1)
        return cut(2 * kinds + ~opens, lengths)

    def _last_open(self, strings: Strings) -> tuple[np.ndarray, np.ndarray]:
        """The kind of the last open bracket after each number of symbols, and how many are open.

        Of strings that are not well nested, this holds up to the first symbol that is wrong.
        """
        rows, longest = np.arange(len(strings.lengths)), strings.tokens.shape[1]
        depths = np.zeros((len(rows), longest + 1), np.int64)
        last_open = np.zeros((len(rows), longest + 1), np.int64)
        opened = np.zeros((len(rows), longest + 1), np.int64)
        depth = np.zeros(len(rows), np.int64)
        for place in range(longest):
            symbol, here = strings.tokens[:, place], place < strings.lengths
            up = (symbol % 2 == 0) & here
            opened[rows[up], depth[up]] = symbol[up] // 2
            # Below the ground there is nothing to close; `contains` sees it by the depth before.
            depth = np.maximum(depth + np.where(up, 1, -1) * here, 0)
            depths[:, place + 1] = depth
            last_open[:, place + 1] = opened[rows, np.maximum(depth - 1, 0)]
        return last_open, depths


def _by_level(opens: np.ndarray) -> np.ndarray:
    """The order of brackets by the height at which they stand, and in turn at the same height."""
    depths = np.cumsum(np.where(opens, 1, -1), axis=1)
    return np.argsort(depths + ~opens, axis=1, kind="stable")


@functools.lru_cache(maxsize=8)
def _ways_down(depth: int, longest: int) -> list[list[int]]:
    """How many ways lead to the ground in so many steps, from each height, none above `depth`."""
    ways = [[1] + [0] * depth]
    for _ in range(longest):
        last = [0, *ways[-1], 0]
        ways.append([last[height] + last[height + 2] for height in range(depth + 1)])
    return ways


@functools.lru_cache(maxsize=8)
def _chances(depth: int, longest: int) -> np.ndarray:
    """The chance, out of 2^32, that a bracket opens: by symbols left and brackets open."""
    ways = _ways_down(depth, longest)
    chances = np.zeros((longest + 1, depth + 1), np.uint64)
    for left in range(1, longest + 1):
        for height in range(depth):
            if ways[left][height]:
                chances[left, height] = (ways[left - 1][height + 1] << 32) // ways[left][height]
    return chances


def _power_of_two(number: int) -> int:
    """The power of two that a number fits in, so that few tables are made."""
    return 1 << max(number - 1, 0).bit_length()
