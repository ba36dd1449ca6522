"""The quotient: the same machine with fewer memories, fewer classes, and rows with don't-cares.

It is a projection of the certified table: memories and places are left out, classes are merged, and
all rows that then look alike have to do alike. By induction the small machine's memories always are
the projection of the large one's, so that it predicts the same on every text that stays within
the large one's rows. (To freeze a memory and see what happens would prove nothing.)
"""

import dataclasses
import itertools
import math
from typing import NamedTuple

from keras_stackrnn.extract.certificate import Certificate
from keras_stackrnn.extract.fine import FineTable
from keras_stackrnn.extract.machine import Key, Machine, Row
from keras_stackrnn.memories.soft import EMPTY

# So many choices of memories are looked at, few memories first; then one after another is left out.
_MOST_TRIED = 400
# How many choices of the same size are worked out to see which gives the smallest table.
_CHOICES = 24
# Tables of more rows have no quotient, and quotients of more rows no don't-cares.
_MOST_ROWS, _MOST_COVERED = 1500, 200


class Rule(NamedTuple):
    """Rows in one: `seen` has `None` where it does not matter what is seen."""

    token: int
    seen: tuple[int | None, ...]
    row: Row


@dataclasses.dataclass(frozen=True)
class Quotient:
    """A small machine and what became of the fine one.

    Attributes:
        machine: The machine.
        rules: Its table, for reading.
        kept: For each of its memories, which one of the fine machine it was.
        merged: For each of its memories, which of its classes each fine class became.
    """

    machine: Machine
    rules: tuple[Rule, ...]
    kept: tuple[int, ...]
    merged: tuple[dict[int, int], ...]

    def project(self, fine: Machine, key: Key) -> Key:
        """What this machine sees where the fine one sees `key`."""
        seen = dict(zip(fine.places, key.seen, strict=True))
        numbers = (
            (memory, seen[self.kept[memory], place]) for memory, place in self.machine.places
        )
        return key._replace(
            seen=tuple(
                number if number == EMPTY else self.merged[memory][number]
                for memory, number in numbers
            )
        )

    def rule_of(self, key: Key) -> int:
        """The number of the rule for what this machine sees."""
        return next(
            number
            for number, rule in enumerate(self.rules)
            if rule.token == key.token and _matches(rule.seen, key.seen)
        )


class _Done(NamedTuple):
    """What may be done at a row: one of these actions of each memory, the class written, one of
    these predictions."""

    actions: tuple[frozenset, ...]
    writes: tuple[int | None, ...]
    predictions: frozenset


def smallest(table: FineTable, certificate: Certificate) -> Quotient:
    """The quotient of the fewest rules, and then memories, that is found."""
    fine = certificate.machine
    if len(fine.rows) > _MOST_ROWS:
        return _as_it_is(fine)
    rows = {key: _done(fine, key, row, table, certificate) for key, row in fine.rows.items()}
    small = [
        projection.coarsest().quotient()
        for choices in _kept_memories(rows, fine)
        for projection in itertools.islice(choices, _CHOICES)
    ]
    return min(small, key=_size)


def _as_it_is(machine):
    """No quotient at all: every row a rule, every memory and class its own."""
    rules = tuple(Rule(key.token, key.seen, row) for key, row in machine.rows.items())
    merged = tuple({number: number for number in range(len(of))} for of in machine.classes)
    return Quotient(machine, rules, tuple(range(len(machine.memories))), merged)


def _size(quotient):
    machine = quotient.machine
    return len(quotient.rules), len(machine.memories), sum(map(len, machine.classes))


def _done(machine, key, row, table, certificate):
    """All that would be as right as what a row does."""
    idle = [
        frozenset(
            name for name in kind.action_names if kind.has_no_effect_on_empty(name, only_head=True)
        )
        for kind in machine.kinds
    ]
    heads = {memory: number for (memory, place), number in _seen(machine, key) if place == 0}
    actions = tuple(
        idle[memory]
        if action in idle[memory] and heads.get(memory) == EMPTY
        else frozenset([action])
        for memory, action in enumerate(row.actions)
    )
    prediction = certificate.predictions[key]
    # What is never scored may stay undetermined.
    predictions = {prediction} if key in table.scored else {None, prediction}
    return _Done(actions, row.writes, frozenset(predictions))


def _seen(machine, key):
    return zip(machine.places, key.seen, strict=True)


