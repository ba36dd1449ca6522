"""Languages to be learned from 100 to 1,000 strings, as `small/<language>_<strings>`.

`small/<language>_<strings>_<seed>` is a set of another seed; any number of strings will do.
"""

import functools
from collections.abc import Callable, Sequence

from keras_stackrnn.tasks import registry
from keras_stackrnn.tasks.small import counting, dyck
from keras_stackrnn.tasks.small.language import COUNTS, TEST_STRINGS, SmallLanguage
from keras_stackrnn.tasks.small.task import SmallTask, small_task

LANGUAGES = {each.name: each for each in (*counting.LANGUAGES, *dyck.LANGUAGES)}

__all__ = ["COUNTS", "LANGUAGES", "TEST_STRINGS", "SmallLanguage", "SmallTask", "small_task"]


def _of_kinds(kinds: int, count: int = COUNTS[-1], seed: int = 0) -> SmallTask:
    if f"dyck_{kinds}" not in LANGUAGES:
        raise ValueError(f"The small Dyck languages have 1 or 2 kinds of brackets, got {kinds}.")
    return small_task(LANGUAGES[f"dyck_{kinds}"], count, seed)


def _add(
    family: str, make: Callable, most_numbers: int, languages: Sequence[SmallLanguage]
) -> None:
    names = [f"small/{each.name}_{count}" for each in languages for count in COUNTS]
    registry.add_family(f"small/{family}", make, most_numbers, names, SmallTask.form)


for _language in counting.LANGUAGES:
    _add(_language.name, functools.partial(small_task, _language), 2, [_language])
_add("dyck", _of_kinds, 3, dyck.LANGUAGES)
