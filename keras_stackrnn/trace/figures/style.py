"""What all figures share: colours, sizes, paper to draw on, and files with the same bytes."""

import io
import itertools
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from keras_stackrnn.trace.record import Trace
from keras_stackrnn.trace.wording import symbol_text

FORMATS = ("png", "svg")
DPI = 150
WIDTH = 9.0  # inches
# Of Okabe and Ito's palette, which keeps apart for every kind of colour vision.
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PINK, SKY, GREY = "#CC79A7", "#56B4E9", "#999999"
INK, FAINT = "0.1", "0.4"

# More symbols than this are broken into lines, as text is.
_SYMBOLS_A_LINE = 32
_LARGEST_CELL = 0.5  # inches
# What a point is in inches, and how wide a letter of a font is against its size.
_POINT, _LETTER = 1 / 72, 0.62
_SYMBOL_SIZE = 9
_SMALLEST_LETTER = 0.05  # inches
_METADATA = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}


def save(figure: Figure, path: str | os.PathLike) -> None:
    """Writes a figure as its file's suffix says; the same figure gives the same bytes."""
    suffix = Path(path).suffix.removeprefix(".").lower()
    if suffix not in FORMATS:
        raise ValueError(
            f"Cannot draw {os.fspath(path)!r}: expected a file that ends in "
            f"{' or '.join(f'.{each}' for each in FORMATS)}."
        )
    with matplotlib.rc_context({"svg.hashsalt": "keras_stackrnn"}):
        figure.savefig(path, format=suffix, metadata=_METADATA[suffix])


def to_png(figure: Figure) -> bytes:
    """A figure as the bytes of a PNG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata=_METADATA["png"])
    return buffer.getvalue()


def sheet(width: float, height: float) -> Axes:
    """A figure's whole area to draw on, in inches from its top left corner."""
    axes = Figure(figsize=(width, height), dpi=DPI).add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    return axes


def lines_of(trace: Trace) -> list[range]:
    """The steps of a trace, broken into lines of about the same length."""
    steps = len(trace.symbols)
    lines = -(-steps // _SYMBOLS_A_LINE)
    length = -(-steps // lines)
    return [range(start, min(start + length, steps)) for start in range(0, steps, length)]


def cell_width(columns: int, margin: float) -> float:
    """How wide the cells of a line are, in inches, for a figure of the usual width."""
    return min(_LARGEST_CELL, (WIDTH - margin) / columns)


def text_width(text: str, size: float) -> float:
    """About how wide a text is, in inches."""
    return len(text) * size * _POINT * _LETTER


def fill(axes: Axes, x: float, y: float, width: float, height: float, color, **style) -> None:
    """A rectangle with a thin white edge, which sets it apart from the next one."""
    style = {"edgecolor": "white", "linewidth": 0.8, **style}
    # Not `add_patch`, which spends most of its time on the limits of the axes.
    axes.add_artist(Rectangle((x, y), width, height, facecolor=color, **style))


def blended(color, strength: float) -> tuple[float, float, float]:
    """A colour on white paper, as strong as said."""
    return tuple(1 - strength * (1 - channel) for channel in to_rgb(color))


def ink_on(color) -> str:
    """Black or white, whichever can be read on a colour."""
    red, green, blue = to_rgb(color)
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.55 else INK


def shown(symbol: str | None) -> str:
    """A symbol as a figure's text, in which a dollar sign is no formula."""
    return symbol_text(symbol).replace("$", r"\$")


def write_symbol(axes: Axes, x: float, y: float, symbol: str | None, width: float, **style) -> None:
    """A symbol centred on x and above y; a word that is wider than its cell is set at a slant."""
    text = shown(symbol)
    style = {"ha": "center", "va": "baseline", "size": _SYMBOL_SIZE, "color": INK, **style}
    if _is_slanted(text, width):
        style |= {"rotation": 60, "ha": "left", "rotation_mode": "anchor"}
    # Letters that would run into each other become smaller.
    style["size"] = min(style["size"], width / _POINT)
    axes.text(x, y, text, **style)


def write_symbols(
    axes: Axes, x: float, y: float, symbols: Sequence[str | None], width: float
) -> None:
    """Symbols in their cells from x on, above y; where cells are too small, runs of the same."""
    if width >= _SMALLEST_LETTER:
        for place, symbol in enumerate(symbols):
            write_symbol(axes, x + (place + 0.5) * width, y, symbol, width)
        return
    for symbol, run in itertools.groupby(symbols):
        length = len(list(run))
        text, size = f"{shown(symbol)} \N{MULTIPLICATION SIGN} {length}", 8
        if text_width(text, size) < length * width:
            axes.text(x + length * width / 2, y, text, size=size, ha="center", color=INK)
        x += length * width


def symbols_height(symbols: Iterable[str | None], width: float) -> float:
    """How much room a row of symbols needs above its line, in inches."""
    texts = {shown(symbol) for symbol in symbols}
    slanted = [text_width(text, _SYMBOL_SIZE) for text in texts if _is_slanted(text, width)]
    return 0.18 + 0.87 * max(slanted, default=0.0)


def _is_slanted(text: str, width: float) -> bool:
    return len(text) > 1 and text_width(text, _SYMBOL_SIZE) > width
