"""A machine in words: its table, for reading."""

from keras_stackrnn.extract.machine import Machine
from keras_stackrnn.extract.quotient import Rule

ANY, UNDETERMINED = "any", "?"


def to_text(machine: Machine, rules: tuple[Rule, ...]) -> str:
    """Rules as a table: what is read and seen, what is done, what comes next."""
    seen = [place_name(machine, place) for place in machine.places]
    head = ["symbol", *seen, "->", *machine.memories, "next"]
    body = [
        [
            machine.vocabulary[rule.token],
            *seen_words(machine, rule),
            "->",
            *action_words(machine, rule),
            prediction_word(machine, rule),
        ]
        for rule in rules
    ]
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (head, *body)
    ]
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]]) + "\n"


def place_name(machine: Machine, place: tuple[int, int]) -> str:
    """As in `stack1[top]`, `stack1[1]` below it, `list1[-1]` left of the head."""
    memory, number = place
    kind = machine.kinds[memory]
    where = kind.places(number + 1)[number]
    word = kind.head_word if where == 0 else where
    return f"{machine.memories[memory]}[{word}]"


def seen_words(machine: Machine, rule: Rule) -> list[str]:
    """What a rule wants to see at each place."""
    return [
        ANY if number is None else machine.class_name(memory, number)
        for (memory, _), number in zip(machine.places, rule.seen, strict=True)
    ]


def action_words(machine: Machine, rule: Rule) -> list[str]:
    """What each memory does, as in `PUSH mark`."""
    return [
        action if number is None else f"{action} {machine.class_name(memory, number)}"
        for memory, (action, number) in enumerate(
            zip(rule.row.actions, rule.row.writes, strict=True)
        )
    ]


def prediction_word(machine: Machine, rule: Rule) -> str:
    """The symbol that comes next, or a question mark."""
    number = rule.row.prediction
    return UNDETERMINED if number is None else machine.vocabulary[number]
