"""Memories of which it is known what is in them, but not always how often.

A pile is a row of blocks, each a word of classes and how many times it stands there. It says what
lies on top as `simulation.SimulatedZipper` does, or raises `UndecidedError` where that depends on
how large the numbers are.
"""

import dataclasses
import itertools
from typing import NamedTuple

from keras_stackrnn.extract.proof.linear import Linear, Number, at_least
from keras_stackrnn.memories.soft import EMPTY
from keras_stackrnn.memories.zipper import FROM_LEFT, FROM_RIGHT, VALUE, Zipper

# Of so many classes a word may be that is found to be repeated.
_LONGEST_WORD = 4


class Block(NamedTuple):
    """A word of classes, the top-most last, and how many times it stands there."""

    word: tuple[int, ...]
    count: Number


Pile = tuple[Block, ...]  # the top-most block last; below it all is empty


def put(pile: Pile, element: int) -> Pile:
    """The pile with one element more."""
    if not pile and element == EMPTY:
        return pile
    if pile and pile[-1].word == (element,):
        return _with_words((*pile[:-1], Block((element,), pile[-1].count + 1)))
    return _with_words((*pile, Block((element,), 1)))


def taken(pile: Pile) -> Pile:
    """The pile without its top-most element."""
    pile = _with_a_top(pile)
    if not pile:
        return pile
    *below, (word, count) = pile
    again = (Block(word, count - 1),) if count != 1 else ()
    return (*below, *again, *_plain(word[:-1]))


def nearest(pile: Pile, depth: int) -> list[int]:
    """The first `depth` elements from the top, or fewer if there are no more."""
    found = []
    while len(found) < depth and (pile := _with_a_top(pile)):
        found.append(pile[-1].word[-1])
        pile = taken(pile)
    return found


def _with_a_top(pile):
    """Without blocks on top that are there 0 times."""
    while pile and not at_least(pile[-1].count, 1):
        pile = pile[:-1]
    return pile


def _plain(letters):
    return tuple(Block((letter,), len([*run])) for letter, run in itertools.groupby(letters))


def _with_words(pile):
    """With what is repeated on top as a word of its own."""
    letters, under = [], len(pile)
    while under and len(letters) < 2 * _LONGEST_WORD:
        word, count = pile[under - 1]
        if len(word) > 1 or isinstance(count, Linear) or count > _LONGEST_WORD:
            break
        letters[:0] = word * count
        under -= 1
    for size in range(2, _LONGEST_WORD + 1):
        top = tuple(letters[-size:])
        if len(letters) == size and under and pile[under - 1].word == top:
            return (*pile[: under - 1], Block(top, pile[under - 1].count + 1))
        if tuple(letters[-2 * size : -size]) == top and len(set(top)) > 1:
            return (*pile[:under], *_plain(letters[: -2 * size]), Block(top, 2))
    return pile


@dataclasses.dataclass(frozen=True)
class SymbolicZipper:
    """A zipper with the element under the head, and a pile on either side."""

    head: int = EMPTY
    left: Pile = ()
    right: Pile = ()

    def act(self, kind: Zipper, name: str, value: int | None) -> "SymbolicZipper":
        """The zipper after an action."""
        action = kind.action(name)
        under_head = value if action.writes else self.head
        head = under_head
        if action.head == VALUE:
            head = value
        for source, pile in ((FROM_LEFT, self.left), (FROM_RIGHT, self.right)):
            if action.head == source:
                head = next(iter(nearest(pile, 1)), EMPTY)
        moved = (
            put(pile, under_head) if gain > 0 else taken(pile) if gain < 0 else pile
            for gain, pile in ((action.left, self.left), (action.right, self.right))
        )
        return SymbolicZipper(head, *moved)

    def read(self, kind: Zipper, place: int) -> int:
        """The element at a place, in the order in which places are read."""
        if place == 0:
            return self.head
        where = kind.places(place + 1)[place]
        pile = self.left if kind.side_of(where) == "left" else self.right
        elements = nearest(pile, abs(where))
        return elements[-1] if len(elements) == abs(where) else EMPTY

    @property
    def shape(self) -> tuple:
        """All of it but how often words stand there."""
        return self.head, *(tuple(block.word for block in pile) for pile in (self.left, self.right))

    @property
    def counts(self) -> list[Number]:
        """How often each word stands there."""
        return [block.count for block in (*self.left, *self.right)]

    def with_counts(self, counts: list[Number]) -> "SymbolicZipper":
        """The same shape with other counts."""
        counts = iter(counts)
        left, right = (
            tuple(Block(block.word, next(counts)) for block in pile)
            for pile in (self.left, self.right)
        )
        return SymbolicZipper(self.head, left, right)
