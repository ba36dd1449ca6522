"""Tests that the examples run as they stand, at tiny sizes."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import keras
import pytest
from test_case import run_python

if keras.backend.backend() != "tensorflow":
    pytest.skip("the examples train on TensorFlow", allow_module_level=True)

from serving_fixtures import RunningServer
from training_case import TINY

from keras_stackrnn import gallery, patterns
from keras_stackrnn.export import export
from keras_stackrnn.serving import config
from keras_stackrnn.training import TrainingConfig

EXAMPLES = Path(__file__).parent.parent / "examples"
pytestmark = pytest.mark.usefixtures("one_block_of_steps")


@pytest.fixture(autouse=True)
def without_xla(monkeypatch):
    """XLA takes longer to compile a model than the model to run a few steps without it."""
    usual = keras.Model.compile

    def compile_without(self, *arguments, jit_compile, **options):
        assert jit_compile
        usual(self, *arguments, jit_compile=False, **options)

    monkeypatch.setattr(keras.Model, "compile", compile_without)


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["brackets", "json_validity", "encoder_decoder"])
def test_a_classifier_and_a_translator_are_trained_and_tested(name, capsys):
    scores = example(name).main(number=128, epochs=1)
    assert 0 <= scores["accuracy"] <= 1
    assert "longer" in (printed := capsys.readouterr().out) or "deeper" in printed


def test_labels_are_what_a_parser_says():
    module = example("json_validity")
    random = module.np.random.default_rng(1)
    ids, labels = module.examples(random, 40, depth=3)
    texts = ["".join(module.SYMBOLS[each - 1] for each in row if each) for row in ids]
    assert [module.is_json(text) for text in texts] == labels.astype(bool).tolist()
    assert labels.sum() == 20


def test_changed_brackets_are_not_balanced():
    module = example("brackets")
    ids, labels = module.examples(module.np.random.default_rng(1), 40, range(1, 8))
    for row, label in zip(ids, labels, strict=True):
        open_ones, fits = [], True
        for symbol in (module.SYMBOLS[each - 1] for each in row if each):
            if symbol in module.BRACKETS:
                open_ones.append(module.BRACKETS[symbol])
            else:
                fits = fits and bool(open_ones) and open_ones.pop() == symbol
        assert (fits and not open_ones) == bool(label)


def test_a_language_model_writes():
    assert len(example("language_model").main(epochs=1, units=8, length=5)) == 5


def test_a_pattern_of_ones_own_is_one():
    example("own_pattern")
    sequence = patterns.get("palindrome").sample(3, "train", 0)
    word, _, rest = sequence.text.partition("=")
    assert rest == word[::-1] + "."
    assert TrainingConfig.from_recipe("palindrome").task == "palindrome"


@pytest.mark.slow
def test_a_pattern_of_ones_own_is_learned(tmp_path, capsys):
    values = {**TINY, "memories": 1, "updates": 10}
    example("own_pattern").main(str(tmp_path / "run"), **values)
    assert "palindrome: 10 symbols, rounded actions" in capsys.readouterr().out
    assert (tmp_path / "run/evaluation.json").is_file()


def test_a_loop_of_ones_own_trains():
    assert 0 <= example("custom_loop").main(steps=2) <= 1


def test_packed_rows_give_what_padded_ones_give():
    assert example("packed_rows").main(sequences=20, row=64) < 1e-5


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    models = tmp_path_factory.mktemp("models") / "anbn"
    export(gallery.load("anbn"), models)
    with RunningServer(config.single_model("anbn", models)) as running:
        yield running


def test_a_client_in_python_asks(served, capsys):
    assert example("serving_client").main(served.address, "anbn") == b"b"
    assert "after aaab comes b" in capsys.readouterr().out


def test_a_client_in_javascript_asks(served):
    if shutil.which("node") is None:
        pytest.skip("there is no Node here")
    script = EXAMPLES / "serving_client.mjs"
    done = subprocess.run(
        ["node", script, served.rest_url, "anbn", "aaab"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    first, second, *_ = done.stdout.splitlines()
    assert first == "anbn, version 1"
    assert second.startswith("aaab b  ")


def test_a_memory_of_ones_own_is_trained_traced_exported_and_served(tmp_path):
    printed = run_python(
        str(EXAMPLES / "own_memory.py"), f"--output_dir={tmp_path}/run", "--updates=48"
    )

    assert (tmp_path / "run" / "serving" / "anbn" / "1" / "saved_model.pb").exists()
    ours, served = printed.split("anbn: 6 symbols")[1:]
    assert "copying_stack1" in ours
    # The same columns and symbols; of numbers near half a unit the last digit may differ.
    tables = [each.split("\n\n")[1].splitlines() for each in (ours, served)]
    assert [line.split()[:2] for line in tables[0]] == [line.split()[:2] for line in tables[1]]
    assert tables[0][0] == tables[1][0]
    registration = (EXAMPLES / "own_memory.py").read_text().split("COPYING_STACK = ")[1]
    assert len(registration.split("\n\n")[0].splitlines()) <= 15


@pytest.mark.slow
def test_two_workers_learn_what_one_does():
    rows = [line.split() for line in run_python(str(EXAMPLES / "workers.py")).splitlines()[1:]]

    assert len(rows) == 5
    for _, alone, together in rows:
        assert float(together) == pytest.approx(float(alone), rel=1e-4)
