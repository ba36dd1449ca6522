"""Figures of training runs: accuracy by n, and how many restarts succeed."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from keras_stackrnn import tasks
from keras_stackrnn.trace.figures import style

_LABELS = {"sequences": "sequences all right", "symbols": "symbols right"}
EVALUATION, CONFIG = "evaluation.json", "config.json"
_LINES = (style.BLUE, style.RED, style.GREEN, style.PINK, style.ORANGE, style.SKY, "black")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
# How a restart may have ended, best first; dark to light, for print without colours.
_OUTCOMES = {
    "solved": ("solved", style.BLUE),
    "failed in a row": ("right alone, not in a row", style.blended(style.BLUE, 0.75)),
    "failed the exam": ("right, but not sure enough", style.blended(style.BLUE, 0.5)),
    "not solved": ("not solved", style.ORANGE),
    "learned by heart": ("learned by heart", style.blended(style.ORANGE, 0.85)),
    "taken over": ("made room for an heir", style.blended(style.ORANGE, 0.7)),
    "hopeless": ("given up early", style.blended(style.ORANGE, 0.45)),
    "diverged": ("diverged", style.blended(style.ORANGE, 0.25)),
    "alive": ("unfinished when the search ended", style.blended(style.GREY, 0.3)),
}


def accuracy_by_n(
    series: Mapping[str, Mapping[int, float]],
    title: str = "",
    training_range: tuple[int, int] | None = None,
    score: str = "sequences",
) -> Figure:
    """Draws the share of sequences that are right, or another score, for every n.

    Args:
        series: For each name, shares by n.
        title: The title.
        training_range: The smallest and the largest n of training, which is shaded if it is
            in the picture.
        score: What the shares are of, as in `evaluation.json`.
    """
    figure = Figure(figsize=(7, 3.6), dpi=style.DPI, layout="constrained")
    axes = figure.add_subplot()
    every = [n for shares in series.values() for n in shares]
    if training_range is not None and training_range[1] >= min(every):
        smallest, largest = training_range
        axes.axvspan(smallest - 0.5, largest + 0.5, color="0.9", linewidth=0, label="trained on")
    for place, (name, shares) in enumerate(series.items()):
        # Where lines are the same, the later and thinner ones lie on the broad first one.
        late = place / max(1, len(series) - 1)
        axes.plot(
            list(shares),
            list(shares.values()),
            color=_LINES[place % len(_LINES)],
            linewidth=4 - 2.6 * late,
            alpha=0.6 + 0.4 * late,
            dashes=(None, None) if place == 0 else (4 + place, 2),
            marker=_MARKERS[place % len(_MARKERS)],
            markersize=5,
            markevery=(5 * place % 9, max(9, len(shares) // 7)),
            label=name,
        )
    axes.set_xlabel("n")
    axes.set_ylabel(_LABELS.get(score, score))
    axes.set_xlim(min(every) - 0.5, max(every) + 0.5)
    axes.set_ylim(-0.03, 1.03)
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.set_title(title, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return figure


def accuracy_of_runs(folders: Sequence[str | os.PathLike], ways: Sequence[str] = ()) -> Figure:
    """Draws the accuracies by n of several runs together.

    Args:
        folders: The runs' folders.
        ways: `"soft"`, `"rounded"` or both; none: both of a single run, and of several the rounded
            accuracy where there is one.
    """
    runs = _runs(folders)
    series = {}
    for name, run in runs.items():
        there = [way for way in ("soft", "rounded") if run[way]]
        chosen = ways or (there if len(runs) == 1 else there[-1:])
        for way in there:
            if way in chosen:
                label = way if len(runs) == 1 else f"{name}, {way}"
                series[label] = {int(n): share for n, share in run[way]["per_n"].items()}
    if not series:
        raise ValueError(f"There is no accuracy, {' or '.join(ways)}, in any of the runs.")
    tasks = dict.fromkeys(run["task"] for run in runs.values())
    ranges = {_training_range(folder) for folder in folders}
    title = ", ".join(tasks)
    if len(runs) == 1:
        title += f", {next(iter(runs.values()))['model']}"
    scores = {run.get("score", "sequences") for run in runs.values()}
    if len(scores) > 1:
        raise ValueError(f"The runs have different scores, {' and '.join(sorted(scores))}.")
    return accuracy_by_n(series, title, ranges.pop() if len(ranges) == 1 else None, *scores)


def success_of_restarts(folders: Sequence[str | os.PathLike]) -> Figure:
    """Draws how the random restarts of each run ended, and how many of them solved the task."""
    runs = {name: run["restarts"] for name, run in _runs(folders).items()}
    figure = Figure(figsize=(7, 1 + 0.42 * len(runs)), dpi=style.DPI, layout="constrained")
    axes = figure.add_subplot()
    starts = [0.0] * len(runs)
    for outcome, (label, color) in _OUTCOMES.items():
        counts = [_count(restarts, outcome) for restarts in runs.values()]
        if not any(counts):
            continue
        sizes = map(len, runs.values())
        shares = [count / size for count, size in zip(counts, sizes, strict=True)]
        look = {"color": color, "edgecolor": "white", "label": label}
        bars = axes.barh(range(len(runs)), shares, 0.7, starts, **look)
        # A number wants a bar that it fits on.
        texts = [count if share > 0.03 else "" for count, share in zip(counts, shares, strict=True)]
        axes.bar_label(bars, texts, label_type="center", fontsize=8, color=style.ink_on(color))
        starts = [start + share for start, share in zip(starts, shares, strict=True)]
    for row, restarts in enumerate(runs.values()):
        text = f"{_count(restarts, 'solved')} of {len(restarts)} solved"
        axes.text(1.01, row, text, va="center", size=8, color=style.INK)
    axes.set_yticks(range(len(runs)), runs, size=8)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.set_xlabel("random restarts", size=8)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=8)
    axes.spines[["top", "right", "left"]].set_visible(False)
    # The figure's and not the axes', which long names of runs make narrow.
    figure.legend(loc="outside upper center", ncols=3, frameon=False, fontsize=8)
    return figure


def read_evaluation(folder: str | os.PathLike) -> dict:
    """What a run's `evaluation.json` says."""
    path = Path(folder) / EVALUATION
    try:
        evaluation = json.loads(path.read_text(encoding="utf-8"))
        evaluation["soft"]["per_n"], evaluation["rounded"], evaluation["restarts"][0]["outcome"]
    except FileNotFoundError:
        raise ValueError(
            f"There is no finished run in {os.fspath(folder)!r}: expected {EVALUATION} in it."
        ) from None
    except (ValueError, KeyError, TypeError, IndexError):
        raise ValueError(f"{path} is not the evaluation of a run.") from None
    return evaluation


def _runs(folders: Sequence[str | os.PathLike]) -> dict[str, dict]:
    """The evaluations of runs by the names of their folders, or by their paths if that is not
    enough to tell them apart."""
    names = [Path(folder).resolve().name for folder in folders]
    if len(set(names)) < len(names):
        names = [os.fspath(folder) for folder in folders]
    return {name: read_evaluation(folder) for name, folder in zip(names, folders, strict=True)}


def _count(restarts: list[dict], outcome: str) -> int:
    return sum(restart["outcome"] == outcome for restart in restarts)


def _training_range(folder) -> tuple[int, int] | None:
    """The smallest and the largest n a run was trained on, where its configuration tells."""
    try:
        config = json.loads((Path(folder) / CONFIG).read_text(encoding="utf-8"))["config"]
        return tasks.get(config["task"]).train_sizes[0], int(config["max_n"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
