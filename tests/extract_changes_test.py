"""Tests of networks that are made of others to be certified: sharper ones, and smaller ones."""

import importlib.util
import json
import re

import keras
import numpy as np
import pytest

if keras.backend.backend() != "tensorflow":
    pytest.skip("rounded models run on TensorFlow's pointers", allow_module_level=True)

from extract_case import ANB2N, counter, run_extract
from training_case import REPOSITORY

from keras_stackrnn import model_files
from keras_stackrnn.extract import OfTexts, extract
from keras_stackrnn.extract.changes import ChangeError
from keras_stackrnn.extract.prune import pruned
from keras_stackrnn.extract.sharpen import sharpened
from keras_stackrnn.models import NextSymbolModel


def hesitant() -> NextSymbolModel:
    """A counter with a second stack that decides by a hair at each b, and does not matter.

    Its fourth unit says whether the second stack's top is large.
    """
    model = NextSymbolModel("stack", "ab", 4, memories=2, rounding=True, task="anbn")
    kernel, memory, decisions, values, outputs = map(np.zeros_like, model.get_weights())
    pushed = 1 / (1 + np.exp(-2))
    kernel[:] = [[20, -60, 20, -20 * pushed], [-20, 0, 20, -20 * pushed]]
    memory[2, 1] = -20  # what is below the first stack's top
    memory[1, 3] = 20  # the second stack's top
    by_action = decisions.reshape(4, 2, 2)
    by_action[0, 0], by_action[2, 1, 0] = 20, 10
    by_action[3, 0, 1], by_action[2, 1, 1] = 10, 5
    values[2] = [20, 2]
    outputs[:] = [[0, 0], [20, 0], [0, 10], [0, 0]]
    model.set_weights([kernel, memory, decisions, values, outputs])
    return model


@pytest.fixture(scope="module")
def found():
    return extract(hesitant(), name="hesitant")


def test_a_network_that_hesitates_is_certified_once_it_is_sharpened(found):
    assert not found.certificate.holds
    assert "of stack2 fails by" in found.statement()
    assert found.statement_for_all_n().startswith("Proved for all n")  # of the table, that is
    assert "the table has a row" in found.statement_for_all_n()

    model, sharp = sharpened(hesitant(), found, "sharp")

    assert sharp.certificate.holds
    assert "the network sharp, in float32" in sharp.statement()
    old, new = (each.recurrent[0].cell.value_kernel.numpy() for each in (hesitant(), model))
    np.testing.assert_array_equal(new, 4 * old)
    assert found.name == "hesitant"


def test_memories_that_do_not_matter_are_pruned(found):
    model, small = pruned(hesitant(), found, "small")

    assert model.memories == 1
    assert small.certificate.holds
    assert small.proof.holds
    assert small.machine.run("aabb") == [None, None, "b", "a"]


def test_what_cannot_be_changed_is_a_sentence(monkeypatch):
    monkeypatch.setattr("keras_stackrnn.extract.sharpen.FACTORS", (4,))
    model = counter()
    with pytest.raises(ChangeError, match="No memory of counts is left out: with fewer than its 1"):
        pruned(model, extract(model, name="counts"), "small")
    weights = model.get_weights()
    weights[2][0, 0] = 10 + 1e-5  # PUSH and POP at an a
    model.set_weights(weights)
    with pytest.raises(ChangeError, match="hair cannot be sharpened: with 4 times"):
        sharpened(model, extract(model, name="hair"), "sharp")


def test_the_command_writes_changed_networks_and_names_them(tmp_path, capsys):
    source, sharp, small = (tmp_path / f"{name}.keras" for name in ("source", "sharp", "small"))
    hesitant().save(source)

    run_extract(f"--model={source}", f"--sharpen={sharp}", f"--prune={small}", "--check_n=30")

    said = capsys.readouterr().out
    assert f"Wrote {small}.\nWrote {sharp}.\n" in said
    assert f"the network {sharp}, in float32" in said
    assert "n = 30: 100%" in said
    assert model_files.load(str(small)).memories == 1
    assert model_files.load(str(sharp)).memories == 1  # made of the small one


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["--sharpen=x.h5"], "--sharpen writes a model: expected a file that ends in .keras"),
        (["--texts=TEXTS", "--prune=x.keras"], "--sharpen and --prune want a task"),
    ],
)
def test_changes_that_cannot_be_are_a_sentence(arguments, answer, tmp_path):
    (tmp_path / "TEXTS").write_text("ab\n")
    arguments = [each.replace("TEXTS", str(tmp_path / "TEXTS")) for each in arguments]
    with pytest.raises(SystemExit, match=re.escape(answer)):
        run_extract(f"--model={ANB2N}", *arguments)


def test_texts_are_their_own_fresh_lessons(tmp_path):
    (tmp_path / "texts").write_text("ab\naabb\n")
    assert [len(each.tokens) for each in OfTexts(tmp_path / "texts", ("a", "b")).fresh()] == [2, 4]


# The table of all networks.


@pytest.fixture
def script(monkeypatch, tmp_path):
    spec = importlib.util.spec_from_file_location(
        "reproduce_extraction", REPOSITORY / "reproduce/extraction.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    hesitant().save(tmp_path / "hesitant.keras")
    networks = {"anbn": tmp_path / "hesitant.keras", "anb2n": ANB2N}
    monkeypatch.setattr(module, "network_of", lambda task, model, runs: networks[task])
    monkeypatch.setattr(module, "FAR", (40,))
    return module


def test_the_table_of_all_networks_is_written_once_for_each(script, tmp_path, monkeypatch):
    from absl import flags

    values = flags.FlagValues()
    script.define_flags(values)
    values(["x", "--tasks=anbn,anb2n", "--models=stack", f"--results={tmp_path}"])
    script.main([], values)

    rows = json.loads((tmp_path / "extraction.json").read_text())
    assert [(row["task"], row["certified"], row["proof"]) for row in rows] == [
        ("anbn", True, True),
        ("anb2n", True, True),
    ]
    assert rows[0]["changes"] == ["pruned"]
    assert rows[0]["n_right"] == "60 of 60"
    page = (tmp_path / "extraction.md").read_text()
    assert "| anbn | stack | fails | pruned | " in page
    assert "| holds | proved | 60 of 60 | 100% |" in page
    assert "- anbn, stack: Not proved: " in page
    monkeypatch.setattr(script, "row_of", None)  # what is there is not made again
    script.main([], values)
