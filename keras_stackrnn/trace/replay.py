"""Memories' whole contents, from the actions on them and the values written."""

import os
from typing import NamedTuple

import numpy as np
from keras import ops

from keras_stackrnn.memories import soft as memory
from keras_stackrnn.memories.soft import EMPTY

_ROUNDING_ERROR = 1e-6


class Replay(NamedTuple):
    """What a memory held after each symbol, `[T, rows]`, and how many elements it lost."""

    contents: np.ndarray
    lost: float


def replay(
    kind: str, weights: np.ndarray, values: np.ndarray, capacity: int | None
) -> list[Replay]:
    """Takes empty memories through all actions.

    Args:
        kind: `"stack"` or `"list"`.
        weights: `[T, A, memories]`, the weights of the actions.
        values: `[T, memories]`, the values written.
        capacity: How many elements a memory holds; `None`: as many as there are.

    Returns:
        A `Replay` for each memory.
    """
    steps, memories = values.shape
    is_stack = kind == "stack"
    update = memory.stack_update if is_stack else memory.list_update
    lose = memory.stack_lost if is_stack else memory.list_lost
    ample = steps if is_stack else 2 * steps + 1
    rows = ample if capacity is None else min(capacity, ample)
    what = f"{memories} {kind}{'s' if memories > 1 else ''}"
    _refuse_if_too_large(what, steps, steps * rows * memories)
    # Each memory is a row of the batch, of which `lose` gives a number each.
    slots = ops.full((memories, rows, 1), EMPTY, dtype="float32")
    contents, lost = [], np.zeros(memories)
    for actions, value in zip(weights, values, strict=True):
        actions, value = ops.convert_to_tensor(actions.T[..., None]), value[:, None]
        if rows < ample:
            lost += ops.convert_to_numpy(lose(slots, actions))[:, 0]
        slots = update(slots, actions, value)
        contents.append(ops.convert_to_numpy(slots)[:, :, 0])
    return [
        Replay(_trimmed(each, is_stack), float(missing))
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


def _trimmed(contents: np.ndarray, is_stack: bool) -> np.ndarray:
    occupied = np.flatnonzero((contents > EMPTY + _ROUNDING_ERROR).any(axis=0))
    if is_stack:
        return contents[:, : occupied.max(initial=0) + 1]
    head = memory.list_head(contents.shape[1])
    reach = np.abs(occupied - head).max(initial=0)
    # A bounded list may be a slot shorter on its right.
    padded = np.pad(contents, [(0, 0), (0, 1)], constant_values=EMPTY)
    return padded[:, head - reach : head + reach + 1]
