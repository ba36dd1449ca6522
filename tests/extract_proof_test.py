"""Tests that proofs for all n are right where they hold, and that wrong tables have none."""

import dataclasses
import itertools

import keras
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

if keras.backend.backend() != "tensorflow":
    pytest.skip("rounded models run on TensorFlow's pointers", allow_module_level=True)

from extract_case import counter, trained

from keras_stackrnn import memories
from keras_stackrnn.extract import extract
from keras_stackrnn.extract.machine import Key, Machine, Row
from keras_stackrnn.extract.proof import counted_runs, prove
from keras_stackrnn.extract.proof.linear import (
    Linear,
    NotLinearError,
    UndecidedError,
    at_least,
    divided,
    substituted,
)
from keras_stackrnn.extract.proof.outcome import NoProofError
from keras_stackrnn.extract.proof.symbolic import SymbolicZipper
from keras_stackrnn.patterns import get

X, Y = Linear.name("x"), Linear.name("y")
STACK, LIST = (memories.get(name).using(no_op=False) for name in ("stack", "list"))


# Numbers of which not everything is known.


@given(st.lists(st.integers(-4, 4), min_size=3, max_size=3), st.integers(-6, 6))
def test_what_is_said_of_numbers_is_so_for_all_of_them(factors, bound):
    constant, *factors = factors
    number = X * factors[0] + Y * factors[1] + constant
    values = [
        substituted(number, {"x": x, "y": y}) for x, y in itertools.product(range(40), repeat=2)
    ]
    try:
        assert {value >= bound for value in values} == {at_least(number, bound)}
    except UndecidedError as undecided:
        # The cases are all there are, each once.
        pairs = [
            tuple(substituted(substituted(name, case), {"x": x, "y": y}) for name in (X, Y))
            for case in undecided.cases
            for x, y in itertools.product(range(12), repeat=2)
        ]
        assert {*itertools.product(range(8), repeat=2)} <= {*pairs}
        assert all(min(pair) >= 0 for pair in pairs)


def test_numbers_are_divided_where_that_is_linear():
    assert str(divided(4 * X + 7, 2)) == "2 x + 3"
    with pytest.raises(UndecidedError) as undecided:
        divided(X + 1, 2)
    assert [str(case["x"]) for case in undecided.value.cases] == ["2 x", "2 x + 1"]
    with pytest.raises(NotLinearError):
        X * Y
    assert X - X == 0


