"""The kinds of memory by name."""

import re

from keras_stackrnn.memories.kind import MemoryKind
from keras_stackrnn.memories.zipper import Zipper

_KINDS: dict[str, MemoryKind] = {}
# What models of other kinds are called.
_TAKEN = ("rnn", "gru", "lstm", "srcn")


def register(kind: MemoryKind) -> MemoryKind:
    """Makes a kind known by its name, to models, training, traces and commands; returns it."""
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
    """The names of all kinds, in the order in which they were registered."""
    return tuple(_KINDS)


def get(kind: MemoryKind | str | dict | None) -> MemoryKind:
    """A kind itself, of its name, or of its `description`, which needs no registration."""
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
