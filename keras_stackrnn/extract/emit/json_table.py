"""A machine as JSON: the rules, the fine table and the boxes that certify it."""

import json

from keras_stackrnn.extract.machine import Machine
from keras_stackrnn.extract.quotient import Rule
from keras_stackrnn.extract.wording import place_name


def to_json(found) -> str:
    """An extraction as JSON; `null` is what does not matter, is not written or not determined."""
    small, fine, certificate = found.machine, found.fine, found.certificate
    document = {
        "network": found.name,
        "statement": found.statement(),
        "certified": certificate.holds,
        "vocabulary": list(small.vocabulary),
        **_table(small, [_rule(small, rule) for rule in found.quotient.rules], "rules"),
        "fine": {
            **_table(
                fine,
                [_rule(fine, Rule(key.token, key.seen, row)) for key, row in fine.rows.items()],
                "rows",
            ),
            "boxes": [
                [[lo.tolist(), hi.tolist()] for lo, hi in zip(*each, strict=True)]
                for each in zip(certificate.low, certificate.high, strict=True)
            ],
        },
    }
    return json.dumps(document, indent=1) + "\n"


def _table(machine: Machine, rows: list[dict], name: str) -> dict:
    return {
        "memories": [
            {"name": name, "kind": kind.description(), "actions": list(kind.action_names)}
            for name, kind in zip(machine.memories, machine.kinds, strict=True)
        ],
        "places": [place_name(machine, place) for place in machine.places],
        "classes": [list(names) for names in machine.classes],
        name: rows,
    }


def _rule(machine: Machine, rule: Rule) -> dict:
    """Numbers of classes are places in `classes`, an empty slot is -1."""
    row = rule.row
    return {
        "symbol": machine.vocabulary[rule.token],
        "seen": [None if number is None else int(number) for number in rule.seen],
        "actions": list(row.actions),
        "writes": list(row.writes),
        "next": None if row.prediction is None else machine.vocabulary[row.prediction],
    }
