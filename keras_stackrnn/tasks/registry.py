"""Every task by its name."""

import re
from collections.abc import Callable

from keras_stackrnn.tasks.task import Task

_tasks: dict[str, Task] = {}
_families: dict[str, tuple[Callable[..., Task], int]] = {}


def add(task: Task) -> Task:
    """Makes a task known by its name, and returns it."""
    known = _tasks.get(task.name)
    if known is not None and _origin(known) != _origin(task):
        raise ValueError(f"There is a task {task.name!r} already; choose another name.")
    _tasks[task.name] = task
    return task


def add_family(name: str, make: Callable[..., Task], most_numbers: int = 1) -> None:
    """Makes `make(k)` known as `<name>_<k>` for every whole number k, and `make(k, m)` as
    `<name>_<k>_<m>` where there may be two numbers."""
    _families[name] = make, most_numbers


def get(name: str) -> Task:
    """The task of that name; `memorize_5` is memorization with five symbols."""
    if name in _tasks:
        return _tasks[name]
    family, numbers = re.fullmatch("(.*?)((?:_[0-9]+)*)", name, re.DOTALL).groups()
    numbers = [int(number) for number in numbers.split("_")[1:]]
    make, most_numbers = _families.get(family, (None, 0))
    if 1 <= len(numbers) <= most_numbers:
        return make(*numbers)
    families = "".join(f", {each}_<k>" for each in _families)
    raise ValueError(f"There is no task {name!r}; there are {', '.join(names())}{families}.")


def names(form: str | None = None) -> tuple[str, ...]:
    """The names of all tasks, or of those of a form, in alphabetical order."""
    return tuple(sorted(n for n, task in _tasks.items() if form in (None, task.form)))


def _origin(task: Task) -> tuple[str, str]:
    # A notebook cell that is run again defines the same function anew: not a clash of names.
    made_by = getattr(task, "generate", None) or type(task)
    return made_by.__module__, made_by.__qualname__
