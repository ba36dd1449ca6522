"""The memories' arithmetic: pure functions of tensors, in `keras.ops` only.

Shapes follow one rule: the last axis is always the memory (which stack, which list), the axis
before it is what that memory holds.

| tensor  | shape                          | axis 1                                     |
| ------- | ------------------------------ | ------------------------------------------ |
| memory  | `[batch, capacity, memories]`  | stack: depth, 0 is the top; list: position |
| actions | `[batch, actions, memories]`   | in the order of `STACK_ACTIONS` or `LIST_ACTIONS` |
| value   | `[batch, memories]`            |                                            |
"""

from keras import ops

EMPTY = -1.0
STACK_ACTIONS = ("PUSH", "POP", "NO-OP")
LIST_ACTIONS = ("INSERT", "LEFT", "RIGHT", "NO-OP")


def action_weights(logits, rounding: bool = False):
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


def mix(actions, candidates):
    """Adds up the memories that each action alone would leave, each by its action's weight."""
    total = actions[:, 0:1] * candidates[0]
    for action, candidate in enumerate(candidates[1:], start=1):
        total = total + actions[:, action : action + 1] * candidate
    return total


def empty_row(memory):
    return ops.full_like(memory[:, :1], EMPTY)


def stack_update(memory, actions, value):
    """One step of every stack (equations 4 and 5, and the rule with NO-OP).

    PUSH moves all elements down and puts `value` on top; POP moves all up, and what comes up from
    below the bottom is empty; NO-OP, where there is a third action, leaves them.
    """
    pushed = ops.concatenate([ops.expand_dims(value, 1), memory[:, :-1]], axis=1)
    popped = ops.concatenate([memory[:, 1:], empty_row(memory)], axis=1)
    return mix(actions, [pushed, popped, memory][: actions.shape[1]])


def stack_lost(memory, actions):
    """How many elements a step takes past the bottom, `[batch, 1]`."""
    return _total(actions[:, 0] * _occupied(memory[:, -1]))


def stack_grow(state, memories: int, steps: int):
    """A state with empty rows at the bottom, for `steps` elements more."""
    return ops.pad(state, [(0, 0), (0, steps * memories)], constant_values=EMPTY)


def stack_read(memory, read_depth: int):
    """The `read_depth` top-most elements of every stack, `[batch, read_depth * memories]`."""
    return flatten(memory[:, :read_depth])


def list_head(capacity: int) -> int:
    """The position of the head, fixed in the middle: the list moves under it."""
    return capacity // 2


def list_update(memory, actions, value):
    """One step of every list, by the paper's three cases around the fixed head.

    INSERT puts `value` under the head and moves what was there, and all to the left of it, one to
    the left; LEFT moves the head to the left, so everything one to the right; RIGHT the converse.
    """
    head = list_head(ops.shape(memory)[1])
    edge = empty_row(memory)
    towards_left = ops.concatenate([memory[:, 1:], edge], axis=1)
    towards_right = ops.concatenate([edge, memory[:, :-1]], axis=1)
    inserted = ops.concatenate(
        [memory[:, 1 : head + 1], ops.expand_dims(value, 1), memory[:, head + 1 :]], axis=1
    )
    candidates = [inserted, towards_right, towards_left, memory]
    return mix(actions, candidates[: actions.shape[1]])


def list_lost(memory, actions):
    """How many elements a step takes past either end, `[batch, 1]`."""
    insert, left, right = actions[:, 0], actions[:, 1], actions[:, 2]
    past_left = (insert + right) * _occupied(memory[:, 0])
    return _total(past_left + left * _occupied(memory[:, -1]))


def list_grow(state, memories: int, steps: int):
    """A state with empty rows at both ends, for `steps` elements more on either side."""
    return ops.pad(state, [(0, 0), (steps * memories, steps * memories)], constant_values=EMPTY)


def list_read_positions(capacity: int, read_depth: int) -> list[int]:
    """Which positions a List RNN reads, in order: the head, then left, right, left, …

    The paper leaves this open. Left comes first because INSERT moves the old head there: the head
    and its left neighbour are then to a list what the two top-most elements are to a stack.
    """
    head = list_head(capacity)
    return [head + (i // 2 if i % 2 == 0 else -(i + 1) // 2) for i in range(read_depth)]


def list_read(memory, read_depth: int):
    """The head and its nearest neighbours, `[batch, read_depth * memories]`."""
    positions = list_read_positions(ops.shape(memory)[1], read_depth)
    return flatten(ops.concatenate([memory[:, p : p + 1] for p in positions], axis=1))


def flatten(memory):
    """`[batch, rows, memories]` as `[batch, rows * memories]`, the shape of a Keras state."""
    batch, rows, memories = ops.shape(memory)
    return ops.reshape(memory, (batch, rows * memories))


def unflatten(state, memories: int):
    """The inverse of `flatten`."""
    batch, size = ops.shape(state)
    return ops.reshape(state, (batch, size // memories, memories))


def _occupied(slots):
    """1 for a slot that holds an element, 0 for an empty one, in between for a mixture.

    Elements are at least 0 and an empty slot is -1; so of hard actions the answer is exact, and of
    soft ones it is off by no more than the elements' size.
    """
    return ops.minimum(slots - EMPTY, 1)


def _total(slots):
    return ops.sum(slots, axis=-1, keepdims=True)
