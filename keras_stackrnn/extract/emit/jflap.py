"""A machine with one stack as a pushdown automaton for JFLAP.

Its states are what comes next: a text is read as long as every prediction comes true, and accepted
where a sequence may end. On the stack, Z is the bottom and each class is a letter.
"""

from xml.etree import ElementTree

from keras_stackrnn.memories.soft import EMPTY

_BOTTOM = "Z"


def to_jflap(found) -> str:
    """The automaton of an extraction whose small machine has one stack."""
    machine = found.machine
    if len(machine.memories) != 1 or not machine.kinds[0].head_is_on_pile:
        raise ValueError(
            "JFLAP's pushdown automata have one stack: expected a machine with just one stack, got "
            f"one with {', '.join(machine.memories) or 'no memory'}."
        )
    if any(len(symbol) > 1 for symbol in machine.vocabulary):
        raise ValueError("JFLAP's symbols are characters, and those of this machine are words.")
    states = [None, *sorted({row.prediction for row in machine.rows.values()} - {None})]
    root = ElementTree.Element("structure")
    root.append(ElementTree.Comment(" ".join(found.statement().replace("--", "- -").split())))
    ElementTree.SubElement(root, "type").text = "pda"
    automaton = ElementTree.SubElement(root, "automaton")
    final = {
        machine.rows[found.quotient.project(found.fine, key)].prediction for key in found.table.ends
    }
    for number, prediction in enumerate(states):
        name = "any" if prediction is None else f"then {machine.vocabulary[prediction]}"
        state = ElementTree.SubElement(automaton, "state", id=str(number), name=name)
        ElementTree.SubElement(state, "x").text = str(100.0 + 160 * number)
        ElementTree.SubElement(state, "y").text = str(100.0 + 80 * (number % 2))
        if prediction is None:
            ElementTree.SubElement(state, "initial")
        if prediction in final:
            ElementTree.SubElement(state, "final")
    for (token, popped, pushed), row in _moves(found).items():
        for number, prediction in enumerate(states):
            if prediction in (None, token):
                transition = ElementTree.SubElement(automaton, "transition")
                for tag, text in (
                    ("from", str(number)),
                    ("to", str(states.index(row.prediction))),
                    ("read", machine.vocabulary[token]),
                    ("pop", popped),
                    ("push", pushed),
                ):
                    ElementTree.SubElement(transition, tag).text = text
    ElementTree.indent(root)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        + ElementTree.tostring(root, encoding="unicode")
        + "\n"
    )


def _moves(found):
    """What is read, popped and pushed, and the row that says so, wherever the fine table goes."""
    machine, fine = found.machine, found.fine
    [kept], [merged] = found.quotient.kept, found.quotient.merged
    moves = {}
    for key in fine.rows:
        row = machine.rows[found.quotient.project(fine, key)]
        seen = (number for (of, _), number in zip(fine.places, key.seen, strict=True) if of == kept)
        popped = "".join(_BOTTOM if each == EMPTY else _letter(merged[each]) for each in seen)
        # One Z is the bottom; below it there is nothing to pop.
        popped = popped.rstrip(_BOTTOM) + (_BOTTOM if popped.endswith(_BOTTOM) else "")
        match machine.kinds[0].role(row.actions[0]):
            case "adds":
                pushed = _letter(row.writes[0]) + popped
            case "takes":
                pushed = popped if popped == _BOTTOM else popped[1:]
            case _:
                pushed = popped
        moves[key.token, popped, pushed] = row
    return moves


def _letter(number: int) -> str:
    letters = "MNOPQRSTUVWXYABCDEFGHIJKL"
    return letters[number] if number < len(letters) else chr(ord("\u4e00") + number)
