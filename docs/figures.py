"""Draws the pictures of docs/theory.md: `python docs/figures.py`."""

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("svg")
import matplotlib.pyplot as plt

FOLDER = Path(__file__).parent / "pictures"
EMPTY = -1.0
# Blue adds an element, orange takes one away: as in the traces.
BLUE, ORANGE, GREY, INK = "#0072b2", "#d55e00", "#d9d9d9", "#222222"
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "svg.fonttype": "path",
    "svg.hashsalt": "keras_stackrnn",
    "text.color": INK,
}


def pushed(stack: np.ndarray, value: float) -> np.ndarray:
    """A stack, top first, after a push."""
    return np.concatenate([[value], stack[:-1]])


def popped(stack: np.ndarray) -> np.ndarray:
    """A stack, top first, after a pop."""
    return np.concatenate([stack[1:], [EMPTY]])


def soft_push() -> plt.Figure:
    """One step: what each action would leave, and their mixture."""
    before = np.array([0.2, 0.8, 0.4, EMPTY, EMPTY])
    push, pop = pushed(before, 0.9), popped(before)
    columns = [
        ("before", before, GREY),
        ("PUSH 0.9", push, BLUE),
        ("POP", pop, ORANGE),
        ("0.7 PUSH + 0.3 POP", 0.7 * push + 0.3 * pop, INK),
    ]
    figure, axes = plt.subplots(figsize=(7.2, 2.9))
    for place, (title, stack, color) in enumerate(columns):
        left = 2.2 * place
        axes.text(left + 0.6, 0.35, title, ha="center", color=color if color != GREY else INK)
        for row, value in enumerate(stack):
            strength = (value - EMPTY) / 2
            box = plt.Rectangle((left, -row - 0.9), 1.2, 0.8, facecolor=color, edgecolor=INK)
            box.set_alpha(0.08 + 0.5 * strength)
            axes.add_patch(box)
            word = "-1" if value == EMPTY else f"{value:.2f}"
            axes.text(left + 0.6, -row - 0.5, word, ha="center", va="center")
    for place, sign in ((1, "→"), (2, "or"), (3, "→")):
        axes.text(2.2 * place - 0.5, -2.5, sign, ha="center", va="center")
    axes.text(-0.25, -0.5, "top", ha="right", va="center")
    axes.set(xlim=(-0.9, 8.0), ylim=(-5.1, 0.9))
    axes.axis("off")
    return figure


def comes_back(n: int, weight: float) -> float:
    """How much of the first of n elements is on top again after n pushes and n - 1 pops, when each
    action has a weight and the other one has the rest."""
    share = np.zeros(2 * n + 2)
    for step in range(2 * n - 1):
        push = weight if step < n else 1 - weight
        down = np.concatenate([[1.0 if step == 0 else 0.0], share[:-1]])
        up = np.concatenate([share[1:], [0.0]])
        share = push * down + (1 - push) * up
    return share[0]


def blur() -> plt.Figure:
    """The share of an element that comes back, by how long it was away."""
    figure, axes = plt.subplots(figsize=(7.2, 3.2))
    lengths = range(1, 61)
    for weight, color in ((1.0, INK), (0.99, BLUE), (0.97, "#009e73"), (0.9, ORANGE)):
        shares = [comes_back(n, weight) for n in lengths]
        axes.plot(lengths, shares, color=color)
        label = "1, or rounded" if weight == 1 else f"{weight:g}"
        axes.annotate(label, (60, shares[-1]), (4, 0), textcoords="offset points", va="center")
    axes.axvspan(1, 19, color=GREY, alpha=0.4, linewidth=0)
    axes.text(10, 0.04, "trained on", ha="center")
    axes.set(xlabel="n", ylabel="share that comes back", ylim=(0, 1.05), xlim=(1, 60))
    axes.spines[["top", "right"]].set_visible(False)
    figure.subplots_adjust(right=0.84, bottom=0.17)
    return figure


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with plt.rc_context(STYLE):
        for draw in (soft_push, blur):
            figure = draw()
            figure.savefig(FOLDER / f"{draw.__name__}.svg", metadata={"Date": None})
            plt.close(figure)


if __name__ == "__main__":
    main()
