"""The probability map: what a model expects after each symbol, and what came."""

import numpy as np
from matplotlib.figure import Figure

from keras_stackrnn.trace.figures import style
from keras_stackrnn.trace.record import Trace
from keras_stackrnn.trace.wording import title_of

_MOST_SYMBOLS = 12
_ROW, _EDGE = 0.27, 0.12
_FRAMES = {
    "came": {"edgecolor": style.INK, "linewidth": 0.8, "zorder": 3},
    "came, as could be predicted": {"edgecolor": style.INK, "linewidth": 1.8, "zorder": 3},
    "came, and was not predicted": {"edgecolor": style.RED, "linewidth": 1.8, "zorder": 3},
}


def probability_map(trace: Trace) -> Figure:
    """Draws the probabilities of the next symbol after each symbol.

    The darker a cell, the more probable; the frame is around what really came, a bold one where
    that could be predicted. Of a large vocabulary, the symbols that matter most in this text are
    drawn.
    """
    if not any(trace.predictions):
        raise ValueError("The model predicts no symbol of this vocabulary: nothing to draw.")
    places = _places(trace)
    names = [style.shown(trace.vocabulary[place]) for place in places]
    margin = max(0.95, 0.3 + max(style.text_width(name, 8) for name in names))
    lines = style.lines_of(trace)
    width = style.cell_width(len(lines[0]), margin + _EDGE)
    above = style.symbols_height(trace.symbols, width) + 0.05
    line_height = above + len(places) * _ROW + 0.2
    page_width = max(margin + len(lines[0]) * width + _EDGE, 5.6)
    axes = style.sheet(page_width, 0.36 + len(lines) * line_height + 0.28)
    axes.text(_EDGE, 0.12, title_of(trace), size=9, va="top", weight="bold", color=style.INK)
    y = 0.36
    for steps in lines:
        _draw_line(axes, trace, places, names, steps, y + above, margin, width)
        y += line_height
    _draw_legend(axes, trace, margin, y + 0.02)
    return axes.figure


def _places(trace: Trace) -> list[int]:
    """The token ids to draw, in the vocabulary's order."""
    most = np.nanmax(trace.probabilities, axis=0)
    came = [symbol in trace.upcoming for symbol in trace.vocabulary]
    best = np.argsort(-(most + np.array(came)), kind="stable")[:_MOST_SYMBOLS]
    return sorted(best.tolist())


def _draw_line(axes, trace, places, names, steps, y, margin, width) -> None:
    label = {"ha": "right", "size": 8, "color": style.FAINT}
    axes.text(margin - 0.1, y - 0.05, "reads", va="baseline", **label)
    for row, name in enumerate(names):
        axes.text(margin - 0.1, y + (row + 0.5) * _ROW, name, va="center", **label)
    for column, step in enumerate(steps):
        x = margin + column * width
        style.write_symbol(axes, x + width / 2, y - 0.05, trace.symbols[step], width)
        for row, place in enumerate(places):
            _draw_cell(axes, trace, step, place, x, y + row * _ROW, width)


def _draw_cell(axes, trace, step, place, x, y, width) -> None:
    probability = trace.probabilities[step, place]
    if np.isnan(probability):
        return
    color = style.blended(style.BLUE, 0.04 + 0.96 * float(probability))
    style.fill(axes, x, y, width, _ROW, color)
    text = {"size": 6.5, "ha": "center", "va": "center", "color": style.ink_on(color)}
    axes.text(x + width / 2, y + _ROW / 2, f"{100 * probability:.0f}", **text)
    if trace.vocabulary[place] == trace.upcoming[step]:
        frame = _frame(trace, step)
        style.fill(axes, x + 0.02, y + 0.02, width - 0.04, _ROW - 0.04, "none", **_FRAMES[frame])


def _frame(trace: Trace, step: int) -> str:
    """What is to be said of the symbol that came."""
    if trace.deterministic is not None and not trace.is_deterministic(step):
        return "came"
    if trace.is_wrong(step):
        return "came, and was not predicted"
    return "came" if trace.deterministic is None else "came, as could be predicted"


def _draw_legend(axes, trace, x, y) -> None:
    there = {_frame(trace, step) for step in range(len(trace.symbols)) if trace.upcoming[step]}
    for words, frame in _FRAMES.items():
        if words in there:
            style.fill(axes, x, y, 0.2, 0.14, "none", **frame)
            axes.text(x + 0.27, y + 0.07, words, size=7.5, va="center", color=style.INK)
            x += 0.4 + style.text_width(words, 7.5)
    text = "number: probability in %"
    axes.text(x + 0.05, y + 0.07, text, size=7.5, va="center", color=style.FAINT)
