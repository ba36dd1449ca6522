"""A trace as a table for a terminal: the paper's columns, a row for each symbol."""

import dataclasses
import functools
import unicodedata
from collections.abc import Iterator, Sequence

from keras_stackrnn.trace.looks import looks_of
from keras_stackrnn.trace.record import MemoryTrace, StateTrace, Trace
from keras_stackrnn.trace.wording import (
    has_no_effect,
    idle_words,
    is_idle,
    number_text,
    symbol_text,
    title_of,
    top_word,
)

# An action below this weight is one among others, and written in lower case.
CERTAIN = 0.9

_GAP = "  "
_NORMAL, _BOLD, _DIM, _RED = "0", "1", "2", "31"
# Shorter words for the columns, where signs take the place of actions.
_SHORT = {"current": "read", "prediction": "pred."}


@dataclasses.dataclass(frozen=True)
class _Cell:
    text: str
    style: str = _NORMAL


@dataclasses.dataclass(frozen=True)
class _Column:
    header: str
    cells: list[_Cell]

    @functools.cached_property
    def width(self) -> int:
        return max(map(display_width, [self.header, *(cell.text for cell in self.cells)]))


def table_of(trace: Trace, width: int | None = None, colors: bool = False) -> str:
    """The table, with what it is about above it, and what is not in it below.

    Memories that are shown by one action and one element throughout are folded into one line. If
    it does not fit into `width`, words become shorter and actions signs; if it still does not,
    memories are shown some at a time.
    """
    moving = [memory for memory in trace.memories if not is_idle(memory)]
    first = [*_symbol_columns(trace, colors), *_state_columns(trace)]
    whole = [*first, *_memory_columns(moving)]
    signs = bool(moving) and width is not None and _table_width(whole) > width
    blocks = _fitting_blocks(first, _sign_columns(moving), width) if signs else [whole]
    lines = [title_of(trace), ""]
    for block in blocks:
        lines += [*_lines(block, colors), ""]
    lines += _closing_lines(trace, moving, signs)
    return "\n".join(lines) + "\n"


def display_width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    combining = sum(unicodedata.combining(character) > 0 for character in text)
    return len(text) + wide - combining


def _symbol_columns(trace: Trace, colors: bool) -> list[_Column]:
    current, upcoming, prediction, probability = [], [], [], []
    for step, symbol in enumerate(trace.symbols):
        is_known = trace.is_deterministic(step)
        style = _BOLD if is_known else _NORMAL
        current.append(_Cell(symbol_text(symbol)))
        upcoming.append(_Cell(_marked(trace.upcoming[step], is_known, colors), style))
        text = _marked(trace.predictions[step], is_known, colors)
        if trace.is_wrong(step):
            text += " x"
            # What nobody can predict is not held against the model.
            style = _DIM if trace.deterministic is not None and not is_known else f"{_BOLD};{_RED}"
        prediction.append(_Cell(text, style))
        probability.append(_Cell(number_text(trace.next_probabilities[step])))
    if trace.asked is not None:
        certain = [_Cell(number_text(row.max())) for row in trace.probabilities]
        answer = [dataclasses.replace(cell, style=_BOLD) for cell in prediction]
        return [
            _Column("current", current),
            _Column("answer", answer),
            _Column("p(answer)", certain),
        ]
    columns = [_Column("current", current), _Column("next", upcoming)]
    if any(trace.predictions):
        columns += [_Column("prediction", prediction), _Column("p(next)", probability)]
    return columns


def _state_columns(trace: Trace) -> list[_Column]:
    return [
        _Column(states.name, [_Cell(_state_text(states, t)) for t in range(len(trace.symbols))])
        for states in trace.states
    ]


def _state_text(states: StateTrace, step: int) -> str:
    is_certain = states.probabilities[step].max() >= CERTAIN
    return f"{states.taken[step]}" if is_certain else f"{states.taken[step]}?"


def _marked(symbol: str | None, is_known: bool, colors: bool) -> str:
    text = symbol_text(symbol)
    return f"[{text}]" if text and is_known and not colors else text


