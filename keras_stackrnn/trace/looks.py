"""What actions look like: a sign, a colour and a terminal's style, the same everywhere."""

import functools
import json
from pathlib import Path
from typing import NamedTuple

from keras_stackrnn.memories import MemoryKind


class Look(NamedTuple):
    """How one action is shown.

    Attributes:
        sign: What stands for it where there is little room.
        letter: The same in a figure's text, like its marker.
        marker: matplotlib's name of the sign's drawing: one of many is faster than many letters.
        color: For figures and pages.
        style: A terminal's colour.
    """

    sign: str
    letter: str
    marker: str
    color: str
    style: str


# By what an action does, and spare ones for a kind with several actions that do alike; pages read
# the same file. Of Okabe and Ito's palette, which keeps apart for every kind of colour vision. In a
# terminal blue and yellow do, a bright blue also on black.
_FILE = Path(__file__).with_name("drawing") / "looks.json"


@functools.cache
def _looks() -> tuple[dict[str, Look], list[Look]]:
    looks = json.loads(_FILE.read_text(encoding="utf-8"))
    spare = [Look(**look) for look in looks.pop("spare")]
    return {role: Look(**look) for role, look in looks.items()}, spare


@functools.cache
def looks_of(kind: MemoryKind) -> dict[str, Look]:
    """How each action of a kind is shown, by its name."""
    by_role, spare = _looks()
    looks, taken, spared = {}, set(), 0
    for name in kind.action_names:
        role = kind.role(name)
        if role in taken:
            looks[name] = spare[spared % len(spare)]
            spared += 1
        else:
            looks[name] = by_role[role]
        taken.add(role)
    return looks
