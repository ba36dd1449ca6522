"""A trace as one HTML file to step through, which asks no network for anything."""

import html
import json
from pathlib import Path

import numpy as np

from keras_stackrnn.memories.soft import EMPTY
from keras_stackrnn.trace.looks import looks_of
from keras_stackrnn.trace.record import MemoryTrace, Trace, replays
from keras_stackrnn.trace.wording import (
    has_no_effect,
    idle_words,
    is_idle,
    symbol_text,
    title_of,
)

_TEMPLATE = Path(__file__).with_name("page.html")
_TITLE, _DATA = "<!-- title -->", "<!-- data -->"
_MOST_SYMBOLS = 10
_DECIMALS = 4
# Slots that hold less than this of an element are not drawn.
_NOTHING = 0.01


def page_of(trace: Trace) -> str:
    """The page: the template, a title and the trace as JSON."""
    before, between, after = _split(_TEMPLATE.read_text(encoding="utf-8"))
    # Inside a script element the one thing that could end it is a "<".
    data = json.dumps(_data_of(trace), ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    return f"{before}{html.escape(title_of(trace))}{between}{data}{after}"


def _split(template: str) -> tuple[str, str, str]:
    before, rest = template.split(_TITLE)
    return before, *rest.split(_DATA)


def _data_of(trace: Trace) -> dict:
    moving = [memory for memory in trace.memories if not is_idle(memory)] or trace.memories
    idle = [memory for memory in trace.memories if memory not in moving]
    return {
        "title": title_of(trace),
        "symbols": [symbol_text(symbol) for symbol in trace.symbols],
        "next": [None if symbol is None else symbol_text(symbol) for symbol in trace.upcoming],
        "predictions": [
            None if symbol is None else symbol_text(symbol) for symbol in trace.predictions
        ],
        "wrong": [trace.is_wrong(step) for step in range(len(trace.symbols))],
        "answers": trace.asked is not None,
        "deterministic": None if trace.deterministic is None else trace.deterministic.tolist(),
        "bars": [_bars(trace, step) for step in range(len(trace.symbols))],
        "memories": [
            _memory(memory, done.contents)
            for memory, done in zip(moving, replays(moving), strict=True)
        ],
        "idle": idle_words(idle),
    }


def _bars(trace: Trace, step: int) -> list[tuple[str, float]]:
    """The symbols to draw a bar for and their probabilities: the most probable, and what came."""
    probabilities = trace.probabilities[step]
    if np.isnan(probabilities[0]):
        return []
    best = np.argsort(-probabilities, kind="stable")[:_MOST_SYMBOLS].tolist()
    if len(trace.vocabulary) <= _MOST_SYMBOLS:
        best.sort()
    elif trace.upcoming[step] is not None:
        came = trace.vocabulary.index(trace.upcoming[step])
        best = best if came in best else [*best[:-1], came]
    return [(symbol_text(trace.vocabulary[i]), _rounded(probabilities[i])) for i in best]


def _memory(memory: MemoryTrace, contents: np.ndarray) -> dict:
    return {
        "name": memory.name,
        "sides": 2 if memory.kind.has_two_sides else 1,
        "actions": [f"{look.sign} {action}" for action, look in looks_of(memory.kind).items()],
        "taken": [int(action) for action in memory.weights.argmax(axis=1)],
        "effect": [not has_no_effect(memory, step) for step in range(len(memory.tops))],
        "weights": [[_rounded(weight) for weight in weights] for weights in memory.weights],
        "values": [_rounded(value) for value in memory.values],
        "slots": [_slots(memory, row) for row in contents],
    }


def _slots(memory: MemoryTrace, row: np.ndarray) -> list[tuple[int, float]]:
    """The slots that hold something: how far they are from the head, and their value."""
    head = memory.kind.head(len(row))
    filled = np.flatnonzero(row - EMPTY >= _NOTHING)
    return [(int(place) - head, _rounded(row[place])) for place in filled]


def _rounded(value) -> float:
    return round(float(value), _DECIMALS)
