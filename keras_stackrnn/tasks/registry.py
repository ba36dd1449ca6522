"""Every task by its name."""

import difflib
import re
from collections.abc import Callable, Iterable

from keras_stackrnn.tasks.task import Task

_tasks: dict[str, Task] = {}
_families: dict[str, tuple[Callable[..., Task], int]] = {}
_listed: dict[str, str | None] = {}
_of_files: tuple[str, ...] = ()


def add(task: Task) -> Task:
    """Makes a task known by its name.

    Args:
        task: The task, with a name that no other one has.

    Returns:
        The task.

    Example:

    >>> from keras_stackrnn import tasks
    >>> tasks.add(tasks.get("anbn")) is tasks.get("anbn")
    True
    """
    known = _tasks.get(task.name)
    if known is not None and _origin(known) != _origin(task):
        raise ValueError(f"There is a task {task.name!r} already; choose another name.")
    _tasks[task.name] = task
    return task


def add_family(
    name: str,
    make: Callable[..., Task],
    most_numbers: int = 1,
    listed: Iterable[str] = (),
    form: str | None = None,
) -> None:
    """Makes `make(k)` known as `<name>_<k>` for every whole number k.

    Args:
        name: The family's name.
        make: Makes a task of the numbers in its name.
        most_numbers: How many numbers, each after a `_`, a name may have.
        listed: Names of the family that are listed beside the other tasks; they are not made until
            they are asked for.
        form: The form of those.

    Returns:
        Nothing: from then on `get` knows them.

    Example:

    ```python
    tasks.add_family("memorize", make_memorization)  # memorize_2, memorize_3, …
    ```
    """
    _families[name] = make, most_numbers
    _listed.update(dict.fromkeys(listed, form))


def add_forms_of_files(*names: str) -> None:
    """Makes names known that stand for whatever a user's files hold: they are no tasks as yet."""
    global _of_files
    _of_files = names


def get(name: str) -> Task:
    """The task of that name.

    Args:
        name: Its name; `memorize_5` is memorization with five symbols.

    Returns:
        A `Task`.

    Example:

    >>> from keras_stackrnn import tasks
    >>> tasks.get("anbn").sample(2, "train", 0).text
    'aabb'
    """
    if name in _tasks:
        return _tasks[name]
    family, numbers = re.fullmatch("(.*?)((?:_[0-9]+)*)", name, re.DOTALL).groups()
    numbers = [int(number) for number in numbers.split("_")[1:]]
    make, most_numbers = _families.get(family, (None, 0))
    if 1 <= len(numbers) <= most_numbers:
        return make(*numbers)
    if name in _of_files:
        raise ValueError(f"Task {name!r} is made of a file of yours: say which one it is.")
    raise ValueError(f"There is no task {name!r}{_alike(name)}; there are {_all_of_them()}.")


def _alike(name: str) -> str:
    """What may have been meant."""
    alike = difflib.get_close_matches(name, (*names(), *_of_files), n=1, cutoff=0.75)
    return f" (did you mean {alike[0]!r}?)" if alike else ""


def _all_of_them() -> str:
    known = ", ".join([*names(), *(f"{family}_<k>" for family in _families)])
    return f"{known}; and of files of your own {', '.join(_of_files)}"


def names(form: str | None = None) -> tuple[str, ...]:
    """The names of all tasks.

    Args:
        form: The form of those that are wanted; all if not given.

    Returns:
        Their names, in alphabetical order.

    Example:

    >>> from keras_stackrnn import tasks
    >>> "chomsky/parity_check" in tasks.names()
    True
    """
    forms = {**_listed, **{name: task.form for name, task in _tasks.items()}}
    return tuple(sorted(name for name, its_form in forms.items() if form in (None, its_form)))


def _origin(task: Task) -> tuple[str, str]:
    # A notebook cell that is run again defines the same function anew: not a clash of names.
    made_by = getattr(task, "generate", None) or type(task)
    return made_by.__module__, made_by.__qualname__
