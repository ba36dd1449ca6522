"""A machine that reads any word and then has to say it backwards, beside a stack that does.

That stack holds a record of each symbol of the word: the symbol, and what the machine put on each
of its own piles when it read it. As long as a pile gains one element for each symbol of the word,
and loses one for each that is said, it is in step with the stack, and what comes to its top is in
the record there. Of other piles only the top is known. All configurations that can be reached are
gone through, of the stack its topmost records alone: below them may be whatever was seen there
once, so that more is looked at than can be, and never less.
"""

from typing import NamedTuple

from keras_stackrnn.extract.machine import Key, Machine
from keras_stackrnn.extract.proof.outcome import NoProofError
from keras_stackrnn.memories.soft import EMPTY
from keras_stackrnn.memories.zipper import FROM_LEFT, FROM_RIGHT, VALUE
from keras_stackrnn.patterns import Pattern

_MOST_CONFIGURATIONS = 50_000
_SIDES = {"left": FROM_LEFT, "right": FROM_RIGHT}
# What is below the elements of a pile that are known.
_NOTHING, _RECORDS, _UNKNOWN = "nothing", "records", "unknown"


class _Pile(NamedTuple):
    """The elements on top, the top-most last, and what is below them."""

    top: tuple[int, ...] = ()
    below: str = _NOTHING

    def put(self, element):
        if not self.top and self.below == _NOTHING and element == EMPTY:
            return self
        return self._replace(top=(*self.top, element))

    def taken(self):
        return self._replace(top=self.top[:-1])

    def nearest(self):
        if self.top:
            return self.top[-1]
        if self.below == _NOTHING:
            return EMPTY
        raise NoProofError("what lies deep in a memory comes up again, not in step with the word")

    def cut(self, reach):
        if len(self.top) <= reach:
            return self
        return _Pile(self.top[-reach:], _UNKNOWN)


class _Record(NamedTuple):
    """A symbol of the word, and what each pile in step gained as it was read."""

    token: int
    cells: tuple[int, ...]


class _Window(NamedTuple):
    """The top-most records, the top-most last, and whether there are more below."""

    records: tuple[_Record, ...] = ()
    more: bool = False


class _Configuration(NamedTuple):
    """All that is known of a machine: its heads, its piles, the stack of records."""

    heads: tuple[int, ...]
    piles: tuple[_Pile, ...]  # left and right of each memory in turn
    window: _Window
    said: int | None = None  # what has been said last and is read next


def prove(machine: Machine, pattern: Pattern) -> int:
    """Proves that a machine knows every row of every sequence, and says every word backwards.

    Returns:
        How many configurations there were. `NoProofError` says why there is no proof.
    """
    in_step = frozenset(range(2 * len(machine.memories)))
    while True:
        try:
            return _Search(machine, pattern.grammar, in_step).through()
        except _OutOfStepError as error:
            in_step -= {error.pile}


class _OutOfStepError(Exception):
    def __init__(self, pile):
        super().__init__()
        self.pile = pile


