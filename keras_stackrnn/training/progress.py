"""What a person sees while a search runs: a live line on a terminal, plain lines in a pipe."""

import functools
import math
import shutil
from typing import TextIO

from keras_stackrnn.training.config import TrainingConfig
from keras_stackrnn.training.language_config import LanguageModelConfig
from keras_stackrnn.training.language_model import LanguageStatus
from keras_stackrnn.training.search import Status

AnyStatus = Status | LanguageStatus

_SECONDS_BETWEEN_LINES = 10


class Progress:
    """Shows where a search stands.

    Args:
        config: The run's configuration.
        output: Where to write. A terminal gets one line that changes, anything else a line every
            ten seconds.
    """

    def __init__(self, config: TrainingConfig | LanguageModelConfig, output: TextIO):
        self._config = config
        self._output = output
        self._live = output.isatty()
        self._line_is_open = False
        self._last_line_at = -math.inf
        self._before = (0.0, 0)
        self._speed = 0.0
        self._first: tuple[float, int] | None = None
        self._planned_updates: int | None = None

    def begin(self, status: AnyStatus, seconds: float, planned_updates: int | None = None) -> None:
        """Takes note of where the search begins, which may be far into it, and where it ends if
        the configuration does not say."""
        self._before = seconds, status.symbols
        self._planned_updates = planned_updates

    def show(self, status: AnyStatus, seconds: float) -> None:
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

    def _measure(self, status: AnyStatus, seconds: float) -> None:
        seconds_before, symbols_before = self._before
        if seconds > seconds_before:
            self._speed = (status.symbols - symbols_before) / (seconds - seconds_before)
        self._before = seconds, status.symbols
        if self._first is None:
            self._first = seconds, status.updates

    def _line(self, status: AnyStatus, seconds: float) -> str:
        left = clock(self._remaining(status, seconds))
        place, *figures = words_of(status)
        speed = f"{self._speed:,.0f} symbols/s"
        return "  ".join([f"{clock(seconds)} (at most {left} left)", place, speed, *figures])

    def _remaining(self, status: AnyStatus, seconds: float) -> float:
        # Without the first round, which compiles the programs.
        first_seconds, first_updates = self._first
        updates = status.updates - first_updates
        planned = self._planned_updates or self._config.planned_updates
        left = max(0, planned - status.updates)
        remaining = left * (seconds - first_seconds) / updates if updates else math.inf
        if self._config.minutes is not None:
            remaining = min(remaining, 60 * self._config.minutes - seconds)
        return max(0.0, remaining)


@functools.singledispatch
def words_of(status) -> list[str]:
    """A status in words: first how far it is, then its figures."""
    raise TypeError(f"Expected a status, got {status!r}.")


@words_of.register
def _(status: Status) -> list[str]:
    smallest, largest = status.n_range
    return [
        f"n {smallest}-{largest}",
        f"{status.alive} alive, {status.solved} solved",
        f"entropy {number(status.best_entropy, '.4f')}",
        f"soft {number(status.soft_accuracy, '.0%')}",
        f"rounded {number(status.rounded_accuracy, '.0%')}",
    ]


@words_of.register
def _(status: LanguageStatus) -> list[str]:
    return [
        f"epoch {status.epoch}",
        f"rate {status.learning_rate:.4g}",
        f"perplexity {number(status.train_perplexity, '.1f')}",
        f"validation {number(status.validation_perplexity, '.1f')}",
        f"best {number(status.best_perplexity, '.1f')}",
    ]


def clock(seconds: float) -> str:
    """Seconds as minutes and seconds: 1:05."""
    if not math.isfinite(seconds):
        return "-"
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def number(value: float, form: str) -> str:
    """A number, or a dash where there is none yet."""
    return format(value, form) if math.isfinite(value) else "-"
