"""A machine as a file of Python that needs nothing but Python, with a test of itself."""

import inspect
import pprint

from keras_stackrnn.extract.machine import Machine
from keras_stackrnn.memories import standalone

_TEMPLATE = '''"""What {name} has learned, as a program.

{statement}

{table}
    python FILE TEXT    prints what comes after each symbol of TEXT, ? where that is undetermined
    python FILE         tests itself

RULES is the table above. FINE is the finer table that the network was compared with; it reads
along, and what it does not know is an error, never a guess.
"""

import sys

EMPTY = -1
VOCABULARY = {vocabulary}
# Each rule: the symbol; what is seen at each place (-1 is empty, None is anything); each memory's
# action and what it writes; what comes next, or None.
PLACES = {places}
RULES = {rules}
{sources}

class UnknownRow(Exception):
    """A text has led to something that is in no row of the table."""


class Machine:
    """Memories, and a table that says what to do with them."""

    def __init__(self, memories, places, rules):
        self.memories = [make(*arguments) for make, arguments in memories]
        self.places = places
        self.rules = {{}}
        for symbol, *rule in rules:
            self.rules.setdefault(symbol, []).append(rule)
        self.exact = {{(rule[0], tuple(rule[1])): rule for rule in rules}}

    def step(self, symbol):
        """Reads a symbol and says which one comes next."""
        seen = tuple(self.memories[memory].read(place) for memory, place in self.places)
        if (symbol, seen) in self.exact:
            _, _, acts, following = self.exact[symbol, seen]
        else:
            for wanted, acts, following in self.rules.get(symbol, []):
                if all(want in (None, is_) for want, is_ in zip(wanted, seen)):
                    break
            else:
                raise UnknownRow(f"no row for {{symbol!r}} where {{seen}} is seen")
        for memory, (action, value) in zip(self.memories, acts):
            memory.act(action, value)
        return following


def run(text):
    """What comes after each symbol of a text, None where that is undetermined."""
    fine = Machine(FINE_MEMORIES, FINE_PLACES, FINE)
    machine = Machine(MEMORIES, PLACES, RULES)
    following = []
    for symbol in text{split}:
        if symbol not in VOCABULARY:
            raise ValueError(f"expected one of {{' '.join(VOCABULARY)}}, got {{symbol!r}}")
        fine.step(symbol)
        following.append(machine.step(symbol))
    return following


# Texts, and what comes after each of their symbols.
TESTS = {tests}
# What the memories of both tables are made with.
MEMORIES = {memories}
FINE_MEMORIES = {fine_memories}
FINE_PLACES = {fine_places}
FINE = {fine_rules}


def test():
    """Runs the texts."""
    for text, following in TESTS:
        said = run(text)
        assert said == following, f"{{text}}: expected {{following}}, got {{said}}"
    return len(TESTS)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        try:
            print({joint}.join("?" if each is None else each for each in run(sys.argv[1])))
        except (UnknownRow, ValueError) as error:
            sys.exit(str(error))
    else:
        print(f"{{test()}} texts as expected")
'''


def to_python(found, texts: list) -> str:
    """The program of an extraction; `texts` are what it tests itself on."""
    small, fine = found.machine, found.fine
    words = any(len(symbol) > 1 for symbol in small.vocabulary)
    classes = dict.fromkeys(kind.standalone()[0] for kind in fine.kinds)
    sources = (inspect.getsource(getattr(standalone, name)) for name in classes)
    return _TEMPLATE.format(
        name=found.name,
        statement=found.statement(),
        table=_indented(found.to_text()),
        vocabulary=_literal(list(small.vocabulary)),
        memories=_memories(small),
        places=_literal(list(small.places)),
        rules=_literal(
            [_rule(small, rule.token, rule.seen, rule.row) for rule in found.quotient.rules]
        ),
        sources="".join(f"\n\n{source}" for source in sources),
        split=".split()" if words else "",
        joint='" "' if words else '""',
        tests=_literal([(text, small.run(text)) for text in texts]),
        fine_memories=_memories(fine),
        fine_places=_literal(list(fine.places)),
        fine_rules=_literal(
            [_rule(fine, key.token, key.seen, row) for key, row in fine.rows.items()]
        ),
    )


def _memories(machine: Machine) -> str:
    made = (kind.standalone() for kind in machine.kinds)
    return "[" + ", ".join(f"({name}, {arguments!r})" for name, arguments in made) + "]"


def _rule(machine: Machine, token, seen, row):
    acts = tuple(zip(row.actions, row.writes, strict=True))
    following = None if row.prediction is None else machine.vocabulary[row.prediction]
    numbers = tuple(None if number is None else int(number) for number in seen)
    return machine.vocabulary[token], numbers, acts, following


def _literal(value) -> str:
    return pprint.pformat(value, width=100, compact=True, sort_dicts=False)


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())
