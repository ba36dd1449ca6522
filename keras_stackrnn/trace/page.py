"""A trace as one HTML file to step through, which asks no network for anything."""

import html
import json
import re
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

FOLDER = Path(__file__).parent
DRAWING = FOLDER / "drawing"
_PLACE = re.compile("<!-- (title|style|data|script) -->")
# The page is one file: these modules become one, in this order.
_MODULES = ("dom.js", "values.js", "bars.js", "memories.js")
_IMPORT = re.compile(r"^import .*?;\n+", re.MULTILINE | re.DOTALL)
_EXPORT = re.compile(r"^export (?=const|function|class)", re.MULTILINE)
_MOST_SYMBOLS = 10
_DECIMALS = 4
# Slots that hold less than this of an element are not drawn.
_NOTHING = 0.01


def page_of(trace: Trace) -> str:
    """The page: the template, with a title, what draws, and the trace as JSON."""
    data = json.dumps(_data_of(trace), ensure_ascii=False, allow_nan=False)
    pieces = {
        "title": html.escape(title_of(trace)),
        "style": _text(DRAWING / "drawing.css"),
        # Inside a script element the one thing that could end it is a "<".
        "data": data.replace("<", "\\u003c"),
        "script": _joined_modules(),
    }
    return _PLACE.sub(lambda place: pieces[place[1]], _text(FOLDER / "page.html"))


def _joined_modules() -> str:
    modules = [*(DRAWING / name for name in _MODULES), FOLDER / "page.js"]
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", _text(module))) for module in modules)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8").rstrip("\n")


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
        "shape": memory.kind.shape,
        "reach": _reach(memory, contents),
        "actions": [
            {"name": action, "sign": look.sign, "color": look.color}
            for action, look in looks_of(memory.kind).items()
        ],
        "taken": [int(action) for action in memory.weights.argmax(axis=1)],
        "effect": [not has_no_effect(memory, step) for step in range(len(memory.tops))],
        "weights": [[_rounded(weight) for weight in weights] for weights in memory.weights],
        "values": [_rounded(value) for value in memory.values],
        "slots": [_slots(memory, row) for row in contents],
    }


def _reach(memory: MemoryTrace, contents: np.ndarray) -> list[int]:
    """The first and the last place that ever hold something: so columns grow and shrink."""
    filled = np.flatnonzero((contents - EMPTY >= _NOTHING).any(axis=0))
    places = filled - memory.kind.head(contents.shape[1])
    return [int(places.min(initial=0)), int(places.max(initial=0))]


def _slots(memory: MemoryTrace, row: np.ndarray) -> list[tuple[int, float]]:
    """The slots that hold something: how far they are from the head, and their value."""
    head = memory.kind.head(len(row))
    filled = np.flatnonzero(row - EMPTY >= _NOTHING)
    return [(int(place) - head, _rounded(row[place])) for place in filled]


def _rounded(value) -> float:
    return round(float(value), _DECIMALS)
