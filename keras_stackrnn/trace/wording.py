"""A trace in words and numbers: the same ones in tables, figures and pages."""

from collections.abc import Sequence

import numpy as np

from keras_stackrnn.memories import MemoryKind
from keras_stackrnn.memories.soft import EMPTY
from keras_stackrnn.trace.record import MemoryTrace, Trace

# Soft actions leave a little of everything.
_NEARLY_EMPTY = -0.9
_LONGEST_SYMBOL = 16


def title_of(trace: Trace) -> str:
    """What was traced, in one line."""
    actions = ""
    if trace.memories:
        actions = ", rounded actions" if trace.rounded else ", soft actions"
    forced = f", forced: {trace.forced}" if trace.forced else ""
    count = len(trace.symbols)
    return f"{trace.title}: {count} symbol{'s' * (count > 1)}{actions}{forced}"


def is_idle(memory: MemoryTrace) -> bool:
    """Whether nothing ever changes it, or a table would show the same at every symbol."""
    if is_unused(memory):
        return True
    tops = [number_text(top) for top in memory.tops[:, 0]]
    return len(set(memory.taken)) == 1 and len(set(tops)) == 1


def is_unused(memory: MemoryTrace) -> bool:
    """Whether no action has an effect, so that it stays empty."""
    return all(has_no_effect(memory, step) for step in range(len(memory.tops)))


def has_no_effect(memory: MemoryTrace, step: int) -> bool:
    """Whether the action changed nothing, as NO-OP or taking from a memory that is empty."""
    action = memory.taken[step]
    if memory.kind.role(action) == "stays":
        return True
    before = step + 1 if memory.backwards else step - 1
    was_empty = not 0 <= before < len(memory.tops) or memory.tops[before, 0] < _NEARLY_EMPTY
    if not was_empty or memory.tops[step, 0] > _NEARLY_EMPTY:
        return False
    # There may be elements beside an empty head once there are any.
    return memory.kind.has_no_effect_on_empty(action, only_head=memory.was_written(step))


def idle_words(memories: Sequence[MemoryTrace]) -> list[str]:
    """A line for all idle memories that do the same."""
    alike = {}
    for memory in memories:
        if is_idle(memory):
            what = "always empty"
            if not is_unused(memory):
                top = number_text(memory.tops[0, 0]).replace("-1", "empty")
                what = f"always {memory.taken[0]}, {top_word(memory)} {top}"
            alike.setdefault(what, []).append(memory.name)
    return [f"{', '.join(names)}: {what}" for what, names in alike.items()]


def number_text(value: float) -> str:
    """An element with two decimals; what is empty is -1."""
    if np.isnan(value):
        return ""
    return "-1" if value <= EMPTY + 0.005 else f"{value:.2f}".replace("-0.00", "0.00")


def symbol_text(symbol: str | None) -> str:
    """A symbol as it can be shown: one that is not printable is written as Python would."""
    if symbol is None:
        return ""
    if symbol == " ":
        return "␣"
    shown = "".join(s if s.isprintable() else repr(s)[1:-1] for s in symbol)
    return shown if len(shown) <= _LONGEST_SYMBOL else f"{shown[: _LONGEST_SYMBOL - 1]}…"


def top_word(memory: MemoryTrace) -> str:
    """What the element that is read first is called."""
    return memory.kind.head_word


def place_of_head(kind: MemoryKind) -> str:
    """Where the element is that is read first: `on top of a stack`, `at the head of a list`."""
    word = "on top" if kind.head_word == "top" else f"at the {kind.head_word}"
    return f"{word} of {'an' if kind.name[0] in 'aeio' else 'a'} {kind.name}"
