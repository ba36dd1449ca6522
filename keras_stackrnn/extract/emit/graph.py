"""A machine as a graph: its rules, and which of them was seen to follow which."""

import html
from typing import NamedTuple

from keras_stackrnn.extract import wording


class _Node(NamedTuple):
    title: str
    lines: tuple[str, ...]


def _graph(found):
    """The rules as nodes, those that texts begin with, and the edges."""
    machine, quotient = found.machine, found.quotient
    nodes = []
    for rule in quotient.rules:
        names = (wording.place_name(machine, place) for place in machine.places)
        seen = zip(names, wording.seen_words(machine, rule), strict=True)
        acts = zip(machine.memories, wording.action_words(machine, rule), strict=True)
        nodes.append(
            _Node(
                f"read {machine.vocabulary[rule.token]}",
                (
                    *(f"{name} is {word}" for name, word in seen if word != wording.ANY),
                    *(f"{name}: {word}" for name, word in acts),
                    f"then {wording.prediction_word(machine, rule)}",
                ),
            )
        )

    def number(key):
        return quotient.rule_of(quotient.project(found.fine, key))

    edges = dict.fromkeys((number(a), number(b)) for a, b in found.table.follows)
    first = dict.fromkeys(map(number, found.table.starts))
    return nodes, list(first), list(edges)


def to_graphviz(found) -> str:
    """An extraction in Graphviz' language."""
    nodes, first, edges = _graph(found)
    lines = [
        "digraph program {",
        "  rankdir=LR;",
        '  node [shape=box, style=rounded, fontname="Helvetica", fontsize=11];',
        '  start [shape=point, label=""];',
    ]
    for number, node in enumerate(nodes):
        label = "\\n".join(_escaped(line) for line in (node.title, *node.lines))
        lines.append(f'  rule{number + 1} [label="{label}"];')
    lines += [f"  start -> rule{number + 1};" for number in first]
    lines += [f"  rule{one + 1} -> rule{other + 1};" for one, other in edges]
    return "\n".join([*lines, "}"]) + "\n"


def _escaped(text):
    return text.replace("\\", "\\\\").replace('"', '\\"')


_LINE, _PAD, _GAP_X, _GAP_Y, _CHARACTER = 16, 10, 90, 50, 6.6


def to_svg(found) -> str:
    """An extraction as a picture: a column for each symbol, in the order in which they are read."""
    nodes, first, edges = _graph(found)
    order = list(dict.fromkeys(found.quotient.rules[number].token for number in first))
    tokens = [rule.token for rule in found.quotient.rules]
    for one, other in edges:
        order += [tokens[each] for each in (one, other) if tokens[each] not in order]
    order += [token for token in dict.fromkeys(tokens) if token not in order]
    boxes, x, bottom = {}, 60.0, 0.0
    for token in order:
        column = [number for number, each in enumerate(tokens) if each == token]
        width = max(_width(nodes[number]) for number in column)
        y = 60.0
        for number in column:
            height = _LINE * (1 + len(nodes[number].lines)) + 2 * _PAD
            boxes[number] = (x, y, width, height)
            y += height + _GAP_Y
        bottom = max(bottom, y)
        x += width + _GAP_X
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {x - _GAP_X + 60:.0f} {bottom:.0f}" '
        'font-family="Helvetica, Arial, sans-serif" font-size="12">',
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for number in first:
        left, top, _, height = boxes[number]
        parts.append(_path(f"M{left - 40:.0f},{top + height / 2:.0f} H{left:.0f}"))
    parts += [_path(_edge(boxes[one], boxes[other], one == other)) for one, other in edges]
    for number, node in enumerate(nodes):
        left, top, width, height = boxes[number]
        parts.append(
            f'<rect x="{left:.0f}" y="{top:.0f}" width="{width:.0f}" height="{height:.0f}" rx="6" '
            'fill="#f4f7fb" stroke="#4477aa"/>'
        )
        for line, text in enumerate((node.title, *node.lines)):
            weight = ' font-weight="bold"' if line == 0 else ""
            y = top + _PAD + _LINE * (line + 0.75)
            parts.append(
                f'<text x="{left + _PAD:.0f}" y="{y:.0f}"{weight}>{html.escape(text)}</text>'
            )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _width(node):
    return max(map(len, (node.title, *node.lines))) * _CHARACTER + 2 * _PAD


def _path(line):
    return f'<path d="{line}" fill="none" stroke="#555" marker-end="url(#arrow)"/>'


def _edge(one, other, to_itself):
    """A curve from one box to another: between columns sideways, within one along its side."""
    left, top, width, height = one
    to_left, to_top, to_width, to_height = other
    if to_itself:
        x = left + width * 0.7
        return _curve((x, top), (x, top - 34), (x - 44, top - 34), (x - 44, top))
    if to_left == left:
        down = to_top > top
        x, y = left + width, top + height * (0.75 if down else 0.25)
        to_y = to_top + to_height * (0.25 if down else 0.75)
        out = x + 24 + 0.12 * abs(to_y - y)
        return _curve((x, y), (out, y), (out, to_y), (x, to_y))
    if to_left > left:
        x, y, to_x, to_y = left + width, top + height * 0.4, to_left, to_top + to_height * 0.4
    else:
        x, y, to_x = left, top + height * 0.75, to_left + to_width
        to_y = to_top + to_height * 0.75
    middle = (x + to_x) / 2
    return _curve((x, y), (middle, y), (middle, to_y), (to_x, to_y))


def _curve(start, *points):
    places = " ".join(f"{x:.0f},{y:.0f}" for x, y in points)
    return f"M{start[0]:.0f},{start[1]:.0f} C{places}"
