"""The progress line, on a terminal and in a pipe."""

import io
import json
import math
import re

import pytest
from training_case import status

from keras_stackrnn.training.logs import LOGS
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
    progress.compile()
    progress.begin(status(updates=0, symbols=0), 0.0, 1000)
    progress.show(status(updates=100), 20.0)
    progress.show(status(updates=600, symbols=240_000), 70.0)
    compiling, *legend, first, second = pipe.getvalue().splitlines()
    assert legend == status().legend().splitlines()
    assert compiling.startswith("compiling")
    assert first == (
        "right: soft 50%, rounded 100%  0:20, at most - left  n 1-12  16 alive, 3 solved"
        "  entropy 0.0123  2,000 symbols/s"
    )
    assert second == (
        "right: soft 50%, rounded 100%  1:10, at most 0:40 left  n 1-12  16 alive, 3 solved"
        "  entropy 0.0123  4,000 symbols/s"
    )


def test_the_legend_explains_every_word():
    legend = status().legend()
    words = re.findall(r"[a-z]+", " ".join(status().words()))
    assert all(f"{word}:" in legend or f"({word})" in legend for word in words), words
    assert max(map(len, legend.splitlines())) < 100


def test_a_budget_bounds_what_is_left():
    pipe = io.StringIO()
    progress = progress_on(pipe, minutes=2)
    progress.show(status(updates=1), 30.0)
    progress.show(status(updates=2), 60.0)
    assert "1:00, at most 1:00 left" in pipe.getvalue()


def test_what_is_not_there_is_a_dash():
    pipe = io.StringIO()
    progress_on(pipe).show(status(best_entropy=math.inf, rounded_accuracy=math.nan), 1.0)
    assert "right: soft 50%, rounded -" in pipe.getvalue()
    assert "entropy -" in pipe.getvalue()


def test_a_pipe_gets_a_line_every_ten_seconds():
    pipe = io.StringIO()
    progress = progress_on(pipe)
    for second in range(25):
        progress.show(status(), float(second))
    times = [re.search(r"(\d:\d\d), at most", line)[1] for line in pipe.getvalue().splitlines()]
    assert times == ["0:00", "0:10", "0:20"]
    assert "\r" not in pipe.getvalue()


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 200])
def test_a_terminal_gets_one_line_that_changes_and_fits(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    terminal = Terminal()
    progress = progress_on(terminal)
    progress.compile()
    progress.show(status(), 1.0)
    progress.show(status(), 2.0)
    progress.say("done")
    lines, rest = terminal.getvalue().split("\n", 1)
    compiling, first, second = lines.removeprefix("\r\x1b[K").split("\r\x1b[K")
    assert compiling.startswith("compiling")
    assert rest == "done\n"
    whole = "right: soft 50%, rounded 100%  0:02, at most - left  n 1-12  16 alive, 3 solved"
    assert max(len(first), len(second)) < columns
    assert second.startswith(whole[: len(second)])
    # What does not fit is left out as a whole.
    assert columns < 40 or whole[len(second) : len(second) + 2] in ("  ", "")


def events(log):
    pipe = io.StringIO()
    log = LOGS[log](2.0, pipe)
    log.compile()
    log.begin(status(updates=0, symbols=0), 0.0, 1000)
    log.show(status(best_entropy=math.inf), 1.5)
    log.say("Evaluating.")
    log.conclude("All right.", {"task": "anbn", "rounded": {"percent_n_correct": 100.0}})
    return pipe.getvalue()


def test_machines_get_an_object_a_line():
    lines = [json.loads(line) for line in events("json").splitlines()]
    assert [line["event"] for line in lines] == ["compiling", "progress", "message", "done"]
    row = {**status().row(), "best_entropy": None}
    assert lines[1].pop("text").startswith("right: soft 50%, rounded 100%")
    assert lines[1] == {"event": "progress", "seconds": 1.5, "seconds_left": 118.5, **row}
    assert lines[2]["text"] == "Evaluating."
    assert lines[3]["evaluation"]["rounded"] == {"percent_n_correct": 100.0}


def test_a_quiet_run_says_nothing():
    assert events("none") == ""


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (65.9, "1:05"), (3600, "60:00"), (math.inf, "-")]
)
def test_clock(seconds, text):
    assert clock(seconds) == text
