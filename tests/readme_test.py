"""Tests that the README's examples run as printed and that its errors are the real ones."""

import re
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow_datasets as tfds

if keras.backend.backend() != "tensorflow":
    pytest.skip("the example trains with XLA on TensorFlow", allow_module_level=True)

from keras_stackrnn import StackCell, StackRNN

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
EXAMPLE, *LATER_EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_the_examples_run_as_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tfds.core.constants, "DATA_DIR", str(tmp_path))
    names = {}

    exec(EXAMPLE, names)

    assert len([line for line in EXAMPLE.splitlines() if line.strip()]) <= 11
    losses = names["model"].history.history["loss"]
    assert losses[-1] < losses[0] / 2
    for example in LATER_EXAMPLES:
        exec(example, names)
    losses = names["counter"].history.history["loss"]
    assert losses[-1] < losses[0] / 2
    np.testing.assert_array_equal(names["tops"].shape, (2048, 2))
    assert names["outputs"].shape == (2048, 10, 40)
    assert "b'aaabbb'" in capsys.readouterr().out
    assert (tmp_path / "algorithmic_patterns").is_dir()


def run(inputs, *built_for, **options):
    rnn = keras.layers.RNN(StackCell(40))
    for earlier in built_for:
        rnn(earlier)
    rnn(inputs, **options)


SEQUENCES = np.zeros((32, 50, 8), "float32")
STATES = [np.zeros((32, 40), "float32"), np.zeros((32, 63), "float32")]
ERRORS = {
    "`StackCell(40, num_stacks=0)`": lambda: StackCell(40, num_stacks=0),
    "`StackCell(40, capacity=3, read_depth=4)`": lambda: StackCell(40, capacity=3, read_depth=4),
    "token ids of shape `(32, 50)`": lambda: run(np.zeros((32, 50), "int32")),
    "integers of shape `(32, 50, 8)`": lambda: run(SEQUENCES.astype("int32")),
    "9 features after 8": lambda: run(np.zeros((32, 50, 9), "float32"), SEQUENCES),
    "sequences of no steps, to the layer `StackRNN(40)`": lambda: StackRNN(40)(SEQUENCES[:, :0]),
    "a state of another size": lambda: run(SEQUENCES, initial_state=STATES),
}


def test_the_errors_are_the_real_ones():
    table = README.split("| given | answer |\n| --- | --- |\n")[1].split("\n\n")[0]
    answers = dict(line.strip("| ").split(" | ") for line in table.splitlines())

    assert answers.keys() == ERRORS.keys()
    for given, cause in ERRORS.items():
        with pytest.raises(ValueError, match=re.escape(answers[given])):
            cause()