class _Search:
    """Goes through all configurations, where these piles gain one element at each symbol."""

    def __init__(self, machine, grammar, in_step):
        self._machine = machine
        self._tokens = [machine.tokens[symbol] for symbol in grammar.symbols]
        self._mark = machine.tokens[grammar.mark]
        self._in_step = sorted(in_step)
        self._reach = 1 + max((place for _, place in machine.places), default=0)

    def through(self) -> int:
        empty = tuple(
            _Pile(below=_RECORDS if pile in self._in_step else _NOTHING)
            for pile in range(2 * len(self._machine.memories))
        )
        heads = (EMPTY,) * len(self._machine.memories)
        read = self._closure([_Configuration(heads, empty, _Window())], self._reading)
        self._windows = {each.window for each in read}
        marked = [after for each in read if each.window.records for after in self._answer(each)]
        said = self._closure(marked, self._answer)
        return len(read) + len(said)

    def _closure(self, first, following):
        known, todo = dict.fromkeys(first), list(first)
        while todo:
            for after in following(todo.pop()):
                if after not in known:
                    known[after] = None
                    todo.append(after)
            if len(known) > _MOST_CONFIGURATIONS:
                raise NoProofError(f"there are more than {_MOST_CONFIGURATIONS:,} configurations")
        return list(known)

    def _reading(self, now):
        """All that may come of reading one more symbol of the word."""
        for token in self._tokens:
            _, heads, piles = self._step(now, token)
            cells = tuple(cell for number in self._in_step for cell in piles[number].top)
            for number in self._in_step:
                piles[number] = _Pile(below=_RECORDS)
            records = (*now.window.records, _Record(token, cells))
            window = _Window(records[-self._reach :], now.window.more or len(records) > self._reach)
            yield _Configuration(heads, self._cut(piles), window)

    def _answer(self, now):
        """All that may come of reading the mark, or what was said last."""
        records = now.window.records
        if not records:  # the last symbol of the sequence
            piles = (
                pile._replace(below=_NOTHING) if pile.below == _RECORDS else pile
                for pile in now.piles
            )
            self._step(now._replace(piles=tuple(piles)), now.said, {})
            return
        token = self._mark if now.said is None else now.said
        row, heads, piles = self._step(now, token, self._cells(records[-1]))
        if row.prediction != records[-1].token:
            vocabulary = self._machine.vocabulary
            said = "nothing" if row.prediction is None else vocabulary[row.prediction]
            raise NoProofError(
                f"{said} may be predicted where {vocabulary[records[-1].token]} comes next"
            )
        for window in self._shortened(now.window):
            yield _Configuration(heads, self._cut(piles), window, records[-1].token)

    def _shortened(self, window):
        """The stack without its top-most record: what comes into view is any that may be there."""
        rest = window.records[:-1]
        if not window.more:
            return [_Window(rest)]
        return [
            each
            for each in self._windows
            if len(each.records) == self._reach and each.records[1:] == rest
        ]

    def _cells(self, record):
        return dict(zip(self._in_step, record.cells, strict=True))

    def _step(self, now, token, cells=None):
        """The row, and heads and piles after it.

        `cells` are taken from a record beforehand; without, the word is read, and piles in step
        have to gain one element each.
        """
        machine = self._machine
        key = Key(token, tuple(self._seen(now, *place) for place in machine.places))
        row = machine.rows.get(key)
        if row is None:
            raise NoProofError(f"there may be no row for {machine.words_of(key)}")
        piles = [
            pile._replace(top=(cells[number], *pile.top))
            if cells and pile.below == _RECORDS
            else pile
            for number, pile in enumerate(now.piles)
        ]
        heads = []
        for memory, (kind, name, value) in enumerate(
            zip(machine.kinds, row.actions, row.writes, strict=True)
        ):
            action = kind.action(name)
            under_head = value if action.writes else now.heads[memory]
            head = value if action.head == VALUE else under_head
            for number, (side, source) in enumerate(_SIDES.items(), 2 * memory):
                gain = getattr(action, side)
                if (
                    cells is None
                    and number in self._in_step
                    and (gain < 1 or action.head == source)
                ):
                    raise _OutOfStepError(number)
                if action.head == source:
                    head = piles[number].nearest()
                if gain > 0:
                    piles[number] = piles[number].put(under_head)
                elif gain < 0:
                    piles[number].nearest()
                    piles[number] = piles[number].taken()
            heads.append(head)
        return row, tuple(heads), piles

    def _cut(self, piles):
        return tuple(pile.cut(self._reach) for pile in piles)

    def _seen(self, now, memory, place):
        if place == 0:
            return now.heads[memory]
        kind = self._machine.kinds[memory]
        where = kind.places(place + 1)[place]
        number = 2 * memory + list(_SIDES).index(kind.side_of(where))
        pile, depth = now.piles[number], abs(where)
        if depth <= len(pile.top):
            return pile.top[-depth]
        depth -= len(pile.top)
        if pile.below == _RECORDS:
            records = now.window.records
            if depth <= len(records):
                return self._cells(records[-depth])[number]
            if not now.window.more:
                return EMPTY
        if pile.below == _NOTHING:
            return EMPTY
        raise NoProofError("what lies deep in a memory is seen again, not in step with the word")
