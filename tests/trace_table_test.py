"""A trace as a table for a terminal, as rows and as CSV."""

import csv
import dataclasses
import io
import re

import keras
import numpy as np
import pytest
from trace_case import COUNTED, counter, random_model

if keras.backend.backend() != "tensorflow":
    pytest.skip("traces are tested on TensorFlow alone", allow_module_level=True)

from keras_stackrnn import trace
from keras_stackrnn.memories import LIST, STACK
from keras_stackrnn.trace.record import MemoryTrace, Trace
from keras_stackrnn.trace.table import display_width
from keras_stackrnn.trace.wording import number_text, symbol_text

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")

TABLE = """\
anbn: 4 symbols, soft actions

current  next  prediction  p(next)  stack1  stack1[top]
-------------------------------------------------------
a        a     a           0.73     PUSH    0.50
a        b     a x         0.27     PUSH    0.50
b        [b]   [b]         0.98     POP     0.50
b        [a]   [a]         0.98     POP     -1

2 of 2 predictable symbols right.
"""


def memory_of(name, actions, tops, weight=1.0, names=("PUSH", "POP")):
    """A memory that takes actions and then shows these elements."""
    taken = np.array([[name == action for name in names] for action in actions])
    weights = np.where(taken, weight, (1 - weight) / (len(names) - 1)).astype("float32")
    tops = np.array(tops, "float32")[:, None]
    kind = STACK if "PUSH" in names else LIST
    return MemoryTrace(name, kind.using("NO-OP" in names), weights, np.zeros(len(tops)), tops)


def record_of(*memories, symbols="ab", **changes):
    """A trace of memories, by a model that always predicts the first symbol."""
    steps = len(memories[0].tops)
    text = tuple(symbols[i % len(symbols)] for i in range(steps))
    values = {
        "symbols": text,
        "upcoming": (*text[1:], None),
        "deterministic": None,
        "vocabulary": tuple(symbols),
        "probabilities": np.array(
            [[0.75] + [0.25 / (len(symbols) - 1)] * (len(symbols) - 1)] * steps
        ),
        "memories": memories,
        "rounded": True,
        "title": "made up",
    }
    return Trace(**{**values, **changes})


def lines_of(record, width=None):
    return record.to_text(width).splitlines()


def test_the_papers_table():
    assert trace(counter(), COUNTED).to_text() == TABLE


def test_colours_change_nothing_but_the_brackets():
    text = trace(counter(), COUNTED).to_text(colors=True)
    plain = "\n".join(line.rstrip() for line in ESCAPES.sub("", text).splitlines()) + "\n"
    without_brackets = TABLE.replace("[b]   [b]  ", "b     b    ").replace(
        "[a]   [a]  ", "a     a    "
    )
    assert plain == without_brackets
    assert "\x1b[1mb" in text  # what can be predicted is bold
    assert "\x1b[2ma x" in text  # an error that nobody holds against the model is dim
    assert "\x1b[94mPUSH" in text
    assert "\x1b[33mPOP" in text


def test_what_is_predicted_wrong_is_marked():
    record = trace(counter(), COUNTED, force={"stack1": {2: "PUSH"}})
    assert lines_of(record)[0] == "anbn: 4 symbols, soft actions, forced: stack1 PUSH at 2"
    assert lines_of(record)[7].split()[:3] == ["b", "[a]", "[b]"]
    assert lines_of(record)[7].split()[3] == "x"
    assert lines_of(record)[-1] == "1 of 2 predictable symbols right."
    assert "\x1b[1;31mb x" in record.to_text(colors=True)


def test_memories_that_never_change_are_folded():
    memories = [
        memory_of("stack1", ["PUSH", "POP"], [0.5, -1]),
        memory_of("stack2", ["PUSH", "PUSH"], [0.501, 0.499]),
        memory_of("stack3", ["POP", "POP"], [-1, -1]),
        memory_of("stack4", ["PUSH", "PUSH"], [0.5, 0.51]),
        memory_of("stack5", ["PUSH", "PUSH"], [0.498, 0.499]),
        memory_of("stack6", ["POP", "NO-OP"], [-1, -1], names=("PUSH", "POP", "NO-OP")),
        memory_of("list1", ["LEFT", "RIGHT"], [-1, -1], names=("INSERT", "LEFT", "RIGHT")),
        memory_of("list2", ["INSERT", "LEFT"], [0.5, -1], names=("INSERT", "LEFT", "RIGHT")),
    ]
    lines = lines_of(record_of(*memories))
    assert lines[2].split()[4:] == [
        *("stack1", "stack4", "list2"),
        *("stack1[top]", "stack4[top]", "list2[head]"),
    ]
    assert lines[-2:] == [
        "stack2, stack5: always PUSH, top 0.50",
        "stack3, stack6, list1: always empty",
    ]


def test_a_table_of_nothing_but_idle_memories():
    lines = lines_of(record_of(memory_of("stack1", ["POP", "POP"], [-1, -1])), width=20)
    assert lines[2].split() == ["current", "next", "prediction", "p(next)"]
    assert lines[-1] == "stack1: always empty"


