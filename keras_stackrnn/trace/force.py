"""Actions that are forced on memories: how they are said, and whether they make sense."""

import re
from collections.abc import Iterable, Mapping, Sequence

from keras_stackrnn.trace.record import MemoryTrace

Forced = dict[str, dict[int, str]]


def at_steps(force: Mapping[str, str | Mapping[int, str]] | None, steps: int) -> Forced:
    """The action at each step, also where one was given for all of them."""
    return {
        name: dict.fromkeys(range(steps), actions) if isinstance(actions, str) else dict(actions)
        for name, actions in (force or {}).items()
    }


def check(forced: Forced, memories: Sequence[MemoryTrace], steps: int) -> None:
    """Raises unless all of it names memories, places in the text and actions that there are."""
    known = {memory.name: memory for memory in memories}
    for name, actions in forced.items():
        if name not in known:
            raise ValueError(
                f"There is no memory {name!r} to force: expected one of {', '.join(known)}."
            )
        for step, action in actions.items():
            if action not in known[name].actions:
                raise ValueError(
                    f"Cannot force {action!r} on {name}: expected one of "
                    f"{', '.join(known[name].actions)}."
                )
            if step not in range(steps):
                raise ValueError(
                    f"Cannot force {name} at text[{step}]: expected a place from 0 to {steps - 1}."
                )


def parse(orders: Iterable[str]) -> Forced | dict[str, str]:
    """Orders from a command line, as `stack2=POP`, `stack2@6=POP` or `stack2@6-9=POP`."""
    force = {}
    for order in orders:
        match = re.fullmatch(r"(\w+)(?:@(\d+)(?:-(\d+))?)?=(\S+)", order)
        if match is None:
            raise ValueError(
                "An action is forced as in stack2=POP, stack2@6=POP or stack2@6-9=POP, "
                f"got {order!r}."
            )
        name, first, last, action = match.groups()
        if first is None:
            force[name] = action
            continue
        places = range(int(first), int(last or first) + 1)
        if isinstance(force.get(name), str) or not places:
            raise ValueError(f"Cannot force what {order!r} says: the places are taken or empty.")
        force[name] = {**force.get(name, {}), **dict.fromkeys(places, action)}
    return force


def describe(force: Mapping[str, str | Mapping[int, str]] | None) -> str:
    """All of it in a few words: `stack2 POP at 6, 7`."""
    words = []
    for name, actions in (force or {}).items():
        if isinstance(actions, str):
            words.append(f"{name} always {actions}")
            continue
        for action in dict.fromkeys(actions.values()):
            steps = ", ".join(str(step) for step in sorted(actions) if actions[step] == action)
            words.append(f"{name} {action} at {steps}")
    return "; ".join(words)
