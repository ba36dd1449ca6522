"""The kinds of memory by name."""

import re

from keras_stackrnn.memories.kind import MemoryKind
from keras_stackrnn.memories.zipper import Zipper

_KINDS: dict[str, MemoryKind] = {}
# What models of other kinds are called.
_TAKEN = ("rnn", "gru", "lstm", "srcn")


def register(kind: MemoryKind) -> MemoryKind:
    """Makes a kind known by its name, to models, training, traces and commands.

    Args:
        kind: The kind. Its name has small letters, digits and _.

    Returns:
        The kind.

    Example:

    >>> from keras_stackrnn import memories
    >>> counter = memories.register(
    ...     memories.Zipper(
    ...         "doctest_counter",
    ...         (
    ...             memories.Action("UP", left=1, right=0, head=memories.VALUE),
    ...             memories.Action("DOWN", left=-1, right=0, head=memories.FROM_LEFT),
    ...         ),
    ...     )
    ... )
    >>> memories.get("doctest_counter") is counter
    True
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", kind.name) or kind.name in _TAKEN:
        raise ValueError(
            "A kind of memory has a name of small letters, digits and _ that no model without a "
            f"memory has, got {kind.name!r}."
        )
    if _KINDS.get(kind.name, kind) != kind:
        raise ValueError(f"There is another kind of memory called {kind.name!r} already.")
    _KINDS[kind.name] = kind
    return kind


def names() -> tuple[str, ...]:
    """The names of all kinds.

    Returns:
        Their names, in the order in which they were registered.

    Example:

    >>> from keras_stackrnn import memories
    >>> memories.names()[:2]
    ('stack', 'list')
    """
    return tuple(_KINDS)


def get(kind: MemoryKind | str | dict | None) -> MemoryKind:
    """The kind of memory that is meant.

    Args:
        kind: A kind itself, its name, or its `description`, which needs no registration.

    Returns:
        A `MemoryKind`.

    Example:

    >>> from keras_stackrnn import memories
    >>> [action.name for action in memories.get("stack").actions]
    ['PUSH', 'POP', 'NO-OP']
    """
    if isinstance(kind, MemoryKind):
        return kind
    if isinstance(kind, dict):
        return Zipper.from_description(kind)
    if kind not in _KINDS:
        raise ValueError(
            f"There is no kind of memory {kind!r}: expected one of {', '.join(names())}, or one "
            "that keras_stackrnn.memories.register was given."
        )
    return _KINDS[kind]
