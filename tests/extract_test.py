"""Tests that the tables read out of networks are the networks, and that a change shows."""

import dataclasses
import json
import re
import subprocess
import sys
from xml.etree import ElementTree

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

if keras.backend.backend() != "tensorflow":
    pytest.skip("rounded models run on TensorFlow's pointers", allow_module_level=True)

from extract_case import ANB2N, counter, run_extract, trained
from training_case import REPOSITORY

import keras_stackrnn
from keras_stackrnn import memories
from keras_stackrnn.extract import (
    OfTask,
    UnknownRowError,
    certificate,
    extract,
    fine,
    quotient,
)
from keras_stackrnn.extract import __main__ as command
from keras_stackrnn.extract.agreement import agreement, score
from keras_stackrnn.memories import standalone
from keras_stackrnn.models import NextSymbolModel
from keras_stackrnn.patterns import get


@pytest.fixture(scope="module")
def found():
    return extract(trained(), name="anb2n")


def test_the_table_of_a_trained_network_is_small_certified_and_right(found):
    assert found.certificate.holds
    assert len(found.fine.rows) == 11
    assert len(found.quotient.rules) == 4
    assert found.statement().startswith("Proved: on every text, of any length, ")
    assert set(score(found.machine, get("anb2n"), 2).values()) == {1.0}
    for n in (1, 60, 500):
        seen = agreement(trained(), found.machine, get("anb2n"), n)
        assert (seen.symbols, seen.same, seen.right, seen.unknown) == (2 * n, 2 * n, 2 * n, None)


@settings(max_examples=12, deadline=None)
@given(st.lists(st.sampled_from(["a", "aaa", "b", "bb"]), min_size=1, max_size=8))
def test_network_and_table_do_the_same_on_any_text_until_a_row_is_unknown(pieces):
    found, text = extract(trained()), "".join(pieces)
    rows, known = [], None
    try:
        rows.extend(found.fine.steps(text))
    except UnknownRowError as unknown:
        known = int(re.search(r"symbol (\d+) of", str(unknown)).group(1)) - 1
        with pytest.raises(UnknownRowError):
            found.machine.run(text)
    # `extend` keeps what came before the unknown row.
    assert len(rows) == (len(text) if known is None else known)

    traced = keras_stackrnn.trace(trained(), text, rounding=True)

    for step, row in enumerate(rows):
        assert row.actions == tuple(memory.taken[step] for memory in traced.memories)
        if row.prediction is not None:
            assert "ab"[row.prediction] == traced.predictions[step]
    if known is None:
        small = [None if each is None else "ab".index(each) for each in found.machine.run(text)]
        assert all(
            one is None or one == row.prediction for one, row in zip(small, rows, strict=True)
        )


@pytest.mark.parametrize(
    ("model", "array"), [(counter, "weights"), (trained, "decisions"), (trained, "values")]
)
def test_one_changed_weight_that_flips_an_action_breaks_the_certificate(model, array):
    found = extract(model())
    network, generator = found.network, np.random.default_rng(0)
    texts = [lesson.tokens for lesson in next(found.lessons.batches())[:5]]
    expected = [actions_of(network, text) for text in texts]
    flipped = 0
    for _ in range(40):
        weights = getattr(network, array).copy()
        place = tuple(generator.integers(size) for size in weights.shape)
        weights[place] += generator.choice([-1, 1]) * 10.0 ** generator.uniform(-1, 3)
        mutant = dataclasses.replace(network, **{array: weights})
        if [actions_of(mutant, text) for text in texts] == expected:
            continue
        flipped += 1
        assert not certificate.certify(mutant, found.table).holds
        anew = fine.build(mutant, found.lessons.batches(), found.width)
        assert anew.machine.rows != found.table.machine.rows
    assert flipped > 3


def actions_of(network, tokens):
    """What a network does with its own values, in exact arithmetic."""
    stacks = [network.kind.simulation(None) for _ in range(network.memories)]
    taken = []
    for token in tokens:
        read = np.array([stack.read(network.read_depth) for stack in stacks])[None, ..., None]
        step = network.step(np.array([token]), read, np.empty((1, 0)))
        taken.append([network.kind.action_names[action] for action in step.actions[0]])
        for stack, action, value in zip(stacks, taken[-1], step.values[0, :, 0], strict=True):
            stack.act(action, value)
    return taken


def test_a_row_that_is_decided_by_a_hair_fails_by_its_name_and_margin():
    model = counter()
    weights = model.get_weights()
    weights[2][0, 0] = 10 + 1e-5  # PUSH and POP at an a
    model.set_weights(weights)

    found = extract(model, name="hair")

    assert not found.certificate.holds
    assert found.statement().startswith("Not proved: PUSH of stack1 fails by ")
    assert "at symbol a, stack1 sees empty empty" in found.statement()