@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize("memories", [1, 7, 20])
def test_it_fits_the_width_and_shows_every_memory_once(width, memories):
    record = record_of(
        *(memory_of(f"stack{i}", ["PUSH", "POP"], [0.5, -0.25]) for i in range(memories))
    )
    lines = lines_of(record, width)
    assert max(map(len, lines)) <= width
    headers = " ".join(line for line in lines if line.startswith(("current", "read"))).split()
    for i in range(memories):
        assert headers.count(f"stack{i}") == 1
    if memories == 1:
        assert "PUSH" in lines[4]
    if memories == 7 and width == 120:
        assert lines[2].split()[:4] == ["read", "next", "pred.", "p(next)"]
    if memories == 20 and width == 60:
        assert lines[-1] == "Signs: + PUSH, - POP; numbers: the top."
        assert "+  0.50" in lines[4]
        assert "- -0.25" in lines[5]


def test_uncertain_actions_are_in_lower_case():
    memory = memory_of("stack1", ["PUSH", "POP"], [0.5, 0.25], weight=0.6)
    lines = lines_of(record_of(memory))
    assert "push" in lines[4].split()
    assert "pop" in lines[5].split()
    assert lines[-1] == "An action in lower case has a weight below 0.9."


def test_of_one_symbol_there_is_little_to_say():
    lines = lines_of(trace(counter(), "a"))
    assert lines[0] == "anbn: 1 symbol, soft actions"
    assert lines[-1] == "stack1: always PUSH, top 0.50"  # and nothing that could be predicted


def test_lost_elements_are_told():
    lines = lines_of(trace(counter(capacity=2), "aaaaabbbbb"))
    assert "stack1 lost 3.0 elements past its capacity of 2." in lines


def test_without_predictions_there_are_no_such_columns():
    record = record_of(memory_of("stack1", ["PUSH", "POP"], [0.5, -1]))
    record = dataclasses.replace(record, probabilities=np.full((2, 2), np.nan))
    lines = lines_of(record)
    assert lines[2].split() == ["current", "next", "stack1", "stack1[top]"]
    assert record.rows()[0]["prediction"] is None
    assert record.rows()[0]["probability"] is None


def test_wide_and_unprintable_symbols_keep_the_columns():
    symbols = ["一", "\n", " ", "\x1b[31m", "a" * 30, "e\u0301"]
    memory = memory_of("stack1", ["PUSH", "POP"] * 3, [0.5, 0.25] * 3)
    lines = lines_of(record_of(memory, symbols=symbols))
    places = {display_width(line.partition("PUSH")[0].partition("POP")[0]) for line in lines[4:10]}
    assert len(places) == 1
    assert [line.split()[0] for line in lines[4:10]] == [
        "一",
        "\\n",
        "␣",
        "\\x1b[31m",
        "a" * 15 + "…",
        "e\u0301",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-1, "-1"),
        (-0.997, "-1"),
        (-0.99, "-0.99"),
        (-0.001, "0.00"),
        (0.996, "1.00"),
        (0.5, "0.50"),
    ],
)
def test_numbers(value, text):
    assert number_text(value) == text


def test_no_symbol_is_no_text():
    assert symbol_text(None) == ""


class TestRows:
    def test_a_row_has_everything(self):
        rows = trace(counter(), COUNTED).rows()
        assert [row["symbol"] for row in rows] == list("aabb")
        assert rows[2] == {
            "symbol": "b",
            "next": "b",
            "deterministic": True,
            "prediction": "b",
            "probability": pytest.approx(0.9820138),
            "next_probability": pytest.approx(0.9820138),
            "stack1.action": "POP",
            "stack1.PUSH": 0.0,
            "stack1.POP": 1.0,
            "stack1.value": 0.5,
            "stack1[0]": 0.5,
            "stack1[1]": -1.0,
        }
        assert rows[1]["probability"] == pytest.approx(1 - rows[1]["next_probability"])

    def test_what_is_not_known_is_none(self):
        rows = trace(random_model(), "1+").rows()
        assert rows[-1]["next"] is None
        assert rows[-1]["next_probability"] is None
        assert rows[-1]["deterministic"] is None

    def test_a_list_is_read_around_its_head(self):
        [row] = trace(random_model("list"), "1", depth=4).rows()
        assert list(row)[-4:] == ["list1[0]", "list1[-1]", "list1[1]", "list1[-2]"]

    def test_csv_holds_the_rows(self, tmp_path):
        record = trace(random_model(memories=2), '1+="'.replace('"', "."))
        text = record.to_csv(tmp_path / "trace.csv")
        assert (tmp_path / "trace.csv").read_bytes().decode() == text
        read = list(csv.DictReader(io.StringIO(text)))
        for row, expected in zip(read, record.rows(), strict=True):
            assert row.keys() == expected.keys()
            for name, value in expected.items():
                if isinstance(value, float):
                    assert float(row[name]) == pytest.approx(value, rel=1e-6)
                else:
                    assert row[name] == ("" if value is None else str(value))


def test_an_unknown_memory():
    with pytest.raises(
        ValueError, match=r"^There is no memory 'stack2': expected one of stack1\.$"
    ):
        trace(counter(), COUNTED).memory("stack2")
