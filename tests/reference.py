"""Slow, obvious memories of Python lists and floats, written in words, and a cell that uses them.

A row is a tuple of numbers: an element, and behind it a queue's mark. Nothing here comes from the
package: every executor of every kind is compared with this.
"""

import math
from collections.abc import Sequence

EMPTY = -1.0

Row = tuple[float, ...]


class Zipper:
    """The element under the head, what is left of it and what is right of it, nearest last."""

    def __init__(self, left: list[Row], head: Row, right: list[Row]):
        self.left, self.head, self.right = list(left), head, list(right)
        self.nothing = (EMPTY,) * len(head)

    def push(self, value):
        self.left.append(self.head)
        self.head = value

    insert = push

    def pop(self, value):
        self.head = self.left.pop() if self.left else self.nothing

    delete = pop

    def go_left(self, value):
        self.right.append(self.head)
        self.head = self.left.pop() if self.left else self.nothing

    def go_right(self, value):
        self.left.append(self.head)
        self.head = self.right.pop() if self.right else self.nothing

    def write(self, value):
        self.head = value

    def write_left(self, value):
        self.head = value
        self.go_left(value)

    def write_right(self, value):
        self.head = value
        self.go_right(value)

    def duplicate(self, value):
        self.left.append(self.head)

    def no_op(self, value):
        pass


DO = {
    "PUSH": Zipper.push,
    "POP": Zipper.pop,
    "INSERT": Zipper.insert,
    "DELETE": Zipper.delete,
    "LEFT": Zipper.go_left,
    "RIGHT": Zipper.go_right,
    "WRITE": Zipper.write,
    "WRITE-LEFT": Zipper.write_left,
    "WRITE-RIGHT": Zipper.write_right,
    "DUPLICATE": Zipper.duplicate,
    "NO-OP": Zipper.no_op,
}
TWO_SIDED = ("list", "tape", "editor")


def places(kind: str, rows: int, read_depth: int) -> list[int]:
    """Which rows are read, in order."""
    if kind not in TWO_SIDED:
        return list(range(read_depth))
    head = rows // 2
    return sorted(range(rows), key=lambda row: (abs(row - head), row))[:read_depth]


def step(kind: str, rows: list[Row], actions: dict[str, float], value: Row) -> list[Row]:
    """The rows after a mixture of actions."""
    if kind == "queue":
        return _queue_step(rows, actions, value)
    outcomes = [(weight, _done(kind, rows, name, value)) for name, weight in actions.items()]
    return _mixture(outcomes, len(rows))


def lost(kind: str, rows: list[Row], actions: dict[str, float]) -> float:
    """How many elements a mixture of actions takes past an end."""
    first, last = (min(row[0] - EMPTY, 1) for row in (rows[0], rows[-1]))
    if kind == "queue":
        return actions.get("ENQUEUE", 0.0) * (rows[-1][-1] - EMPTY)
    past_end = {
        "PUSH": last,
        "DUPLICATE": last,
        "INSERT": first,
        "LEFT": last,
        "WRITE-LEFT": last,
        "RIGHT": first,
        "WRITE-RIGHT": first,
    }
    return sum(weight * past_end.get(name, 0.0) for name, weight in actions.items())


def _done(kind, rows, name, value):
    """The rows after one action, taken wholly."""
    head = len(rows) // 2 if kind in TWO_SIDED else 0
    if kind in TWO_SIDED:
        zipper = Zipper(rows[:head], rows[head], rows[:head:-1])
    else:
        zipper = Zipper(rows[:0:-1], rows[0], [])
    DO[name](zipper, value)
    below = zipper.right if kind in TWO_SIDED else zipper.left
    room = len(rows) - 1 - head
    below = ([zipper.nothing] * room + below)[len(below) :][::-1]
    if kind not in TWO_SIDED:
        return [zipper.head, *below]
    above = ([zipper.nothing] * head + zipper.left)[len(zipper.left) :]
    return [*above, zipper.head, *below]


def _queue_step(rows, actions, value):
    """With probability p[n] there are n elements; marks say so: mark[r] = P(n > r) - 1."""
    longer = [1.0] + [row[-1] + 1 for row in rows]
    lengths = [longer[n] - longer[n + 1] for n in range(len(rows))]
    enqueued = [
        (*((1 - p) * old + p * new for old, new in zip(row[:-1], value, strict=True)), more - 1)
        for row, p, more in zip(rows, lengths, longer, strict=False)
    ]
    dequeued = [*rows[1:], (EMPTY,) * len(rows[0])]
    outcomes = {"ENQUEUE": enqueued, "DEQUEUE": dequeued, "NO-OP": rows}
    return _mixture([(weight, outcomes[name]) for name, weight in actions.items()], len(rows))


def _mixture(outcomes, count):
    return [
        tuple(
            sum(weight * rows[r][i] for weight, rows in outcomes)
            for i in range(len(outcomes[0][1][r]))
        )
        for r in range(count)
    ]


def run(cell, weights: dict[str, list], sequence: Sequence[Sequence[float]], rows: int):
    """Runs a cell's weights over one sequence, from empty memories of so many rows.

    Returns:
        The hidden units after every step; the memories in the end, a list of rows each; and how
        many elements were lost.
    """
    memories, size, kind = cell.num_memories, cell.element_size, cell.kind.name
    marks = 1 if kind == "queue" else 0
    slots = [[(EMPTY,) * (size + marks)] * rows for _ in range(memories)]
    hidden, outputs, missing = [0.0] * cell.units, [], 0.0
    for inputs in sequence:
        read = [
            slots[m][row][number]
            for row in places(kind, rows, cell.read_depth)
            for number in range(size)
            for m in range(memories)
        ]
        before = _plus(_times(inputs, weights["kernel"]), _times(read, weights["memory_kernel"]))
        if cell.use_recurrent_kernel:
            before = _plus(before, _times(hidden, weights["recurrent_kernel"]))
        if cell.use_bias:
            before = _plus(before, weights["bias"])
        hidden = [_sigmoid(x) for x in before]
        logits = _times(hidden, weights["action_kernel"])
        written = _times(hidden, weights[f"{cell.WRITE}_kernel"])
        if cell.use_bias:
            logits = _plus(logits, weights["action_bias"])
            written = _plus(written, weights[f"{cell.WRITE}_bias"])
        for m in range(memories):
            chosen = _softmax(logits[m::memories])
            if cell.rounding:
                chosen = [float(i == chosen.index(max(chosen))) for i in range(len(chosen))]
            actions = dict(zip(cell.actions, chosen, strict=True))
            value = tuple(_sigmoid(x) for x in written[m::memories])
            missing += lost(kind, slots[m], actions)
            slots[m] = step(kind, slots[m], actions, value)
        outputs.append(hidden)
    return outputs, slots, missing


def _times(row, matrix):
    return [sum(x * line[j] for x, line in zip(row, matrix, strict=True)) for j in _columns(matrix)]


def _columns(matrix):
    return range(len(matrix[0]))


def _plus(*rows):
    return [sum(column) for column in zip(*rows, strict=True)]


def _softmax(logits):
    powers = [math.exp(logit - max(logits)) for logit in logits]
    return [power / sum(powers) for power in powers]


def _sigmoid(x):
    return 1 / (1 + math.exp(-x))
