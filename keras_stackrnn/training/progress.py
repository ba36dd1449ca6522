"""What a person sees while a search runs: a live line on a terminal, plain lines in a pipe."""

import math
import shutil
from typing import Protocol, TextIO

from keras_stackrnn.training.run_task import Status
from keras_stackrnn.training.wording import clock

_SECONDS_BETWEEN_LINES = 10
_GAP = "  "
_CLEAR = "\r\x1b[K"


class Report(Protocol):
    """Whom a run tells how it goes."""

    def compile(self) -> None:
        """The programs are about to be compiled, which takes a while."""

    def begin(self, status: Status, seconds: float, planned_updates: int) -> None:
        """Takes note of where the search begins, which may be far into it, and where it ends."""

    def show(self, status: Status, seconds: float) -> None:
        """Shows a status after so many seconds of search."""

    def say(self, text: str) -> None:
        """Says something for people to read."""

    def conclude(self, text: str, evaluation: dict) -> None:
        """Says what came of it: for people, and as it is in `evaluation.json`."""


class Pace:
    """How fast a search is, and how long it may still take.

    Args:
        minutes: The search's budget, or `None`.
    """

    def __init__(self, minutes: float | None):
        self._minutes = minutes
        self._before = (0.0, 0)
        self._first: tuple[float, int] | None = None
        self._planned_updates = math.inf
        self.symbols_a_second = 0.0

    def begin(self, status: Status, seconds: float, planned_updates: int) -> None:
        """Takes note of where the search begins, and where it ends."""
        self._before = seconds, status.symbols
        self._planned_updates = planned_updates

    def measure(self, status: Status, seconds: float) -> None:
        """Takes note of where the search is."""
        seconds_before, symbols_before = self._before
        if seconds > seconds_before:
            symbols = status.symbols - symbols_before
            self.symbols_a_second = symbols / (seconds - seconds_before)
        self._before = seconds, status.symbols
        if self._first is None:
            self._first = seconds, status.updates

    def seconds_left(self, status: Status, seconds: float) -> float:
        """How long it takes at most; infinity as long as nobody knows."""
        # Without the first round, which compiles the programs.
        first_seconds, first_updates = self._first or (seconds, status.updates)
        updates = status.updates - first_updates
        left = max(0, self._planned_updates - status.updates)
        remaining = left * (seconds - first_seconds) / updates if updates else math.inf
        if self._minutes is not None:
            remaining = min(remaining, 60 * self._minutes - seconds)
        return max(0.0, remaining)


class Progress:
    """Shows people where a search stands.

    Args:
        minutes: The search's budget, or `None`.
        output: Where to write. A terminal gets one line that changes, anything else a line every
            ten seconds.
    """

    def __init__(self, minutes: float | None, output: TextIO):
        self._output = output
        self._live = output.isatty()
        self._line_is_open = False
        self._last_line_at = -math.inf
        self._pace = Pace(minutes)

    def compile(self) -> None:
        self._write("compiling, which takes a few seconds …")

    def begin(self, status: Status, seconds: float, planned_updates: int) -> None:
        self._pace.begin(status, seconds, planned_updates)
        if self._live:
            self._output.write(_CLEAR)
            self._line_is_open = False
        self.say(status.legend())
        if self._live:
            self.compile()

    def show(self, status: Status, seconds: float) -> None:
        self._pace.measure(status, seconds)
        if not self._live and seconds < self._last_line_at + _SECONDS_BETWEEN_LINES:
            return
        self._last_line_at = seconds
        self._write(self._line(status, seconds))

    def say(self, text: str) -> None:
        if self._line_is_open:
            self._output.write("\n")
            self._line_is_open = False
        self._output.write(f"{text}\n")
        self._output.flush()

    def conclude(self, text: str, evaluation: dict) -> None:
        self.say(text)

    def _write(self, line: str) -> None:
        if self._live:
            self._output.write(f"{_CLEAR}{line}")
            self._line_is_open = True
        else:
            self._output.write(f"{line}\n")
        self._output.flush()

    def _line(self, status: Status, seconds: float) -> str:
        left = clock(self._pace.seconds_left(status, seconds))
        scores, *others = status.words()
        speed = f"{self._pace.symbols_a_second:,.0f} symbols/s"
        words = [scores, f"{clock(seconds)}, at most {left} left", *others, speed]
        if not self._live:
            return _GAP.join(words)
        # The last column stays free: a terminal would begin a new line there.
        columns = shutil.get_terminal_size().columns - 1
        line = words[0]
        for word in words[1:]:
            if len(line) + len(_GAP) + len(word) > columns:
                break
            line += _GAP + word
        return line[:columns]
