"""The gallery: every model in it loads, is what its entry says, and is taken by the commands."""

import json

import keras
import pytest

if keras.backend.backend() != "tensorflow":
    pytest.skip("rounded models are evaluated with TensorFlow", allow_module_level=True)

import keras_stackrnn
from keras_stackrnn import gallery, model_files, patterns
from keras_stackrnn.evaluation import evaluate
from keras_stackrnn.stream_evaluation import evaluate_stream
from keras_stackrnn.trace.sources import trace_source

MOST_BYTES = 600_000


@pytest.mark.parametrize("name", gallery.names())
def test_a_model_is_right_far_beyond_what_it_learned_from(name):
    model, entry = gallery.load(name), gallery.about(name)
    pattern = patterns.get(entry.task)
    smallest = max(2, pattern.smallest_n)

    assert model.task == entry.task
    assert model.rounding
    assert set(entry.right.values()) == {100.0}
    per_n = evaluate(model, pattern, [smallest, 60], sequences=2, rounding=True).per_n
    assert per_n == {smallest: 1.0, 60: 1.0}
    # As a server's session has it, which goes on for ever.
    in_a_row = evaluate_stream(model, pattern, pattern.test_sizes, sequences=60, rounding=True)
    assert in_a_row.first_fault is None
    assert entry.command.startswith(f"python train.py --task={entry.task}")


def test_each_has_a_file_and_they_are_small():
    files = {path.stem: path.stat().st_size for path in gallery.FOLDER.glob("*.keras")}

    assert set(files) == set(gallery.names())
    assert sum(files.values()) < MOST_BYTES


def test_a_model_is_named_wherever_models_are(tmp_path):
    record = trace_source("gallery:anb2n", "aabbbb")

    assert record.memories
    assert record.predictions == keras_stackrnn.trace(gallery.load("anb2n"), "aabbbb").predictions
    assert model_files.find("gallery:anb2n") == gallery.path_of("anb2n")
    assert model_files.find(str(tmp_path)) is None


@pytest.mark.parametrize("find", [gallery.load, gallery.about, gallery.path_of])
def test_an_unknown_name_gets_the_names_that_there_are(find):
    with pytest.raises(ValueError, match="no model 'nosuch' in the gallery: expected one of anbn,"):
        find("nosuch")


def test_a_source_that_is_no_model_gets_what_would_be_one(tmp_path):
    with pytest.raises(ValueError, match=r"expected the folder of a run, a \.keras file or gal"):
        model_files.load(str(tmp_path / "nothing"))


def test_the_index_is_as_its_command_writes_it():
    index = json.loads(gallery.INDEX.read_text(encoding="utf-8"))

    for entry in index.values():
        assert set(entry) == set(gallery.Entry._fields)
        assert entry["shows"].endswith(".")
