"""Tests of tables with states, read out of networks with a recurrent kernel."""

import keras
import numpy as np
import pytest

if keras.backend.backend() != "tensorflow":
    pytest.skip("rounded models run on TensorFlow's pointers", allow_module_level=True)

import subprocess
import sys

from extract_case import counter

from keras_stackrnn.extract import OfTask, OfTexts, extract
from keras_stackrnn.extract.agreement import fidelity
from keras_stackrnn.models import NextSymbolModel
from keras_stackrnn.patterns import get


def one_symbol_late() -> NextSymbolModel:
    """A network that says, at each symbol, the one before: its state is all that it has."""
    model = NextSymbolModel("stack", "ab", 3, rounding=True, use_recurrent_kernel=True, task="anbn")
    kernel, recurrent, memory, decisions, values, outputs = map(np.zeros_like, model.get_weights())
    # Whether this is an a; whether the last one was; 1.
    kernel[:] = [[20, -10, 20], [-20, -10, 20]]
    recurrent[0, 1] = 20
    decisions[:, 1] = 10  # POP
    outputs[:] = [[0, 0], [20, 0], [0, 10]]
    model.set_weights([kernel, recurrent, memory, decisions, values, outputs])
    return model


def drawn(scale: float = 3) -> NextSymbolModel:
    """A network whose weights are drawn."""
    model = NextSymbolModel("stack", "ab", 6, rounding=True, use_recurrent_kernel=True, task="anbn")
    generator = np.random.default_rng(1)
    model.set_weights([generator.normal(size=each.shape) * scale for each in model.get_weights()])
    return model


def test_a_network_with_a_state_has_a_certified_table_with_states(tmp_path):
    (tmp_path / "texts").write_text("abba\nbaab\naabb\nbbaa\n")

    found = extract(one_symbol_late(), OfTexts(tmp_path / "texts", ("a", "b")))

    assert found.certificate.holds
    assert found.fine.memories == ("stack1", "state")
    assert found.fine.run("abbab")[1:] == ["a", "b", "b", "a"]
    assert found.machine.memories == ()  # nothing is scored


def test_a_table_with_states_runs_by_itself(tmp_path):
    found = extract(one_symbol_late())  # on a^n b^n it is right within each run
    path = tmp_path / "program.py"
    path.write_text(found.to_python())

    assert found.certificate.holds
    assert found.machine.memories == ("state",)
    assert found.machine.run("aabb") == [None, None, "a", "b"]
    assert found.proof.reason == "a is predicted where b comes next, in runs of 2, 2"
    ran = subprocess.run(
        [sys.executable, "-I", "-S", str(path), "aabb"], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "".join(each or "?" for each in found.machine.run("aabb"))


def test_a_state_that_tells_nothing_is_left_out():
    model = counter(use_recurrent_kernel=True)

    found = extract(model)

    assert found.certificate.holds
    assert found.proof.holds
    assert found.fine.memories == ("stack1", "state")
    assert found.machine.memories == ("stack1",)


def test_without_a_consistent_table_the_best_fidelity_is_said_and_where_it_ends():
    model = drawn()

    found = extract(model, max_states=3)

    assert not found.certificate.holds
    assert len(found.fine.classes[-1]) <= 3
    said = found.fidelity
    assert said.words() in found.statement()
    assert 0 < said.share < 1
    # The first text on which they differ: at its last symbol they do.
    tokens = ["ab".index(symbol) for symbol in said.first]
    network = "ab"[int(np.array(model(np.array([tokens])))[0, -1].argmax())]
    assert found.fine.run(said.first)[-1] != network


def test_fidelity_counts_what_is_scored():
    lessons = OfTask(get("anbn")).fresh()
    found = extract(counter())

    said = fidelity(counter(), found.machine, lessons)

    assert (said.same, said.same_texts, said.first) == (said.symbols, len(lessons), None)
    assert said.words().endswith(f"{len(lessons)} of {len(lessons)} fresh texts to the end")


def test_more_states_than_are_allowed_are_a_sentence():
    with pytest.raises(ValueError, match="too many states for a table: more than 3 where"):
        extract(drawn(scale=40), max_states=3)


def test_gates_are_a_sentence():
    model = NextSymbolModel("stack", "ab", 3, controller="lstm", rounding=True, task="anbn")
    with pytest.raises(ValueError, match="out of the controller 'simple', and that of gated"):
        extract(model, name="gated")
