"""What there is to train, as `--help` lists it, and what the words of its progress mean."""

import re
import textwrap

from keras_stackrnn import tasks
from keras_stackrnn.models import kinds
from keras_stackrnn.tasks import files
from keras_stackrnn.training.config import TrainingConfig
from keras_stackrnn.training.language_recipes import RECIPES as TEXT_RECIPES
from keras_stackrnn.training.language_recipes import TASKS as TEXTS
from keras_stackrnn.training.search_status import LEGEND

_WIDTH = 90
# A suite of a few languages, each with any number of strings.
_NUMBERED = "small/"


def listed() -> str:
    """Every task, model and recipe, and the words of a run's progress."""
    recipes = f"{', '.join(TrainingConfig.RECIPES)}; of text {', '.join(TEXT_RECIPES)}"
    return "\n".join(
        [
            "Tasks:",
            *(line for names in _tasks() for line in _wrapped(", ".join(names))),
            "",
            "Models:",
            *_wrapped(", ".join(kinds())),
            "",
            "Recipes:",
            *_wrapped(recipes),
            "",
            "Words of a run's progress:",
            textwrap.indent(LEGEND, "  "),
        ]
    )


def _tasks() -> list[list[str]]:
    """The tasks by suite; those that differ in numbers alone are named once."""
    suites: dict[str, dict[str, None]] = {}
    for name in tasks.names():
        if name.startswith(_NUMBERED):
            name = re.sub("_[0-9]+$", "_<k>", name)
        suites.setdefault(name.rpartition("/")[0], {})[name] = None
    return [*map(list, suites.values()), [*TEXTS, *files.FORMS]]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
    )
