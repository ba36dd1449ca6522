"""Figures of traces and of runs, in matplotlib: for papers, for any eyes, for grey print."""

from matplotlib.figure import Figure

from keras_stackrnn.trace.figures.action_map import action_map
from keras_stackrnn.trace.figures.memory_map import memory_map
from keras_stackrnn.trace.figures.probability_map import probability_map
from keras_stackrnn.trace.figures.runs import accuracy_by_n, accuracy_of_runs, success_of_restarts
from keras_stackrnn.trace.figures.style import FORMATS, save, to_png

__all__ = [
    "FORMATS",
    "KINDS",
    "accuracy_by_n",
    "accuracy_of_runs",
    "action_map",
    "draw",
    "memory_map",
    "probability_map",
    "save",
    "success_of_restarts",
    "to_png",
]
KINDS = ("actions", "memory", "probabilities")


def draw(trace, kind: str = "actions", memory: str | None = None) -> Figure:
    """The figure of a trace that `Trace.plot` describes."""
    if kind not in KINDS:
        raise ValueError(f"There is no figure {kind!r}: expected one of {', '.join(KINDS)}.")
    if memory is not None and kind != "memory":
        raise ValueError(f"Only the figure 'memory' shows one memory, got {kind!r} of {memory!r}.")
    if kind == "actions":
        return action_map(trace)
    if kind == "probabilities":
        return probability_map(trace)
    if memory is None:
        if len(trace.memories) > 1:
            names = ", ".join(each.name for each in trace.memories)
            raise ValueError(f"Which memory? Expected one of {names}, got None.")
        memory = trace.memories[0].name
    return memory_map(trace, memory)