def _fitting_blocks(
    first: Sequence[_Column], columns: Sequence[_Column], width: int
) -> list[list[_Column]]:
    """The memories' columns, as many at a time as fit beside the first ones."""
    first = [_Column(_SHORT.get(column.header, column.header), column.cells) for column in first]
    blocks = [first]
    for column in columns:
        if len(blocks[-1]) > len(first) and _table_width([*blocks[-1], column]) > width:
            blocks.append(first)
        blocks[-1] = [*blocks[-1], column]
    return blocks


def _memory_columns(memories: Sequence[MemoryTrace]) -> list[_Column]:
    actions = [
        _Column(
            memory.name, [_Cell(_action_text(memory, t), style) for t, style in _styles(memory)]
        )
        for memory in memories
    ]
    tops = [
        _Column(
            f"{memory.name}[{top_word(memory)}]",
            [_Cell(number_text(top)) for top in memory.tops[:, 0]],
        )
        for memory in memories
    ]
    return actions + tops


def _sign_columns(memories: Sequence[MemoryTrace]) -> list[_Column]:
    return [
        _Column(
            memory.name,
            [_Cell(_sign_text(memory, t), style) for t, style in _styles(memory)],
        )
        for memory in memories
    ]


def _sign_text(memory: MemoryTrace, step: int) -> str:
    sign = looks_of(memory.kind)[memory.taken[step]].sign
    return f"{sign} {number_text(memory.tops[step, 0]):>5}"


def _action_text(memory: MemoryTrace, step: int) -> str:
    action = memory.taken[step]
    return action if memory.weights[step].max() >= CERTAIN else action.lower()


def _styles(memory: MemoryTrace) -> Iterator[tuple[int, str]]:
    for step, action in enumerate(memory.taken):
        look = looks_of(memory.kind)[action]
        style = _DIM if has_no_effect(memory, step) else look.style
        yield step, style


def _table_width(columns: Sequence[_Column]) -> int:
    return sum(column.width for column in columns) + len(_GAP) * (len(columns) - 1)


def _lines(columns: Sequence[_Column], colors: bool) -> list[str]:
    header = _GAP.join(_padded(column.header, column.width) for column in columns)
    lines = [header.rstrip(), "-" * _table_width(columns)]
    for cells in zip(*(column.cells for column in columns), strict=True):
        texts = []
        for cell, column in zip(cells, columns, strict=True):
            text = _padded(cell.text, column.width)
            if colors and cell.style != _NORMAL:
                text = f"\x1b[{cell.style}m{text}\x1b[0m"
            texts.append(text)
        lines.append(_GAP.join(texts).rstrip())
    return lines


def _padded(text: str, width: int) -> str:
    return text + " " * (width - display_width(text))


def _closing_lines(trace: Trace, moving: Sequence[MemoryTrace], signs: bool) -> list[str]:
    lines = idle_words(trace.memories)
    if signs:
        looks = {
            action: look for memory in moving for action, look in looks_of(memory.kind).items()
        }
        meanings = ", ".join(f"{look.sign} {action}" for action, look in looks.items())
        heads = " or ".join(dict.fromkeys(top_word(memory) for memory in moving))
        lines.append(f"Signs: {meanings}; numbers: the {heads}.")
    elif any((memory.weights.max(axis=1) < CERTAIN).any() for memory in moving):
        lines.append(f"An action in lower case has a weight below {CERTAIN}.")
    if any((states.probabilities.max(axis=1) < CERTAIN).any() for states in trace.states):
        lines.append(f"A state with a question mark has a probability below {CERTAIN}.")
    lines += [
        f"{memory.name} lost {memory.lost:.1f} elements past its capacity of {memory.capacity}."
        for memory in trace.memories
        if memory.lost >= 0.05
    ]
    if trace.asked is not None:
        lines.append(f"Answer: {' '.join(map(symbol_text, trace.answers))}")
    if trace.deterministic is not None and any(trace.predictions):
        known = [step for step in range(len(trace.symbols)) if trace.deterministic[step]]
        right = sum(not trace.is_wrong(step) for step in known)
        if known:
            lines.append(f"{right} of {len(known)} predictable symbols right.")
    return lines
