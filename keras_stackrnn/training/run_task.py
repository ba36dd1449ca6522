"""What a run asks of its task, and of the task's search: a further kind of task is a file more."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np

from keras_stackrnn.models import NextSymbolModel


class Status(Protocol):
    """Where a search stands."""

    updates: int
    symbols: int

    def row(self) -> dict[str, float]:
        """The status as a row of `metrics.csv`."""

    def words(self) -> list[str]:
        """The status in words: first its scores, then the rest, the most important first."""

    def legend(self) -> str:
        """What these words mean."""


class AnySearch(Protocol):
    """Learns, round by round, and knows the best so far. It sees nothing of the test."""

    done: bool
    planned_updates: int

    def advance(self) -> None:
        """One round."""

    def status(self) -> Status:
        """Where it stands."""

    def state(self) -> tuple[dict[str, np.ndarray], dict]:
        """Everything, as arrays and as plain values: `restore` continues exactly from there."""

    def restore(self, arrays: dict[str, np.ndarray], meta: dict) -> None:
        """Continues from a `state()`."""


class RunTask(Protocol):
    """What is learned in a run, and how it is shown.

    Attributes:
        evaluating: Says that the evaluation begins.
    """

    evaluating: str

    def search(self) -> AnySearch:
        """The search, at its beginning; all that follows is about this one."""

    def picture(self) -> bytes | None:
        """What to show of the search beside its scores, as PNG."""

    def best_model(self) -> NextSymbolModel:
        """The model that the run is for."""

    def evaluate(self, model: NextSymbolModel, check: Callable[[], None]) -> dict:
        """What the test says of it, fit for JSON; `check`, which may raise, is called now and then.
        Nothing else reads the test."""

    def draw(self, folder: Path, model: NextSymbolModel, evaluation: dict) -> None:
        """Draws the pictures that stay."""

    def closing_words(self, evaluation: dict) -> str:
        """What is said at the end."""

    def close(self) -> None:
        """Nothing more is asked; also of a run that failed."""
