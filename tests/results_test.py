"""Tests that the trained model among the results still is what the results say of it."""

import keras
import pytest

if keras.backend.backend() != "tensorflow":
    pytest.skip("rounded models are evaluated with TensorFlow", allow_module_level=True)

from training_case import REPOSITORY

import keras_stackrnn
from keras_stackrnn.evaluation import evaluate
from keras_stackrnn.patterns import get

TEXT = "10110+111=10111."


@pytest.fixture(scope="module")
def adder():
    return keras.models.load_model(REPOSITORY / "results/binary_addition.keras")


def test_it_adds_numbers_far_longer_than_those_it_learned_from(adder):
    accuracy = evaluate(adder, get("binary_addition"), [2, 19, 60, 200], sequences=5, rounding=True)

    assert accuracy.per_n == {2: 1.0, 19: 1.0, 60: 1.0, 200: 1.0}


def test_a_digit_kept_on_its_stack_is_added_twice(adder):
    force = {"stack6": {10: "NO-OP"}}
    record = keras_stackrnn.trace(adder, TEXT, rounding=True, force=force)

    said = "".join(row["prediction"] for row in record.rows()[TEXT.index("=") :])
    assert said[:6] == f"{0b101110 + 0b111:b}"[::-1]