@pytest.mark.parametrize(
    ("kind", "read_depth"), [("stack", 2), ("list", 2), ("editor", 2), ("stack", 3)]
)
def test_a_counter_of_any_kind_is_three_rows(kind, read_depth):
    model = counter(kind, read_depth=read_depth, no_op=kind == "editor")
    if kind == "editor":  # INSERT, DELETE, ...: the second action takes away
        assert model.recurrent[0].cell.actions[1] == "DELETE"

    found = extract(model)

    assert found.certificate.holds
    assert [rule.row.prediction for rule in found.quotient.rules].count(None) == 1
    assert len(found.quotient.rules) == 3
    assert found.machine.run("aabb") == [None, None, "b", "a"]


def test_a_queue_is_read_out_as_well():
    # At each a an element is added, at each b one is taken: the same count, from the front.
    found = extract(counter("queue"))

    assert found.certificate.holds
    assert found.machine.run("aaabbb") == [None, None, None, "b", "b", "a"]


def test_elements_of_several_numbers_have_classes_that_are_boxes():
    model = counter(element_size=2)

    found = extract(model)

    assert found.certificate.holds
    assert found.certificate.low[0].shape == (1, 2)
    assert found.machine.run("aabb") == [None, None, "b", "a"]


def test_streams_are_watched_on_more_and_said_in_the_statement():
    found = extract(trained(), OfTask(get("anb2n"), streams=3))

    assert len(found.fine.rows) > 11
    assert "an empty memory, in streams of 3 sequences" in found.statement()


def test_a_quotient_of_random_tables_predicts_as_the_table_does(found):
    # Every single row of the fine table is done as it says, where the quotient sees it.
    small = found.quotient
    for key, row in found.fine.rows.items():
        done = small.machine.rows[small.project(found.fine, key)]
        for memory, kept in enumerate(small.kept):
            assert done.actions[memory] == row.actions[kept] or key.seen[2 * kept] == -1
        if key in found.table.scored:
            assert done.prediction == row.prediction


def test_memories_that_are_not_needed_are_left_out():
    model = counter(memories=1)
    twin = NextSymbolModel("stack", "ab", 3, memories=2, rounding=True, task="anbn")
    kernel, memory, decisions, values, outputs = model.get_weights()
    twin.set_weights(
        [
            kernel,
            np.stack([memory[0], 0 * memory[0], memory[1], 0 * memory[1]]),
            np.repeat(decisions, 2, axis=1),
            np.repeat(values, 2, axis=1),
            outputs,
        ]
    )

    found = extract(twin)

    assert found.machine.memories == ("stack1",)
    assert len(found.quotient.rules) == 3


def test_the_page_shows_the_table_that_is_read_out(found):
    page = (REPOSITORY / "docs/extraction.md").read_text(encoding="utf-8")
    shown = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]

    rows = [re.split(r"\s{2,}", line) for line in found.to_text().splitlines()]
    assert [[cell for cell in row if cell not in ("", "→")] for row in shown[2:]] == [
        [cell for cell in row if cell != "->"] for row in rows[2:]
    ]
    assert shown[0][:3] == rows[0][:3]
    assert found.statement_for_all_n().startswith("Proved for all n, ")


# What is written.


