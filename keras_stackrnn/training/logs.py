"""How a run can tell how it goes: to people, to machines, or not at all."""

import json
import math
from collections.abc import Callable
from typing import TextIO

from keras_stackrnn.training.progress import Pace, Progress, Report
from keras_stackrnn.training.run_task import Status


class JsonLines:
    """Writes a JSON object on each line: `"event"` is compiling, progress, message or done.

    Args:
        minutes: The search's budget, or `None`.
        output: Where to write.
    """

    def __init__(self, minutes: float | None, output: TextIO):
        self._output = output
        self._pace = Pace(minutes)

    def compile(self) -> None:
        self._write("compiling")

    def begin(self, status: Status, seconds: float, planned_updates: int) -> None:
        self._pace.begin(status, seconds, planned_updates)

    def show(self, status: Status, seconds: float) -> None:
        self._pace.measure(status, seconds)
        left = self._pace.seconds_left(status, seconds)
        text = "  ".join(status.words())
        self._write("progress", text=text, seconds=seconds, seconds_left=left, **status.row())

    def say(self, text: str) -> None:
        self._write("message", text=text)

    def conclude(self, text: str, evaluation: dict) -> None:
        self._write("done", evaluation=evaluation)

    def _write(self, event: str, **values: object) -> None:
        line = json.dumps({"event": event, **{name: _finite(v) for name, v in values.items()}})
        self._output.write(f"{line}\n")
        self._output.flush()


class Silence:
    """Says nothing: what a run finds is in its folder.

    Args:
        minutes: The search's budget, or `None`.
        output: Where nothing is written.
    """

    def __init__(self, minutes: float | None, output: TextIO):
        del minutes, output

    def compile(self) -> None:
        pass

    def begin(self, status: Status, seconds: float, planned_updates: int) -> None:
        pass

    def show(self, status: Status, seconds: float) -> None:
        pass

    def say(self, text: str) -> None:
        pass

    def conclude(self, text: str, evaluation: dict) -> None:
        pass


LOGS: dict[str, Callable[[float | None, TextIO], Report]] = {
    "text": Progress,
    "json": JsonLines,
    "none": Silence,
}


def _finite(value: object) -> object:
    """A value as JSON has it, which knows no infinity."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
