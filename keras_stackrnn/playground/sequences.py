"""What the page asks of tasks: examples, random sequences of any size, what can be predicted."""

import bisect

import numpy as np

from keras_stackrnn import tasks
from keras_stackrnn.tasks import Pattern
from keras_stackrnn.tasks.draws import draw_key
from keras_stackrnn.tasks.task import Exercise, Task

LARGEST_SIZE = 1000
MOST_CHARACTERS = 100_000
_EXAMPLE_SIZES = (3, 5, 8)


def about(name: str) -> dict:
    """What there is to choose from, and some sequences to begin with."""
    task = tasks.get(name)
    smallest = _smallest(task)
    sizes = [max(size, smallest) for size in _EXAMPLE_SIZES]
    exercises = [_exercise(task, size, index) for index, size in enumerate(sizes)]
    texts = [exercise.text for exercise in exercises if exercise is not None]
    return {
        "size_means": task.size_means,
        "smallest": smallest,
        "largest": LARGEST_SIZE,
        "examples": list(dict.fromkeys(filter(None, texts))),
        "starts_again": getattr(task, "next_first_is_deterministic", False),
    }


def drawn(name: str, size: str, seed: str) -> dict:
    """A sequence of a size, and the answer to it, where that is asked."""
    task = tasks.get(name)
    smallest = _smallest(task)
    numbers = [int(each) if each.isdecimal() and len(each) < 19 else -1 for each in (size, seed)]
    if not smallest <= numbers[0] <= LARGEST_SIZE:
        raise ValueError(f"Expected a size from {smallest} to {LARGEST_SIZE}, got {size!r}.")
    if numbers[1] < 0:
        raise ValueError(f"Expected a seed of 0 or more, got {seed!r}.")
    exercise = _exercise(task, *numbers)
    if exercise is None:
        raise ValueError(f"Task {name!r} has no sequence of size {size}.")
    return exercise._asdict()


def read(name: str, texts: object) -> dict:
    """Which symbols of each text can be predicted.

    `known` says of each symbol whether it tells what follows; it ends where the task would have
    written something else. `whole` says whether the text is sequences of the task and no less.
    """
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError("Expected texts, a list of strings.")
    if sum(map(len, texts)) > MOST_CHARACTERS:
        raise ValueError(f"Expected up to {MOST_CHARACTERS} characters, got more.")
    task = tasks.get(name)
    if not isinstance(task, Pattern):
        raise ValueError(f"Nobody can tell what follows in sequences of {name!r}.")
    return {"texts": [_read(task, text) for text in texts]}


def _read(task: Pattern, text: str) -> dict:
    # What begins a sequence of the task begins with what does, too.
    shortest_wrong = bisect.bisect_left(
        range(1, len(text) + 1), True, key=lambda length: _parsed(task, text[:length]) is None
    )
    sequences = _parsed(task, text[:shortest_wrong])
    if not sequences:
        return {"known": [], "whole": not text}
    joined = task.join([*sequences, sequences[0]])
    whole = shortest_wrong == len(text) == len(task.join(sequences).text)
    return {"known": joined.deterministic[1 : shortest_wrong + 1].tolist(), "whole": whole}


def _parsed(task: Pattern, text: str) -> list | None:
    try:
        return task.parse(text)
    except ValueError:
        return None


def _smallest(task: Task) -> int:
    return max(1, getattr(task, "smallest_n", task.train_sizes[0]))


def _exercise(task: Task, size: int, index: int) -> Exercise | None:
    """One of a size, if there is any: finite sets have gaps."""
    key = draw_key(task.name, "train", size, index)
    exercises = task.exercises(task.rows(np.array([size]), np.array([key], np.uint64)))
    return exercises[0] if exercises else None
