"""The action map: memories by symbols, coloured by action, with the element on top written in."""

import textwrap
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from keras_stackrnn.memories.soft import EMPTY
from keras_stackrnn.trace.figures import style
from keras_stackrnn.trace.looks import looks_of
from keras_stackrnn.trace.record import MemoryTrace, Trace
from keras_stackrnn.trace.wording import (
    has_no_effect,
    idle_words,
    is_idle,
    number_text,
    place_of_head,
    title_of,
)

_NO_EFFECT = style.blended(style.GREY, 0.3)
_ROW, _MARGIN, _EDGE = 0.3, 0.95, 0.12
_GAP, _NOTE = 0.05, 0.17


def action_map(trace: Trace, fold: bool = True) -> Figure:
    """Draws what was done to each memory at each symbol.

    The colour is the most probable action's, as strong as it is probable; grey is what changes
    nothing. Signs say the same for print without colours.

    Args:
        trace: The trace.
        fold: Whether memories that do and show the same throughout become a line of words.
    """
    memories = trace.memories
    if fold:
        memories = [each for each in memories if not is_idle(each)] or trace.memories
    lines = style.lines_of(trace)
    width = style.cell_width(len(lines[0]), _MARGIN + _EDGE)
    above = style.symbols_height(trace.symbols, width) + _GAP
    below = style.symbols_height(trace.predictions, width) if any(trace.predictions) else 0.0
    line_height = above + len(memories) * _ROW + below + 0.22
    page_width = max(_MARGIN + len(lines[0]) * width + _EDGE, 6.2)
    notes = _notes(memories, [each for each in trace.memories if each not in memories], page_width)
    header, footer = 0.36, 0.36 + _NOTE * len(notes)
    axes = style.sheet(page_width, header + len(lines) * line_height + footer)
    axes.text(_EDGE, 0.12, title_of(trace), size=9, va="top", weight="bold", color=style.INK)
    y = header
    for steps in lines:
        _draw_line(axes, trace, memories, steps, y + above, width)
        if any(trace.predictions):
            _draw_predictions(axes, trace, steps, y + line_height - 0.2, width)
        y += line_height
    _draw_legend(axes, memories, y + 0.05)
    for place, line in enumerate(notes):
        axes.text(_MARGIN, y + 0.28 + _NOTE * place, line, size=7.5, va="top", color=style.FAINT)
    return axes.figure


def _draw_line(axes: Axes, trace: Trace, memories, steps: range, y: float, width: float) -> None:
    label = {"ha": "right", "size": 8, "color": style.FAINT}
    axes.text(_MARGIN - 0.1, y - _GAP, "reads", va="baseline", **label)
    for column, step in enumerate(steps):
        x = _MARGIN + (column + 0.5) * width
        was_predictable = step > 0 and trace.is_deterministic(step - 1)
        weight = "bold" if was_predictable else "normal"
        style.write_symbol(axes, x, y - _GAP, trace.symbols[step], width, weight=weight)
    signs = {}
    for row, memory in enumerate(memories):
        top = y + row * _ROW
        axes.text(_MARGIN - 0.1, top + _ROW / 2, memory.name, va="center", **label)
        for column, step in enumerate(steps):
            x = _MARGIN + column * width
            ink = _draw_cell(axes, memory, step, x, top, width)
            marker = looks_of(memory.kind)[memory.taken[step]].marker
            signs.setdefault((marker, ink), []).append((x + 0.06, top + 0.065))
    for (marker, ink), places in signs.items():
        axes.scatter(*zip(*places, strict=True), marker=marker, color=ink, s=10, linewidths=0.7)


def _draw_cell(axes: Axes, memory: MemoryTrace, step: int, x: float, y: float, width: float) -> str:
    """Draws a colour and a number, and returns the colour of ink that can be read on it."""
    action, weight = memory.taken[step], memory.weights[step].max()
    idle = has_no_effect(memory, step)
    color = _NO_EFFECT if idle else style.blended(looks_of(memory.kind)[action].color, weight)
    ink = style.FAINT if idle else style.ink_on(color)
    style.fill(axes, x, y, width, _ROW, color)
    element = {"s": short_number(memory.tops[step, 0]), "size": 7, "color": ink}
    axes.text(x + width / 2, y + _ROW - 0.065, **element, va="baseline", ha="center")
    return ink


def _draw_predictions(axes: Axes, trace: Trace, steps: range, y: float, width: float) -> None:
    label = {"ha": "right", "size": 8, "color": style.FAINT}
    says = "predicts" if trace.asked is None else "answers"
    axes.text(_MARGIN - 0.1, y, says, va="baseline", **label)
    for column, step in enumerate(steps):
        x = _MARGIN + (column + 0.5) * width
        known, wrong = trace.is_deterministic(step), trace.is_wrong(step)
        counts = known or trace.deterministic is None
        look = {"weight": "bold" if known else "normal"}
        look["color"] = style.RED if wrong and counts else style.INK if counts else style.GREY
        style.write_symbol(axes, x, y, trace.predictions[step], width, **look)
        if wrong and counts:
            axes.plot(x, y + 0.07, marker="x", markersize=4, color=style.RED)


def _draw_legend(axes: Axes, memories, y: float) -> None:
    entries, idle = {}, "no effect"
    for memory in memories:
        for action, look in looks_of(memory.kind).items():
            if memory.kind.role(action) == "stays":
                idle = f"{look.letter} {action}, no effect"
            else:
                entries[f"{look.letter} {action}"] = look.color
    entries[idle] = _NO_EFFECT
    x = _MARGIN
    for text, color in entries.items():
        style.fill(axes, x, y, 0.16, 0.14, color)
        axes.text(x + 0.21, y + 0.07, text, size=7.5, va="center", color=style.INK)
        x += 0.36 + style.text_width(text, 7.5)


def _notes(memories, idle: Sequence[MemoryTrace], page_width: float) -> list[str]:
    """What is to be said below the figure, in lines that fit."""
    where = " or ".join(dict.fromkeys(place_of_head(memory.kind) for memory in memories))
    empty = "∅ if empty"
    if any(_is_partly_empty(memory.tops[:, 0]).any() for memory in memories):
        empty += ", below 0 if partly so"
    notes = [f"The number is the element {where} afterwards, {empty}.", *idle_words(idle)]
    letters = int((page_width - _MARGIN - _EDGE) / style.text_width("n", 7.5))
    return [line for note in notes for line in textwrap.wrap(note, letters)]


def _is_partly_empty(tops: np.ndarray) -> np.ndarray:
    return (tops > EMPTY + 0.005) & (tops <= -0.005)


def short_number(value: float) -> str:
    """An element in three letters: .57, 1.0, ∅."""
    text = number_text(value)
    if text == "-1" or np.isnan(value):
        return "∅"
    return "1.0" if text == "1.00" else text.replace("0.", ".", 1)
