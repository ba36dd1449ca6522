"""Rows of elements under mixed actions: pure functions of tensors, in `keras.ops` only.

A memory is `[…, rows, lanes]`: in a Keras layer `[batch, rows, memories]`, in the compiled kernels
`[replicas, rows, memories * batch]`. An empty slot is -1. Where an element has several numbers,
each is a lane of its own, and all of them move together.
"""

from collections.abc import Sequence

from keras import ops

from keras_stackrnn.types import Count, Tensor

EMPTY = -1.0


def action_weights(logits: Tensor, rounding: bool = False) -> Tensor:
    """Turns action logits into one distribution a memory (equation 3).

    The last action takes what the others leave over, so that the weights add up to exactly 1 in
    floating point too: it is what keeps an empty slot at exactly -1 under any mixture.

    Args:
        logits: Tensor of shape `[batch, actions, memories]`.
        rounding: Whether the most probable action becomes 1 and the others 0.
    """
    if rounding:
        return ops.one_hot(ops.argmax(logits, axis=1), logits.shape[1], axis=1, dtype=logits.dtype)
    # Over the last axis: TensorFlow's softmax over any other computes its transposition at run
    # time, which XLA cannot differentiate inside a loop.
    weights = ops.transpose(ops.softmax(ops.transpose(logits, (0, 2, 1))), (0, 2, 1))
    taken = weights[:, :1]
    for action in range(1, weights.shape[1] - 1):
        taken = taken + weights[:, action : action + 1]
    return ops.concatenate([weights[:, :-1], 1 - taken], axis=1)


def mix(weights: Sequence[Tensor], moves: Sequence[Tensor]) -> Tensor:
    """Adds up what each action alone would leave, each by its action's weight."""
    return total([weight * move for weight, move in zip(weights, moves, strict=True)])


def total(tensors: Sequence[Tensor]) -> Tensor:
    """The sum, added up from the first to the last."""
    first, *others = tensors
    for tensor in others:
        first = first + tensor
    return first


def row_count(rows: Tensor) -> Count:
    """How many rows there are: an integer where it is known, else a tensor."""
    return ops.shape(rows)[-2]


def shifted(rows: Tensor, by: int, fill: float | Tensor) -> Tensor:
    """Row r is what row r + `by` was, one row apart at most; what comes in is `fill`."""
    if by == 0:
        return rows
    edge = ops.full_like(rows[..., :1, :], fill)
    if by > 0:
        return ops.concatenate([rows[..., 1:, :], edge], axis=-2)
    return ops.concatenate([edge, rows[..., :-1, :]], axis=-2)


def by_row(runs: Sequence[tuple[int, Tensor]], rows: Count, head: Count) -> Tensor:
    """One tensor of several, each from so many rows beside the head on, the first from row 0 on.

    Args:
        runs: Pairs of an offset from the head and a tensor `[…, rows or 1, lanes]`, in order.
        rows: How many rows there are.
        head: The head's row.
    """
    *before, (first, tensor) = runs
    for begin, other in reversed(before):
        row = ops.arange(rows)[:, None]
        tensor = ops.where(row < head + first, other, tensor)
        first = begin
    return tensor


def padded(rows: Tensor, before: Count, after: Count, fill: float | Tensor) -> Tensor:
    """So many rows more at either end."""
    widths = [(0, 0)] * (len(rows.shape) - 2) + [(before, after), (0, 0)]
    return ops.pad(rows, widths, constant_values=ops.cast(fill, rows.dtype))


def occupied(slots: Tensor) -> Tensor:
    """1 for a slot that holds an element, 0 for an empty one, in between for a mixture.

    Elements are at least 0 and an empty slot is -1; so of hard actions the answer is exact, and of
    soft ones it is off by no more than the elements' size.
    """
    return ops.minimum(slots - EMPTY, 1)
