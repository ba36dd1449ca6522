"""The algorithmic patterns: the tasks that ask for the next symbol of a stream."""

from keras_stackrnn import tasks
from keras_stackrnn.tasks.draws import VERSION, Draw, draw_key
from keras_stackrnn.tasks.next_symbol import next_symbol as register
from keras_stackrnn.tasks.pattern import Batch, Joined, Pattern, Sequence
from keras_stackrnn.tasks.sizes import FIRST_TEST_N, LARGEST_TEST_N, LARGEST_TRAINING_N

__all__ = [
    "FIRST_TEST_N",
    "LARGEST_TEST_N",
    "LARGEST_TRAINING_N",
    "VERSION",
    "Batch",
    "Draw",
    "Joined",
    "Pattern",
    "Sequence",
    "draw_key",
    "get",
    "names",
    "register",
]


def get(name: str) -> Pattern:
    """The pattern of that name.

    Args:
        name: Its name; `memorize_5` is memorization with five symbols.

    Returns:
        A `Pattern`.

    Example:

    >>> from keras_stackrnn import patterns
    >>> patterns.get("anb2n").sample(2, "train", 0).text
    'aabbbb'
    """
    task = tasks.get(name)
    if not isinstance(task, Pattern):
        raise ValueError(f"{name!r} is no pattern but a task of the form {task.form}.")
    if not task.flows:
        raise ValueError(f"{name!r} is no pattern of a stream; there are {', '.join(names())}.")
    return task


def names() -> tuple[str, ...]:
    """The names of all patterns.

    Returns:
        Their names, in alphabetical order.

    Example:

    >>> from keras_stackrnn import patterns
    >>> "memorize" in patterns.names()
    True
    """
    outside_suites = (name for name in tasks.names(Pattern.form) if "/" not in name)
    return tuple(name for name in outside_suites if tasks.get(name).flows)
