"""What a person sees while a search runs: a live line on a terminal, plain lines in a pipe."""

import math
import shutil
from typing import TextIO

from keras_stackrnn.training.run_task import Status
from keras_stackrnn.training.wording import clock

_SECONDS_BETWEEN_LINES = 10


class Progress:
    """Shows where a search stands.

    Args:
        minutes: The search's budget, or `None`.
        output: Where to write. A terminal gets one line that changes, anything else a line every
            ten seconds.
    """

    def __init__(self, minutes: float | None, output: TextIO):
        self._minutes = minutes
        self._output = output
        self._live = output.isatty()
        self._line_is_open = False
        self._last_line_at = -math.inf
        self._before = (0.0, 0)
        self._speed = 0.0
        self._first: tuple[float, int] | None = None
        self._planned_updates = math.inf

    def begin(self, status: Status, seconds: float, planned_updates: int) -> None:
        """Takes note of where the search begins, which may be far into it, and where it ends."""
        self._before = seconds, status.symbols
        self._planned_updates = planned_updates

    def show(self, status: Status, seconds: float) -> None:
        """Shows a status after so many seconds of search."""
        self._measure(status, seconds)
        if not self._live and seconds < self._last_line_at + _SECONDS_BETWEEN_LINES:
            return
        self._last_line_at = seconds
        line = self._line(status, seconds)
        if self._live:
            columns = shutil.get_terminal_size().columns
            # The last column stays free: a terminal would begin a new line there.
            self._output.write(f"\r\x1b[K{line[: columns - 1]}")
            self._line_is_open = True
        else:
            self._output.write(f"{line}\n")
        self._output.flush()

    def say(self, text: str) -> None:
        """Writes a text on a line of its own, and leaves the live line above it."""
        if self._line_is_open:
            self._output.write("\n")
            self._line_is_open = False
        self._output.write(f"{text}\n")
        self._output.flush()

    def _measure(self, status: Status, seconds: float) -> None:
        seconds_before, symbols_before = self._before
        if seconds > seconds_before:
            self._speed = (status.symbols - symbols_before) / (seconds - seconds_before)
        self._before = seconds, status.symbols
        if self._first is None:
            self._first = seconds, status.updates

    def _line(self, status: Status, seconds: float) -> str:
        left = clock(self._remaining(status, seconds))
        place, *scores = status.words()
        speed = f"{self._speed:,.0f} symbols/s"
        return "  ".join([f"{clock(seconds)} (at most {left} left)", place, speed, *scores])

    def _remaining(self, status: Status, seconds: float) -> float:
        # Without the first round, which compiles the programs.
        first_seconds, first_updates = self._first
        updates = status.updates - first_updates
        left = max(0, self._planned_updates - status.updates)
        remaining = left * (seconds - first_seconds) / updates if updates else math.inf
        if self._minutes is not None:
            remaining = min(remaining, 60 * self._minutes - seconds)
        return max(0.0, remaining)