def _kept_memories(rows, machine):
    """Projections on as few memories as are enough, and on one more, which may want fewer rules."""
    every = range(len(machine.memories))
    found, tried = [], 0
    for size in range(len(every) + 1):
        tried += math.comb(len(every), size)
        if tried > _MOST_TRIED:
            break
        projections = (
            _Projection.of(rows, machine, kept) for kept in itertools.combinations(every, size)
        )
        enough = [projection for projection in projections if projection is not None]
        if enough:
            found.append(enough)
        if len(found) == 2:
            break
    if found:
        return found
    kept = tuple(every)
    for memory in every:
        fewer = tuple(each for each in kept if each != memory)
        if _Projection.of(rows, machine, fewer) is not None:
            kept = fewer
    return [[_Projection.of(rows, machine, kept)]]


class _Projection:
    """A table of some memories and places with merged classes; rows that look alike do alike."""

    def __init__(self, rows, machine, kept, places, classes):
        self._rows = rows  # of the kept memories and all their places, finest classes
        self._machine = machine
        self._kept = kept
        self._places = places  # numbers of places among those of the rows
        self._classes = classes  # for each kept memory, of each class the one that stands for it

    @classmethod
    def of(cls, rows, machine, kept):
        """The finest projection on some memories, or `None` if there is none."""
        places = [i for i, (memory, _) in enumerate(machine.places) if memory in kept]
        projected = {}
        for key, done in rows.items():
            short = (key.token, tuple(key.seen[i] for i in places))
            done = _Done(
                tuple(done.actions[memory] for memory in kept),
                tuple(done.writes[memory] for memory in kept),
                done.predictions,
            )
            projected.setdefault(short, {})[done] = None
        every = [(*short, done) for short, several in projected.items() for done in several]
        classes = [list(range(len(machine.classes[memory]))) for memory in kept]
        of_places = tuple((kept.index(machine.places[i][0]), machine.places[i][1]) for i in places)
        self = cls(every, machine, kept, of_places, classes)
        return self._closed(of_places, classes)

    def coarsest(self):
        """Leaves out places and merges classes, one after another, as long as that can be."""
        best = self
        for place in sorted(self._places, key=lambda each: -each[1]):
            fewer = tuple(each for each in best._kept_places if each != place)
            best = best._closed(fewer, best._classes) or best
        for memory in range(len(self._kept)):
            best = best._with_merged_classes(memory)
        return best

    def _with_merged_classes(self, memory):
        best = self
        count = len(best._classes[memory])
        together = [list(each) for each in best._classes]
        together[memory] = [0] * count
        if merged := best._closed(best._kept_places, together):
            return merged
        for one, other in itertools.combinations(range(count), 2):
            classes = [list(each) for each in best._classes]
            if classes[memory][one] != classes[memory][other]:
                _merge(classes[memory], one, other)
                best = best._closed(best._kept_places, classes) or best
        return best

    def _closed(self, places, classes):
        """With those classes merged, too, that rows which look alike write; `None` if rows that
        look alike do what is not alike."""
        classes = [list(each) for each in classes]
        at = [i for i, place in enumerate(self._places) if place in places]
        while True:
            groups = {}
            again = False
            for token, seen, done in self._rows:
                key = (token, tuple(self._class(classes, i, seen[i]) for i in at))
                group = groups.get(key)
                if group is None:
                    groups[key] = done
                    continue
                group = groups[key] = _both(group, done)
                if group is None:
                    return None
                for memory, (one, other) in enumerate(zip(group.writes, done.writes, strict=True)):
                    if one is not None and classes[memory][one] != classes[memory][other]:
                        _merge(classes[memory], one, other)
                        again = True
            if not again:
                break
        closed = _Projection(self._rows, self._machine, self._kept, self._places, classes)
        closed._kept_places = tuple(self._places[i] for i in at)
        closed._groups = groups
        return closed

    def _class(self, classes, i, number):
        return number if number == EMPTY else classes[self._places[i][0]][number]

    def quotient(self):
        """The machine and its rules."""
        # Classes that are left get numbers without gaps.
        numbers = [{old: new for new, old in enumerate(sorted({*each}))} for each in self._classes]
        groups = {}
        for (token, seen), done in self._groups.items():
            renamed = tuple(
                number if number == EMPTY else numbers[memory][number]
                for (memory, _), number in zip(self._kept_places, seen, strict=True)
            )
            writes = tuple(
                None if number is None else numbers[memory][self._classes[memory][number]]
                for memory, number in enumerate(done.writes)
            )
            groups[token, renamed] = done._replace(writes=writes)
        rules = tuple(_rules(groups))
        rows = {
            Key(token, seen): next(
                rule.row for rule in rules if rule.token == token and _matches(rule.seen, seen)
            )
            for token, seen in groups
        }
        merged = tuple(
            {old: of[each[old]] for old in range(len(each))}
            for each, of in zip(self._classes, numbers, strict=True)
        )
        machine = Machine(
            self._machine.vocabulary,
            tuple(self._machine.kinds[memory] for memory in self._kept),
            tuple(self._machine.memories[memory] for memory in self._kept),
            self._kept_places,
            tuple(
                _names_of(memory, len(of), rules, rows, self._kept_places, self._machine.vocabulary)
                for memory, of in enumerate(numbers)
            ),
            rows,
            guard=self._machine,
        )
        return Quotient(machine, rules, self._kept, merged)


