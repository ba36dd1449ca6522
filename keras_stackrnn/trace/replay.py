"""Memories' whole contents, from the actions on them and the values written."""

import os
from typing import NamedTuple

import numpy as np
from keras import ops

from keras_stackrnn.memories import MemoryKind
from keras_stackrnn.memories.layout import MemoryLayout
from keras_stackrnn.memories.soft import EMPTY

_ROUNDING_ERROR = 1e-6


class Replay(NamedTuple):
    """What a memory held after each symbol, `[T, rows]`, and how many elements it lost."""

    contents: np.ndarray
    lost: float


def replay(
    kind: MemoryKind, weights: np.ndarray, values: np.ndarray, capacity: int | None
) -> list[Replay]:
    """Takes empty memories through all actions.

    Args:
        kind: The kind of memory, with just the actions that are in use.
        weights: `[T, A, memories]`, the weights of the actions.
        values: `[T, memories]`, the values written.
        capacity: How many elements a memory holds; `None`: as many as there are.

    Returns:
        A `Replay` for each memory.
    """
    steps, memories = values.shape
    layout = MemoryLayout(kind, read_depth=1)
    ample = kind.grown(1, steps)
    rows = ample if capacity is None else min(capacity, ample)
    what = f"{memories} {kind.plural if memories > 1 else kind.name}"
    _refuse_if_too_large(what, steps, steps * rows * memories)
    # Each memory is a row of the batch.
    slots = ops.full((memories, rows, layout.numbers), EMPTY, dtype="float32")
    contents, lost = [], np.zeros(memories)
    for actions, value in zip(weights, values, strict=True):
        taken = [ops.convert_to_tensor(weight[:, None, None]) for weight in actions]
        value = ops.convert_to_tensor(value[:, None, None])
        if rows < ample:
            lost += ops.convert_to_numpy(layout.lost(taken, slots))[:, 0, 0]
        slots = layout.act(taken, value, slots, layout.head(rows))
        contents.append(ops.convert_to_numpy(slots)[:, :, 0])
    return [
        Replay(_trimmed(each, kind), float(missing))
        for each, missing in zip(np.stack(contents, axis=1), lost, strict=True)
    ]


def _refuse_if_too_large(what: str, steps: int, slots: int) -> None:
    # Twice: as they come, and all in one array.
    needed = 2 * slots * np.dtype("float32").itemsize
    available = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > available:
        raise ValueError(
            f"All that {what} may hold after each of {steps:,} symbols would take about "
            f"{needed / 2**30:,.0f} GiB, and this machine has {available / 2**30:,.0f} GiB: "
            "expected a shorter text, or a look at the tops alone, as in a table."
        )


def _trimmed(contents: np.ndarray, kind: MemoryKind) -> np.ndarray:
    occupied = np.flatnonzero((contents > EMPTY + _ROUNDING_ERROR).any(axis=0))
    if not kind.has_two_sides:
        return contents[:, : occupied.max(initial=0) + 1]
    head = kind.head(contents.shape[1])
    reach = np.abs(occupied - head).max(initial=0)
    # A bounded list may be a slot shorter on its right.
    padded = np.pad(contents, [(0, 0), (0, 1)], constant_values=EMPTY)
    return padded[:, head - reach : head + reach + 1]