def run_alone(path, *arguments):
    """A file in a fresh interpreter that sees no package but Python's own."""
    return subprocess.run(
        [sys.executable, "-I", "-S", str(path), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_emitted_program_runs_and_tests_itself_in_a_fresh_interpreter(found, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(found.to_python())

    assert run_alone(path).stdout == "12 texts as expected\n"
    assert run_alone(path, "aabbbb").stdout == "??bbba\n"
    unknown = run_alone(path, "aabbbbb")
    assert unknown.returncode == 1
    assert unknown.stderr.startswith("no row for 'b' where ")
    assert "expected one of a b, got 'c'" in run_alone(path, "ac").stderr
    broken = path.read_text().replace("('PUSH', 1)), 'b')", "('PUSH', 1)), 'a')")
    assert broken != path.read_text()
    path.write_text(broken)
    assert "AssertionError: ab" in run_alone(path).stderr


@pytest.mark.parametrize("kind", memories.names())
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_memories_of_emitted_programs_do_as_the_packages_own(kind, data):
    kind = memories.get(kind)
    name, arguments = kind.standalone()
    alone, ours = getattr(standalone, name)(*arguments), kind.simulation(None)
    for number, action in enumerate(
        data.draw(st.lists(st.sampled_from(kind.action_names), max_size=30))
    ):
        alone.act(action, number)
        ours.act(action, number)
        assert [alone.read(place) for place in range(5)] == ours.read(5)


def test_json_holds_both_tables_and_the_boxes(found):
    document = json.loads(found.to_json())

    assert document["certified"] is True
    assert len(document["rules"]) == 4
    assert len(document["fine"]["rows"]) == 11
    for (low,), (high,) in document["fine"]["boxes"][1]:
        assert low < high


def test_pictures_show_each_rule_once(found):
    dot, svg = found.to_graphviz(), ElementTree.fromstring(found.to_svg())

    assert dot.count("[label=") == 4
    assert dot.count("start -> ") == 1
    titles = [text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert [title for title in titles if title.startswith("read ")] == ["read a"] + ["read b"] * 3


def accepts(automaton, text):
    """Runs JFLAP's pushdown automaton: every way there is."""
    states = {
        each.get("id"): (each.find("initial") is not None, each.find("final") is not None)
        for each in automaton.iter("state")
    }
    now = {(state, "Z") for state, (initial, _) in states.items() if initial}
    for symbol in text:
        now = {
            (step.findtext("to"), step.findtext("push") + stack[len(step.findtext("pop")) :])
            for state, stack in now
            for step in automaton.iter("transition")
            if (step.findtext("from"), step.findtext("read")) == (state, symbol)
            and stack.startswith(step.findtext("pop"))
        }
        assert len(now) < 2
    return any(states[state][1] for state, _ in now)


def test_jflaps_automaton_accepts_the_language():
    automaton = ElementTree.fromstring(extract(counter()).to_jflap())

    assert automaton.findtext("type") == "pda"
    for a in range(7):
        for b in range(7):
            assert accepts(automaton, "a" * a + "b" * b) == (a == b > 0)


def test_jflap_wants_one_stack(found):
    with pytest.raises(
        ValueError, match="expected a machine with just one stack, got one with stack1"
    ):
        found.to_jflap()
    with pytest.raises(ValueError, match="just one stack, got one with list1"):
        extract(counter("list")).to_jflap()


# What is refused.


@pytest.mark.parametrize(
    ("model", "answer"),
    [
        (lambda: counter(rounding=False), "are mixed, and only rounded ones make a table"),
        (lambda: NextSymbolModel("rnn", "ab", 3), "is a 'rnn' and has no memory"),
        (lambda: NextSymbolModel("stack", "ab", 3, layers=2, rounding=True), "has 2: train one"),
        (lambda: keras.Sequential(name="plain"), "expected a NextSymbolModel, got a Sequential"),
    ],
)
def test_what_has_no_table_is_answered_with_a_sentence(model, answer):
    with pytest.raises(ValueError, match=answer):
        extract(model())


def test_too_many_classes_are_a_sentence(monkeypatch):
    monkeypatch.setattr(fine, "MOST_ROWS", 3)

    with pytest.raises(ValueError, match="too many classes for a table: more than 3 rows"):
        extract(trained())


def test_a_task_with_other_symbols_is_a_sentence():
    with pytest.raises(ValueError, match="'anbncn' has the symbols abc, and the_model knows ab"):
        extract(trained(), OfTask(get("anbncn")), name="the_model")


# The command.


def test_the_command_says_what_is_proved_and_what_was_seen(capsys):
    run_extract(f"--model={ANB2N}", "--check_n=100")

    said = capsys.readouterr().out
    assert "Proved: on every text, of any length" in said
    assert "Right: the program predicts all that can be predicted at 60 of the 60 n" in said
    assert "Seen: network and program predict the same at n = 100: 100%." in said


def test_the_command_reads_texts_of_ones_own(tmp_path, capsys):
    (tmp_path / "texts").write_text("ab\naabb\n")

    run_extract(f"--model={ANB2N}", f"--texts={tmp_path / 'texts'}", "--run=aabb")

    assert capsys.readouterr().out == "????\n"
    (tmp_path / "texts").write_text("ab\nabc\n")
    with pytest.raises(SystemExit, match="Unknown symbol in line 2 of"):
        run_extract(f"--model={ANB2N}", f"--texts={tmp_path / 'texts'}")


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ([], "--model is missing"),
        (["--model=nowhere.keras"], "There is no model 'nowhere.keras'"),
        ([f"--model={ANB2N}", "--output=x.pdf"], "expected a file that ends in .py, .json"),
        ([f"--model={ANB2N}", "--run=abbb"], "no row for what symbol 4 of the text finds"),
        ([f"--model={ANB2N}", "--run=abc"], "expected one of a b, got 'c'"),
        ([f"--model={ANB2N}", "--check_n=many"], "--check_n wants whole numbers"),
        ([f"--model={ANB2N}", "--task=anbncn"], "has the symbols abc"),
        ([f"--model={ANB2N}", "--output=/nowhere/x.py"], "/nowhere/x.py: No such file"),
    ],
)
def test_the_command_answers_bad_input_with_a_sentence(arguments, answer):
    with pytest.raises(SystemExit, match=re.escape(answer)):
        run_extract(*arguments)


@pytest.mark.parametrize("suffix", list(command.FORMATS))
def test_the_command_writes_every_format(suffix, tmp_path, capsys):
    path = tmp_path / f"table{suffix}"
    if suffix == ".jff":
        counter().save(tmp_path / "model.keras")
    model = tmp_path if suffix == ".jff" else ANB2N

    run_extract(f"--model={model}", f"--output={path}")

    assert path.stat().st_size > 100
    assert capsys.readouterr().out.startswith(f"{path}: Proved: ")


def test_the_smallest_quotient_of_a_table_needs_no_memory_where_nothing_is_scored(tmp_path):
    table = fine.build(extract(trained()).network, [[fine.Lesson([0, 0], [-1, -1], [2])]], 0.2)
    found = quotient.smallest(table, certificate.certify(extract(trained()).network, table))

    assert found.machine.memories == ()
    assert len(found.rules) == 1