def _merge(classes, one, other):
    """Has one class stand for both."""
    keep, leave = sorted((classes[one], classes[other]))
    for number, of in enumerate(classes):
        if of == leave:
            classes[number] = keep


def _both(one: _Done, other: _Done) -> _Done | None:
    """What would be right for both; `None` if nothing would."""
    actions = tuple(a & b for a, b in zip(one.actions, other.actions, strict=True))
    predictions = one.predictions & other.predictions
    if not all(actions) or not predictions:
        return None
    return _Done(actions, one.writes, predictions)


def _rules(groups):
    """Covers all rows by rules, the widest first; more rows than people read stay as they are."""
    if len(groups) > _MOST_COVERED:
        for (token, seen), done in groups.items():
            yield Rule(token, seen, _row(_settled(done)))
        return
    settled = dict(groups)
    for token in dict.fromkeys(token for token, _ in groups):
        open_rows = {seen for of, seen in groups if of == token}
        while open_rows:
            widest = max(
                (
                    _widened(token, seen, order, settled)
                    for seen in sorted(open_rows)
                    for order in _orders(len(seen))
                ),
                key=lambda found: (len(found[1] & open_rows), found[0].count(None)),
            )
            pattern, covered, done = widest
            for seen in covered:
                settled[token, seen] = done
            open_rows -= covered
            yield Rule(token, pattern, _row(done))


def _orders(places):
    """Orders in which places are tried to be left out."""
    if places <= 3:
        return list(itertools.permutations(range(places)))
    forwards = list(range(places))
    return [forwards[i:] + forwards[:i] for i in range(places)] + [forwards[::-1]]


def _widened(token, seen, order, settled):
    """The widest rule for a row that no other row objects to: its pattern, the rows it covers, and
    what it does."""
    pattern, covered, done = seen, {seen}, settled[token, seen]
    for place in order:
        wider = (*pattern[:place], None, *pattern[place + 1 :])
        matching = {other for of, other in settled if of == token and _matches(wider, other)}
        both = done
        for other in matching:
            theirs = settled[token, other]
            both = both and (both.writes == theirs.writes or None) and _both(both, theirs)
        if both:
            pattern, covered, done = wider, matching, both
    return pattern, covered, _settled(done)


def _settled(done):
    """One of the actions that would be right; and no prediction where none is needed."""
    actions = tuple(frozenset([min(each)]) for each in done.actions)
    prediction = None if None in done.predictions else min(done.predictions)
    return _Done(actions, done.writes, frozenset([prediction]))


def _row(done):
    [prediction] = done.predictions
    return Row(tuple(min(each) for each in done.actions), done.writes, prediction)


def _matches(pattern, seen):
    return all(want is None or want == is_ for want, is_ in zip(pattern, seen, strict=True))


def _names_of(memory, count, rules, rows, places, vocabulary):
    """Classes by what they do: the only one is a mark, others are named for the symbols that are
    predicted where they are seen, or at which they are written, where those differ."""
    if count <= 1:
        return ("mark",) * count
    for at, (of, _) in enumerate(places):
        if of == memory:
            tell = [
                {row.prediction for key, row in rows.items() if key.seen[at] == number} - {None}
                for number in range(count)
            ]
            if all(len(tokens) == 1 for tokens in tell) and len(set().union(*tell)) == count:
                return tuple(vocabulary[token] for [token] in tell)
    writers = [
        {rule.token for rule in rules if rule.row.writes[memory] == number}
        for number in range(count)
    ]
    if all(len(tokens) == 1 for tokens in writers) and len(set().union(*writers)) == count:
        return tuple(vocabulary[token] for [token] in writers)
    return tuple(f"class{number + 1}" for number in range(count))
