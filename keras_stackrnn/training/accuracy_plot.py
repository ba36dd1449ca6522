"""The picture of a run: accuracy by n, soft and rounded, with the training range shaded."""

from pathlib import Path

from matplotlib.figure import Figure

# Two colours of Okabe and Ito's palette, which keep apart for every kind of colour vision.
_SOFT, _ROUNDED = "#0072B2", "#D55E00"


def draw(
    path: Path,
    title: str,
    training_range: tuple[int, int],
    soft: dict[int, float],
    rounded: dict[int, float] | None,
) -> None:
    """Draws accuracies, shares by n, as a PNG."""
    figure = Figure(figsize=(7, 3.6), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    smallest, largest = training_range
    axes.axvspan(smallest - 0.5, largest + 0.5, color="0.9", label="trained on")
    # Where both are the same, the thin dashes lie on the broad line.
    axes.plot(*_points(soft), color=_SOFT, linewidth=4, alpha=0.6, label="soft")
    if rounded is not None:
        axes.plot(*_points(rounded), color=_ROUNDED, linewidth=1.6, dashes=(4, 2), label="rounded")
    axes.set_xlabel("n")
    axes.set_ylabel("sequences all right")
    axes.set_xlim(min(soft) - 0.5, max(soft) + 0.5)
    axes.set_ylim(-0.03, 1.03)
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.set_title(title, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    figure.savefig(path, format="png")


def _points(per_n: dict[int, float]) -> tuple[list[int], list[float]]:
    return list(per_n), list(per_n.values())
