"""The memory map: one memory's elements by depth and time, filling and emptying."""

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from keras_stackrnn.memories.soft import EMPTY
from keras_stackrnn.trace.figures import style
from keras_stackrnn.trace.figures.action_map import short_number
from keras_stackrnn.trace.record import MemoryTrace, Trace
from keras_stackrnn.trace.wording import title_of

# Dark to light in grey print too, and the same to all eyes.
_COLORS = colormaps["cividis"]
_LARGEST_ROW, _TALLEST = 0.24, 4.5
_SMALLEST_ROW_WITH_TEXT = 0.13
_SMALLEST_CELL_WITH_EDGES = 0.04
# Slots that hold less than this of an element are left white.
_NOTHING = 0.02


def memory_map(trace: Trace, name: str) -> Figure:
    """Draws all elements of a memory after each symbol.

    A pile hangs from its top; what has two sides lies around its head. The colour is the element's
    value, as strong as the slot is full: soft actions leave slots half empty.

    Args:
        trace: The trace.
        name: The memory's name.
    """
    memory = trace.memory(name)
    contents, rows = _visible(memory)
    margin, edge, header = 0.95, 0.75, 0.4
    width = style.cell_width(len(trace.symbols), margin + edge)
    height = min(_LARGEST_ROW, _TALLEST / len(rows))
    top = header + style.symbols_height(trace.symbols, width) + 0.05
    page_width = max(margin + len(trace.symbols) * width + edge, 5.0)
    axes = style.sheet(page_width, top + max(len(rows) * height, 1.05) + 0.2)
    axes.text(0.12, 0.12, f"{name} of {title_of(trace)}", size=9, va="top", weight="bold")
    style.write_symbols(axes, margin, top - 0.05, trace.symbols, width)
    if min(width, height) < _SMALLEST_CELL_WITH_EDGES:
        _draw_image(axes, contents, margin, top, width, height)
    else:
        _draw_cells(axes, contents, margin, top, width, height)
    _draw_depths(axes, rows, memory.kind, top, height, margin)
    _draw_scale(axes, page_width - 0.5, top)
    return axes.figure


def _visible(memory: MemoryTrace) -> tuple[np.ndarray, np.ndarray]:
    """The contents without rows that stay empty, and the depth or place of the others."""
    contents = memory.contents
    head = memory.kind.head(contents.shape[1])
    filled = np.flatnonzero((contents - EMPTY >= _NOTHING).any(axis=0))
    first, last = min(filled.min(initial=head), head), filled.max(initial=head)
    return contents[:, first : last + 1], np.arange(first, last + 1) - head


def _draw_cells(axes, contents, x, y, width, height) -> None:
    for step, row in np.argwhere(contents - EMPTY >= _NOTHING):
        value, color = contents[step, row], _colors(contents[step, row])
        left, top = x + step * width, y + row * height
        style.fill(axes, left, top, width, height, color, linewidth=min(0.8, 4 * height))
        if height >= _SMALLEST_ROW_WITH_TEXT and width >= 0.2:
            text = {"size": 6.5, "ha": "center", "va": "center", "color": style.ink_on(color)}
            axes.text(left + width / 2, top + height / 2, short_number(value), **text)


def _draw_image(axes, contents, x, y, width, height) -> None:
    """All cells as the pixels of one image: there is no room for edges between them."""
    steps, rows = contents.shape
    extent = (x, x + steps * width, y + rows * height, y)
    look = {"interpolation": "nearest", "aspect": "auto", "zorder": 1}
    axes.imshow(_colors(contents.T), extent=extent, **look)


def _colors(values):
    """`[…, 3]`: the colours of elements on white paper, as strong as their slots are full."""
    fullness = np.clip(values - EMPTY, 0, 1)[..., None]
    return 1 - fullness * (1 - np.array(_COLORS(np.clip(values, 0, 1)))[..., :3])


def _draw_depths(axes, rows, kind, top, height, margin) -> None:
    every = max(1, int(np.ceil(0.16 / height)))
    steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    every = next((step for step in steps if step >= every), every)
    for place, row in enumerate(rows):
        if row % every == 0:
            name = kind.head_word if row == 0 else str(row)
            y = top + (place + 0.5) * height
            axes.text(margin - 0.08, y, name, size=7, ha="right", va="center", color=style.FAINT)
    middle = top + len(rows) * height / 2
    axes.text(
        margin - 0.55,
        max(middle, top + 0.25),
        kind.place_word,
        size=8,
        rotation=90,
        ha="center",
        va="center",
        color=style.FAINT,
    )


def _draw_scale(axes, x, top) -> None:
    for place in range(20):
        style.fill(
            axes, x, top + place * 0.04, 0.12, 0.042, _COLORS(1 - place / 19), edgecolor="none"
        )
    for value, y in (("1", top + 0.04), ("0", top + 0.78)):
        axes.text(x + 0.17, y, value, size=7, va="center", color=style.FAINT)
    axes.text(x + 0.06, top + 0.86, "value", size=7, ha="center", va="top", color=style.FAINT)
