"""What of a user's rows is learned from, what is held out to validate on, and what is the test."""

import collections
from collections.abc import Callable, Sequence
from typing import NamedTuple

from keras_stackrnn.tasks.draws import draw_key
from keras_stackrnn.tasks.files.tables import Row

# Of rows without files of their own for validation and test, one in so many for each of these; as
# many at least, unless that is more than a quarter.
_SHARE, _LEAST, _MOST = 10, 10, 4


class Parts(NamedTuple):
    """Rows by what they are for, and in words how that came about."""

    train: list[Row]
    validation: list[Row]
    test: list[Row]
    words: str


def parts_of(
    read: Callable[[str], list[Row]], train: str, validation: str | None, test: str | None
) -> Parts:
    """Reads the files; what has no file of its own is taken from that to learn from.

    That is one in ten of those first values that are there once for the validation, and one in ten
    for the test, by a draw that depends on the value alone: the same ones always. What is there
    more than once is learned from, but for files with hardly anything else.
    """
    learned, taken = read(train), {}
    missing = [name for name, path in (("validation", validation), ("test", test)) if path is None]
    if missing:
        learned, taken = _held_out(learned, missing, train)
    given = {
        name: read(path) for name, path in (("validation", validation), ("test", test)) if path
    }
    parts = {**taken, **given}
    shown = [f"{len(learned):,} to learn from"]
    for name in ("validation", "test"):
        shared = _shared(learned, parts[name])
        also = f", {shared:,} of which are also learned from" if shared else ""
        shown.append(f"{len(parts[name]):,} for the {name}{also}")
    words = f"{'; '.join(shown)}."
    if missing:
        words += (
            f" One in {_SHARE} of those that are there once ({_LEAST} or more, if they are a "
            f"quarter at most) is held out for the {' and one for the '.join(missing)}, as there "
            f"{'are no files' if len(missing) > 1 else 'is no file'} of their own."
        )
    return Parts(learned, parts["validation"], parts["test"], words)


def _held_out(
    rows: list[Row], names: Sequence[str], path: str
) -> tuple[list[Row], dict[str, list[Row]]]:
    times = collections.Counter(row.values[0] for row in rows)
    if len(times) < _LEAST:
        raise ValueError(
            f"{path} has {len(times)} different rows, too few to hold some out: expected "
            f"{_LEAST} or more, or files of their own for the {' and the '.join(names)}."
        )
    once = [text for text, count in times.items() if count == 1]
    order = sorted(once if len(once) >= _LEAST else times, key=lambda text: (_order_of(text), text))
    count = min(max(len(order) // _SHARE, _LEAST), len(order) // _MOST)
    part_of = {
        text: name
        for place, name in enumerate(names)
        for text in order[place * count : (place + 1) * count]
    }
    taken = {name: [row for row in rows if part_of.get(row.values[0]) == name] for name in names}
    return [row for row in rows if row.values[0] not in part_of], taken


def _order_of(text: str) -> int:
    return draw_key("files", "held out", text)


def _shared(first: list[Row], second: list[Row]) -> int:
    known = {row.values[0] for row in first}
    return sum(row.values[0] in known for row in second)
