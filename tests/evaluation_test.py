"""Accuracy by n, with models that are right or wrong in known ways."""

import dataclasses

import numpy as np
import pytest
from test_case import raises_only, randomise

from keras_stackrnn import evaluation, patterns
from keras_stackrnn.evaluation import Accuracy, evaluate
from keras_stackrnn.models import NextSymbolModel

ANBN = patterns.get("anbn")


def counter(**options):
    """A stack that has the algorithm for a^n b^n by construction.

    An a pushes 1 and a b pops; at a b there is a second element only if another b has to follow.
    """
    model = NextSymbolModel("stack", "ab", units=3, memories=1, task="anbn", **options)
    cell = model.recurrent[0].cell
    large = 40.0
    # Hidden units: a was read; b was read; at least two elements before this symbol.
    cell.kernel.assign(np.array([[large, -large, 0], [-large, large, 0]]))
    cell.memory_kernel.assign(np.array([[0, 0, 0], [0, 0, large]]))
    cell.action_kernel.assign(np.array([[large, 0], [0, large], [0, 0]]))
    cell.push_kernel.assign(np.array([[large], [0], [0]]))
    # After an a nothing scores; after a b: a b if there is more on the stack, else an a.
    model.output_layer.kernel.assign(np.array([[0, 0], [large, 0], [-large, large]]))
    return model


@pytest.mark.parametrize("rounding", [False, True])
def test_a_model_with_the_algorithm_is_right_at_every_n(rounding):
    accuracy = evaluate(counter(), ANBN, range(1, 61), sequences=5, rounding=rounding)
    assert accuracy.per_n == dict.fromkeys(range(1, 61), 1.0)
    assert accuracy.percent_n_correct == 100


def test_a_training_capacity_loses_nothing_in_evaluation():
    assert evaluate(counter(capacity=4), ANBN, [30], sequences=1).per_n == {30: 1.0}


def test_rounding_is_the_models_own_rounding():
    model = counter()
    # POP wins by a little: soft memories blur, rounded ones do not.
    model.recurrent[0].cell.action_kernel.assign(np.array([[0.5, 0], [0, 0.5], [0, 0]]))
    assert evaluate(model, ANBN, [40], sequences=1, rounding=True).per_n == {40: 1.0}
    assert evaluate(model, ANBN, [40], sequences=1, rounding=False).per_n == {40: 0.0}


def test_the_next_sequences_first_symbol_scores():
    model = counter()
    # Says b after every b: right in the sequence, wrong about the a that follows it.
    model.output_layer.kernel.assign(np.array([[0, 0], [0, 1.0], [0, 0]]))
    assert evaluate(model, ANBN, [1, 5], sequences=1).per_n == {1: 0.0, 5: 0.0}
    without_next = dataclasses.replace(ANBN, next_first_is_deterministic=False)
    assert evaluate(model, without_next, [5], sequences=1).per_n == {5: 1.0}


def test_per_n_is_the_share_of_sequences():
    """Always says 1, so that memorized words of ones are right and all others wrong."""
    pattern = patterns.get("memorize")
    model = NextSymbolModel("rnn", pattern.alphabet, units=1, use_bias=True)
    model.set_weights([np.zeros_like(weight) for weight in model.get_weights()])
    model.output_layer.bias.assign([1.0, 0.0, 0.0])
    accuracy = evaluate(model, pattern, [1, 2], sequences=50, split="validation")
    for n in (1, 2):
        words = [pattern.sample(n, "validation", index).text[:n] for index in range(50)]
        assert accuracy.per_n[n] == np.mean([word == "1" * n for word in words])
        assert 0 < accuracy.per_n[n] < 1


@pytest.mark.parametrize("task", ["anbmcnm", "binary_addition"])
def test_batching_and_padding_change_nothing(task, monkeypatch):
    pattern = patterns.get(task)
    model = NextSymbolModel("stack", pattern.alphabet, units=4, memories=2)
    randomise(model)
    rows = [
        evaluation.row_of(pattern, pattern.sample(n, "test", i)) for n in (2, 9, 30) for i in (0, 1)
    ]
    predicted = [np.argmax(model(row.tokens[None]), axis=-1)[0] for row in rows]
    # Targets from the model itself, every other row with one of them changed.
    rows = [
        row._replace(targets=own.astype("int32")) for row, own in zip(rows, predicted, strict=True)
    ]
    for row in rows[::2]:
        last = np.flatnonzero(row.deterministic)[-1]
        row.targets[last] = (row.targets[last] + 1) % len(pattern.alphabet)
    monkeypatch.setattr(evaluation, "_SYMBOLS_A_CALL", 64)
    assert evaluation.rows_right(model, rows).tolist() == [False, True] * 3


def test_percent_counts_the_n_with_every_sequence_right():
    assert Accuracy({1: 1.0, 2: 0.995, 3: 1.0, 4: 0.0}).percent_n_correct == 50


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"pattern": patterns.get("anbncn"), "n_values": [1]},
            "Pattern 'anbncn' needs a model with the vocabulary ['a', 'b', 'c'], "
            "got one with ['a', 'b'].",
        ),
        (
            {"pattern": ANBN, "n_values": [1], "sequences": 0},
            "There are 1 or more sequences to evaluate for each n, got 0.",
        ),
        ({"pattern": ANBN, "n_values": []}, "There are no n to evaluate."),
        (
            {"pattern": ANBN, "n_values": [0]},
            "Pattern 'anbn' begins at n = 1 (number of a's), got 0.",
        ),
    ],
)
def test_bad_arguments(arguments, message):
    with raises_only(message):
        evaluate(counter(), **arguments)