@pytest.mark.parametrize("name", [name for name in memories.names() if name != "queue"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_memories_of_blocks_do_as_the_packages_own(name, data):
    kind = memories.get(name)
    blocks, plain = SymbolicZipper(), kind.simulation(None)
    pieces = st.lists(st.sampled_from(kind.action_names), min_size=1, max_size=3)
    for action in data.draw(st.lists(pieces, max_size=4)) * 3:
        for number, each in enumerate(action * 3):
            blocks = blocks.act(kind, each, number % 2)
            plain.act(each, number % 2)
            assert [blocks.read(kind, place) for place in range(5)] == plain.read(5)


# Tables.


def machine_of(table, alphabet="ab", kind=STACK, depth=2, classes=1):
    """A machine with one memory; `table` is a function of symbol and classes seen."""
    rows = {}
    for token, symbol in enumerate(alphabet):
        for seen in itertools.product(range(-1, classes), repeat=depth):
            if answer := table(symbol, *seen):
                action, written, prediction = answer
                rows[Key(token, seen)] = Row(
                    (action,),
                    (written,),
                    None if prediction is None else alphabet.index(prediction),
                )
    places = tuple((0, place) for place in range(depth))
    return Machine(
        tuple(alphabet), (kind,), ("memory1",), places, (tuple(map(str, range(classes))),), rows
    )


def counting(symbol, top, below):
    if symbol == "a":
        return "PUSH", 0, None
    return "POP", None, "a" if below == -1 else "b"


def test_counting_is_proved_for_all_n():
    assert prove(machine_of(counting), get("anbn")).holds


@pytest.mark.parametrize("task", ["anb2n", "anbncn"])
def test_what_counts_for_another_task_is_not_proved(task):
    alphabet = get(task).alphabet
    proof = prove(machine_of(counting, alphabet), get(task))

    assert not proof.holds
    assert "predicted where" in proof.reason


def up_to(limit):
    """Counts in classes: right up to some n, and then not any more."""

    def table(symbol, top, below):
        if symbol == "a":
            return ("PUSH", min(top + 1, limit), None)
        return "POP", None, "a" if top in (0, limit) else "b"

    return table


@pytest.mark.parametrize("limit", [3, 11])
def test_a_table_that_is_wrong_from_some_n_on_is_not_proved(limit):
    machine = machine_of(up_to(limit), classes=limit + 1)
    right = [machine.run("a" * n + "b" * n)[n:] == ["b"] * (n - 1) + ["a"] for n in range(1, 20)]

    assert right.index(False) == limit
    assert not prove(machine, get("anbn")).holds


def test_a_row_that_is_missing_is_named():
    def table(symbol, top, below):
        return None if (symbol, top, below) == ("b", 0, 0) else counting(symbol, top, below)

    assert prove(machine_of(table), get("anbn")).reason == (
        "there is no row for symbol b, memory1 sees 0 0, in runs of 2, 2"
    )


def test_words_of_several_classes_and_loops_of_several_steps():
    # Classes in turn: an a pushes what is not on top.
    def table(symbol, top, below):
        if symbol == "a":
            return "PUSH", {-1: 0, 0: 1, 1: 2, 2: 0}[top], None
        return "POP", None, "a" if below == -1 else "b"

    assert prove(machine_of(table, classes=3), get("anbn")).holds


def test_a_list_that_walks_back_counts():
    def table(symbol, head, left):
        if symbol == "a":
            return "INSERT", 0, None
        return "LEFT", None, "a" if left == -1 else "b"

    assert prove(machine_of(table, kind=LIST), get("anbn")).holds


def test_two_numbers_are_free_where_the_task_draws_one():
    def table(symbol, top, below):
        if symbol != "c":
            return "PUSH", 0, None
        return "POP", None, "a" if below == -1 else "c"

    assert list(map(str, counted_runs.lengths(get("anbmcnm")))) == [
        "x + 1",
        "y + 1",
        "x + y + 2",
    ]
    assert prove(machine_of(table, "abc"), get("anbmcnm")).holds
    assert not prove(machine_of(table, "abcd"), get("anbmcndm")).holds
    with pytest.raises(NoProofError, match="not linear"):
        counted_runs.lengths(get("multiply"))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_random_table_is_proved_that_is_wrong_somewhere(data):
    actions = st.sampled_from([("PUSH", 0), ("PUSH", 1), ("POP", None)])
    drawn = {
        (symbol, top): (*data.draw(actions), data.draw(st.sampled_from("ab")))
        for symbol in "ab"
        for top in range(-1, 2)
    }
    machine = machine_of(lambda symbol, top: drawn[symbol, top], depth=1, classes=2)

    wrong = next(
        (n for n in range(1, 16) if machine.run("a" * n + "b" * n)[n:] != ["b"] * (n - 1) + ["a"]),
        None,
    )

    assert prove(machine, get("anbn")).holds == (wrong is None)


# Words, and the same backwards.


def reversing(kind=STACK, forget=None):
    """A stack for the word, beside another whose top says whether the mark was read."""
    adds, takes = kind.action_names[:2]
    rows = {}
    for symbol, *seen in itertools.product("12=", range(-1, 2), range(-1, 2), range(-1, 2)):
        top, _, phase = seen
        answering = symbol == "=" or phase == 1
        if answering:
            acts, writes = (takes, adds), (None, 1)
        else:
            acts, writes = (adds, adds), ("12".index(symbol), 0)
        said = None if not answering or top == -1 else top
        rows[Key("12=".index(symbol), tuple(seen))] = Row(acts, writes, said)
    if forget is not None:
        del rows[forget]
    return Machine(
        ("1", "2", "="),
        (kind, kind),
        (f"{kind.name}1", f"{kind.name}2"),
        ((0, 0), (0, 1), (1, 0)),
        (("1", "2"), ("reads", "says")),
        rows,
    )


@pytest.mark.parametrize("kind", [STACK, LIST])
def test_saying_any_word_backwards_is_proved(kind):
    machine = reversing(kind)

    assert machine.run("1221=122") == [None] * 4 + ["1", "2", "2", "1"]
    assert prove(machine, get("memorize")).holds


def test_words_that_lead_to_no_row_or_are_said_wrongly_are_not_proved():
    missing = Key(2, (1, 1, 0))  # a mark after two 2s
    proof = prove(reversing(forget=missing), get("memorize"))
    assert proof.reason == ("there may be no row for symbol =, stack1 sees 2 2, stack2 sees reads")
    machine = reversing()
    rows = {**machine.rows, missing: machine.rows[missing]._replace(prediction=0)}
    proof = prove(dataclasses.replace(machine, rows=rows), get("memorize"))
    assert proof.reason == "1 may be predicted where 2 comes next"


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_changed_table_is_proved_that_says_some_word_wrongly(data):
    machine = reversing(data.draw(st.sampled_from([STACK, LIST])))
    rows = dict(machine.rows)
    for key in data.draw(st.lists(st.sampled_from(list(rows)), max_size=2)):
        acts = tuple(data.draw(st.sampled_from(machine.kinds[0].action_names)) for _ in range(2))
        said = data.draw(st.sampled_from([0, 1, None]))
        rows[key] = Row(acts, tuple(data.draw(st.integers(0, 1)) for _ in range(2)), said)
    machine = dataclasses.replace(machine, rows=rows)
    words = ["".join(word) for n in range(1, 7) for word in itertools.product("12", repeat=n)]

    wrong = [
        word
        for word in words
        if machine.run(f"{word}={word[::-1]}")[len(word) : -1] != list(reversed(word))
    ]

    assert not (prove(machine, get("memorize")).holds and wrong)


def test_what_was_pushed_out_of_step_has_no_proof():
    # The word's stack keeps what was said, so that older symbols come up too late.
    machine = reversing()
    rows = {
        key: row._replace(actions=("PUSH", "PUSH"), writes=(key.seen[0], 1))
        if row.writes[1] == 1 and key.seen[0] >= 0
        else row
        for key, row in machine.rows.items()
    }

    assert not prove(dataclasses.replace(machine, rows=rows), get("memorize")).holds


# Networks.


def test_trained_networks_and_set_ones_are_proved_for_all_n():
    for model, task in ((trained(), "anb2n"), (counter(), "anbn"), (counter("list"), "anbn")):
        found = extract(model)
        assert found.proof.holds
        assert found.statement_for_all_n() == (
            f"Proved for all n, from 1 up: on every sequence of {task} that is read from an empty "
            "memory, the table, and so the network, has a row for whatever is met and predicts all "
            "that can be predicted, right."
        )


def test_tasks_and_memories_without_proofs_say_so():
    assert "no symbolic runs of queues" in extract(counter("queue")).statement_for_all_n()
    assert prove(machine_of(counting), get("binary_addition")).reason == (
        "the task binary_addition does not say what its sequences look like"
    )
