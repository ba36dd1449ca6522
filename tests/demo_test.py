"""Tests of the demo's pieces with tiny settings, and (slow) of the demo itself."""

import re

import keras
import numpy as np
import pytest

if keras.backend.backend() != "tensorflow":
    pytest.skip("the demo trains with XLA on TensorFlow", allow_module_level=True)

from keras_stackrnn import demo


def counting(inputs):
    """Predicts as one who has counted: b while there are fewer b's than a's, once a b is read."""
    a, b = inputs[..., 0], inputs[..., 1]
    another_b = (b == 1) & (np.cumsum(a - b, axis=1) > 0)
    return np.stack([~another_b, another_b], axis=-1)


def always_a(inputs):
    return np.eye(2)[np.zeros(inputs.shape[:2], int)]


def test_training_windows_begin_with_a_sequence_and_ask_for_the_next_symbol():
    inputs, targets = demo.training_windows(20, largest_n=3, seed=1)

    tokens = inputs.argmax(axis=-1)
    assert inputs.shape == (20, demo.WINDOW, 2)
    np.testing.assert_array_equal(inputs.sum(axis=-1), 1)
    np.testing.assert_array_equal(targets[:, :-1], tokens[:, 1:])
    texts = [demo.PATTERN.decode(row) for row in tokens]
    assert all(re.match("(ab|aabb|aaabbb){8}", text) for text in texts)
    assert len(set(texts)) == 20
    np.testing.assert_array_equal(demo.training_windows(20, 3, seed=1)[0], inputs)
    assert np.any(demo.training_windows(20, 3, seed=2)[0] != inputs)


def test_counting_is_all_right():
    answers = demo.ask(counting, [1, 2, 5])

    assert answers.predictable.sum(axis=1).tolist() == [1, 2, 5]
    assert answers.share_right() == 1
    assert answers.sequences_right() == 3


def test_not_counting_is_not():
    answers = demo.ask(always_a, [1, 2, 5])

    assert answers.share_right() == 3 / 8
    assert answers.sequences_right() == 1


@pytest.mark.parametrize(("model", "verdicts"), [(counting, "...+++"), (always_a, "...xx+")])
def test_picture(model, verdicts):
    lines = demo.picture(demo.ask(model, [3])).splitlines()

    predicted = "aaabba" if model is counting else "aaaaaa"
    assert lines == [
        "      read  aaabbb",
        "      next  aabbba",
        f" predicted  {predicted}",
        f"            {verdicts}",
    ]


def test_training_tells_how_it_goes(monkeypatch, capsys):
    monkeypatch.setattr(demo, "STEPS_PER_EPOCH", 2)
    model = demo.build_model()
    before = model.get_weights()

    demo.train(model, seed=1, largest_n_of_epoch=(2, 3))

    printed = capsys.readouterr().out
    epochs = re.findall(r"epoch (\d) of 2, n up to +(\d): loss 0\.\d{3}\n", printed)
    assert epochs == [("1", "2"), ("2", "3")]
    assert model.optimizer.iterations == 4
    assert all(np.any(one != other) for one, other in zip(before, model.get_weights(), strict=True))


def test_a_start_that_fails_is_said_to_and_the_next_one_is_tried(monkeypatch, capsys):
    monkeypatch.setattr(demo, "train", lambda *_: None)  # what has not been trained fails

    demo.learn(seeds=(1, 2), largest_n_of_epoch=(9,))

    printed = capsys.readouterr().out
    assert re.findall(r"Random start (\d) of at most 2", printed) == ["1", "2"]
    assert len(re.findall(r"n = 1…9: [0-8] of 9 sequences right", printed)) == 2


@pytest.mark.slow
def test_the_demo_succeeds(capsys):
    demo.main()

    printed = capsys.readouterr().out
    assert "100% of the predictable symbols are right." in printed
    assert "n = 20…60: 41 of 41 sequences wholly right." in printed
