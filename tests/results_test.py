"""Tests that the trained models of the gallery still are what the page on traces says of them."""

import keras
import numpy as np
import pytest

if keras.backend.backend() != "tensorflow":
    pytest.skip("rounded models are evaluated with TensorFlow", allow_module_level=True)

from training_case import REPOSITORY

import keras_stackrnn
from keras_stackrnn import gallery
from keras_stackrnn.evaluation import evaluate
from keras_stackrnn.patterns import get
from keras_stackrnn.trace.force import parse as parse_force

PAGE = (REPOSITORY / "docs/traces.md").read_text(encoding="utf-8")
TEXT = "10110+111=10111."


@pytest.fixture(scope="module")
def adder():
    return gallery.load("binary_addition")


def test_it_adds_numbers_far_longer_than_those_it_learned_from(adder):
    accuracy = evaluate(adder, get("binary_addition"), [2, 19, 60, 200], sequences=5, rounding=True)

    assert accuracy.per_n == {2: 1.0, 19: 1.0, 60: 1.0, 200: 1.0}


@pytest.mark.parametrize(
    ("force", "said"), [("stack1@8=NO-OP", "10011."), ("stack2@10=NO-OP", "10101.")]
)
def test_forcing_one_action_of_the_adder_makes_one_digit_wrong(adder, force, said):
    record = keras_stackrnn.trace(adder, TEXT, rounding=True, force=parse_force([force]))

    assert f"`--force={force}`" in PAGE
    answer = [row["prediction"] for row in record.rows()[TEXT.index("=") :]]
    assert "".join(answer[: len(said)]) == said


@pytest.mark.parametrize(
    ("force", "expected"), [("", 6), ("stack1@4=PUSH", 6 + 4), ("stack2@4=POP", 6 - 2)]
)
def test_forcing_a_counters_stacks_changes_how_many_bs_it_expects(force, expected):
    counter = gallery.load("anb2n")
    text = "aaa" + "b" * 12

    record = keras_stackrnn.trace(counter, text, force=parse_force([force] if force else []))

    assert not force or f"`--force={force}`" in PAGE
    after_first_b = record.predictions[text.index("b") :]
    assert after_first_b.index("a") + 1 == expected


def test_a_word_is_pushed_on_two_stacks_and_comes_back_from_them():
    model = gallery.load("memorize")
    record = keras_stackrnn.trace(model, "1221211=1121221")
    memories = {memory.name: memory for memory in record.memories}
    twos = np.array([0, 1, 1, 0, 1, 0, 0])

    for name, written in (("stack2", twos), ("stack8", 1 - twos)):
        assert memories[name].taken[:-1] == ["PUSH"] * 7 + ["POP"] * 7
        np.testing.assert_array_equal(memories[name].tops[:7, 0].round(), written)
