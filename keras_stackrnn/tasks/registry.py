"""Every task by its name."""

from collections.abc import Callable

from keras_stackrnn.tasks.task import Task

_tasks: dict[str, Task] = {}
_families: dict[str, Callable[[int], Task]] = {}


def add(task: Task) -> Task:
    """Makes a task known by its name, and returns it."""
    known = _tasks.get(task.name)
    if known is not None and _origin(known) != _origin(task):
        raise ValueError(f"There is a task {task.name!r} already; choose another name.")
    _tasks[task.name] = task
    return task


def add_family(name: str, make: Callable[[int], Task]) -> None:
    """Makes `make(k)` known as `<name>_<k>` for every whole number k."""
    _families[name] = make


def get(name: str) -> Task:
    """The task of that name; `memorize_5` is memorization with five symbols."""
    if name in _tasks:
        return _tasks[name]
    family, _, number = name.rpartition("_")
    if family in _families and number.isdecimal():
        return _families[family](int(number))
    families = "".join(f", {each}_<k>" for each in _families)
    raise ValueError(f"There is no task {name!r}; there are {', '.join(names())}{families}.")


def names(form: str | None = None) -> tuple[str, ...]:
    """The names of all tasks, or of those of a form, in alphabetical order."""
    return tuple(sorted(n for n, task in _tasks.items() if form in (None, task.form)))


def _origin(task: Task) -> tuple[str, str]:
    # A notebook cell that is run again defines the same function anew: not a clash of names.
    made_by = getattr(task, "generate", None) or type(task)
    return made_by.__module__, made_by.__qualname__
