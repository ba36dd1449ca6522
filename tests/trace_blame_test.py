"""What a memory is for: the smallest sets of forced actions, and how they are said."""

import keras
import numpy as np
import pytest
from test_case import run_command
from trace_case import counter, random_model

if keras.backend.backend() != "tensorflow":
    pytest.skip("traces are tested on TensorFlow alone", allow_module_level=True)

from keras_stackrnn import trace
from keras_stackrnn.trace import __main__ as command
from keras_stackrnn.trace.asking import blame_model, blame_source
from keras_stackrnn.trace.blame import MOST_ACTIONS


def test_one_action_breaks_a_count():
    [found] = blame_model(counter(), "aab")
    # One b is still to come: a stack that was emptied before says that it is not.
    assert found.sentence == (
        "stack1: POP instead of PUSH at symbol 2 (a) makes it predict a instead of b."
    )
    assert found.orders == {1: "POP"}
    assert found.predicted == "a"
    assert found.is_smallest


def test_two_actions_are_found_where_one_is_not_enough():
    [found] = blame_model(counter(), "aaaab")
    assert len(found.orders) == 2
    assert found.is_smallest
    assert " and " in found.sentence
    after = trace(counter(), "aaaab", force={"stack1": found.orders})
    assert after.predictions[-1] == found.predicted != trace(counter(), "aaaab").predictions[-1]


def test_a_set_that_grew_has_no_action_too_many():
    model, text = counter(rounding=True), "a" * 8 + "bbb"  # no two actions empty the stack
    [found] = blame_model(model, text)
    before = trace(model, text).predictions[-1]
    assert 2 < len(found.orders) <= MOST_ACTIONS
    assert not found.is_smallest
    assert found.sentence.endswith("; none of them can be left out.")
    assert trace(model, text, force={"stack1": found.orders}).predictions[-1] == found.predicted
    for left_out in found.orders:
        fewer = {step: action for step, action in found.orders.items() if step != left_out}
        assert trace(model, text, force={"stack1": fewer}).predictions[-1] == before


def test_a_memory_that_does_nothing_is_not_needed():
    model = random_model(memories=1, scale=0.001)
    kernel = model.recurrent[0].cell.memory_kernel
    kernel.assign(np.zeros(kernel.shape))
    [found] = blame_model(model, "10")
    assert found.orders == {}
    assert found.predicted is None
    assert found.sentence.startswith("stack1 is not needed here: no set of up to 4 forced actions")


def test_the_command_prints_a_sentence_for_each_memory(tmp_path, capsys):
    counter().save(tmp_path / "counter.keras")
    run_command(command, f"--model={tmp_path}/counter.keras", "--text=aab", "--blame")
    assert capsys.readouterr().out == blame_model(counter(), "aab")[0].sentence + "\n"
    with pytest.raises(SystemExit, match="--blame prints sentences"):
        run_command(
            command,
            f"--model={tmp_path}/counter.keras",
            "--text=aab",
            "--blame",
            "--force=stack1=POP",
        )


def test_an_export_is_blamed_as_its_model_is(exports):
    exported = exports("list rounded")
    of_export = blame_source(str(exported.path), "ab.a")
    assert len(of_export) == exported.model.memories
    assert of_export == blame_model(exported.model, "ab.a")
