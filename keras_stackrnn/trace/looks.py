"""What actions look like: a sign, a colour and a terminal's style, the same everywhere."""

import functools
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


# Of Okabe and Ito's palette, which keeps apart for every kind of colour vision. In a terminal blue
# and yellow do, a bright blue also on black.
_LOOKS = {
    "adds": Look("+", "+", "+", "#0072B2", "94"),
    "takes": Look("-", "\N{MINUS SIGN}", "_", "#E69F00", "33"),
    "left": Look("<", "◀", "<", "#009E73", "35"),
    "right": Look(">", "▶", ">", "#CC79A7", "36"),
    "changes": Look("=", "■", "s", "#56B4E9", "32"),
    "stays": Look(".", "·", ".", "#E0E0E0", "2"),
}
# For a kind with several actions of the same role.
_SPARE = (
    Look("*", "*", "*", "#F0E442", "93"),
    Look("^", "▲", "^", "#D55E00", "95"),
    Look("o", "o", "o", "#000000", "96"),
)


@functools.cache
def looks_of(kind: MemoryKind) -> dict[str, Look]:
    """How each action of a kind is shown, by its name."""
    looks, taken, spare = {}, set(), 0
    for name in kind.action_names:
        role = kind.role(name)
        if role in taken:
            looks[name] = _SPARE[spare % len(_SPARE)]
            spare += 1
        else:
            looks[name] = _LOOKS[role]
        taken.add(role)
    return looks
