"""The picture of language models in training: perplexity by epoch."""

import math
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, StrMethodFormatter

# Okabe and Ito's palette, whose colours keep apart for every kind of colour vision.
_COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
# The first epochs would make all others flat.
_HIGHEST_SHOWN = 2.5


def draw(path: Path, title: str, curves: dict[str, list[float]]) -> None:
    """Draws perplexities after epoch 1, 2, … as a PNG, one line for each name."""
    figure = Figure(figsize=(7, 3.6), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    for (name, values), colour in zip(curves.items(), _COLOURS, strict=False):
        axes.plot(range(1, len(values) + 1), values, color=colour, label=name)
    axes.set_xlabel("epoch")
    axes.set_ylabel("perplexity")
    axes.set_yscale("log")
    finite = [value for values in curves.values() for value in values if math.isfinite(value)]
    if finite:
        axes.set_ylim(0.97 * min(finite), min(1.03 * max(finite), _HIGHEST_SHOWN * min(finite)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:.0f}"))
    axes.yaxis.set_minor_formatter(StrMethodFormatter("{x:.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_title(title, loc="left")
    axes.grid(alpha=0.3, which="both")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    figure.savefig(path, format="png")
