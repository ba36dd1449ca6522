"""The curriculum: lessons from short and easy sequences to all that may be learned from."""

from typing import NamedTuple

from keras_stackrnn.patterns import Pattern


class Lesson(NamedTuple):
    """Sequences with n up to `largest_n` and with the pattern's limit, if it has one."""

    largest_n: int
    limit: int | None = None


def lessons(pattern: Pattern, first_max_n: int, max_n: int) -> list[Lesson]:
    """A pattern's lessons: n grows by one from each to the next, up to `max_n`.

    What else can be limited stays at 1 until n is half of `max_n`, and then grows along. Numbers
    are thus first added to a single digit, however long they are: a carry that runs through one
    operand has to be right before two have to be brought together.
    """
    first = min(max(first_max_n, pattern.smallest_n), max_n)
    every_n = range(first, max_n + 1)
    if pattern.limit_means is None:
        return [Lesson(n) for n in every_n]
    return [Lesson(n, max(1, n - max_n // 2)) for n in every_n]
