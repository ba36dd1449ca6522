"""The progress line, on a terminal and in a pipe."""

import io
import math

import pytest
from training_case import status

from keras_stackrnn.training.progress import Progress
from keras_stackrnn.training.wording import clock


class Terminal(io.StringIO):
    def isatty(self):
        return True


def progress_on(output, minutes=None):
    return Progress(minutes, output)


def test_a_line_says_it_all():
    pipe = io.StringIO()
    progress = progress_on(pipe)
    progress.begin(status(updates=0, symbols=0), 0.0, 1000)
    progress.show(status(updates=100), 20.0)
    progress.show(status(updates=600, symbols=240_000), 70.0)
    assert pipe.getvalue().splitlines() == [
        "0:20 (at most - left)  n 1-12  2,000 symbols/s  16 alive, 3 solved  entropy 0.0123"
        "  soft 50%  rounded 100%",
        "1:10 (at most 0:40 left)  n 1-12  4,000 symbols/s  16 alive, 3 solved  entropy 0.0123"
        "  soft 50%  rounded 100%",
    ]


def test_a_budget_bounds_what_is_left():
    pipe = io.StringIO()
    progress = progress_on(pipe, minutes=2)
    progress.show(status(updates=1), 30.0)
    progress.show(status(updates=2), 60.0)
    assert "1:00 (at most 1:00 left)" in pipe.getvalue()


def test_what_is_not_there_is_a_dash():
    pipe = io.StringIO()
    progress_on(pipe).show(status(best_entropy=math.inf, rounded_accuracy=math.nan), 1.0)
    assert "entropy -  soft 50%  rounded -" in pipe.getvalue()


def test_a_pipe_gets_a_line_every_ten_seconds():
    pipe = io.StringIO()
    progress = progress_on(pipe)
    for second in range(25):
        progress.show(status(), float(second))
    assert [line.split()[0] for line in pipe.getvalue().splitlines()] == ["0:00", "0:10", "0:20"]
    assert "\r" not in pipe.getvalue()


def test_a_terminal_gets_one_line_that_changes(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    terminal = Terminal()
    progress = progress_on(terminal)
    progress.show(status(), 1.0)
    progress.show(status(), 2.0)
    progress.say("done")
    first, second, rest = terminal.getvalue().removeprefix("\r").replace("\n", "\r", 1).split("\r")
    assert (first[:7], second[:7], rest) == ("\x1b[K0:01", "\x1b[K0:02", "done\n")
    assert len(second) == len("\x1b[K") + 39


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (65.9, "1:05"), (3600, "60:00"), (math.inf, "-")]
)
def test_clock(seconds, text):
    assert clock(seconds) == text
