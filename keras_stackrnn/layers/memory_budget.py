"""Refuses soft memories that would take more than the machine has, before they are made."""

import os
from typing import Any

from keras_stackrnn.types import Tensor


def refuse_if_too_large(
    cell: Any,
    *,
    batch: int | Tensor | None,
    rows: int | Tensor | None,
    steps: int | Tensor,
    training: bool | None,
) -> None:
    """Raises a `ValueError` that says how much memory would be needed, if it is too much.

    Args:
        cell: The cell whose memories they are.
        batch: The batch size. One that is not known yet, a tensor or `None`, counts as 1.
        rows: How many rows of every memory a step works on.
        steps: How many steps there are. Nothing is refused while rows or steps are not known.
        training: Whether a backward pass will want the rows of every step.
    """
    if not (isinstance(rows, int) and isinstance(steps, int) and hasattr(os, "sysconf")):
        return
    lanes = cell.row_size * (batch if isinstance(batch, int) else 1)
    copies = steps if training else 3
    needed = rows * lanes * copies * _bytes_of(cell.compute_dtype)
    available = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > available:
        raise ValueError(
            f"{type(cell).__name__}'s soft {cell.kind.plural} would take about "
            f"{needed / 2**30:,.0f} GiB for {steps:,} steps, and this machine has "
            f"{available / 2**30:,.0f} GiB: expected fewer steps, a smaller `capacity`, or "
            "inference with `rounding=True`, which takes memory for the elements alone."
        )


def _bytes_of(dtype: str) -> int:
    return {"float64": 8, "float32": 4}.get(dtype, 2)
