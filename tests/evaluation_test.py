"""Accuracy by n, with models that are right or wrong in known ways."""

import dataclasses

import numpy as np
import pytest
from test_case import raises_only, randomise

from keras_stackrnn import evaluation, patterns, tasks
from keras_stackrnn.evaluation import Accuracy, evaluate
from keras_stackrnn.models import NextSymbolModel
from keras_stackrnn.stream_evaluation import StreamAccuracy, evaluate_stream
from keras_stackrnn.task_models import of_form

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


def alone(model, rows):
    """The shares of sequences and of symbols that are right if each row is read by itself."""
    right, scored = [], []
    for tokens, targets, _, counts, length in zip(*rows, strict=True):
        answers = np.argmax(model(tokens[None, :length]), axis=-1)[0]
        right.append(np.sum((answers == targets[:length]) & counts[:length]))
        scored.append(np.sum(counts))
    return np.mean(np.equal(right, scored)), np.sum(right) / np.sum(scored)


@pytest.mark.parametrize("task", ["anbmcnm", "chomsky/stack_manipulation"])
def test_batching_and_padding_change_nothing(task, monkeypatch):
    task = tasks.get(task)
    model = of_form(task.form)("stack", units=4, memories=2, **task.of_model())
    randomise(model)
    expected = {n: alone(model, task.samples("test", n, 7)) for n in (45, 42, 50)}
    for compiled in (False, True):
        monkeypatch.setattr(evaluation, "_SYMBOLS_A_CALL", 256)
        monkeypatch.setattr(evaluation, "_SYMBOLS_WORTH_COMPILING", 0 if compiled else 10**9)
        monkeypatch.setattr(evaluation, "_NUMBERS_A_COMPILED_CALL", 2**15)
        found = evaluate(model, task, expected, sequences=7)
        shares = {**found.further, found.score: found.per_n}
        for name, column in (("sequences", 0), ("symbols", 1)):
            for n, scores in expected.items():
                assert shares[name][n] == pytest.approx(scores[column])


def brackets(**weights):
    """Reads `dyck_1` and says at every place that every symbol may come, but for what is given."""
    task = tasks.get("dyck_1")
    model = NextSymbolModel("rnn", **task.of_model(), units=1, use_bias=True)
    model.set_weights([np.zeros_like(weight) for weight in model.get_weights()])
    model.output_layer.bias.assign([weights.get(name, 0.0) for name in ("open", "close", "end")])
    return task, model


def test_which_symbols_may_come_is_right_if_exactly_these_are_probable():
    """Brackets that close may come where one is open, and the end nowhere but at depth 0."""
    task, model = brackets(end=-6.0)
    found = evaluate(model, task, [3], sequences=40)
    rows = task.samples("test", 3, 40)
    valid = task.valid_next(rows)
    expected = np.mean((valid == [True, True, False]).all(axis=-1)[rows.asked])
    assert found.score == "valid next symbols"
    assert found.threshold == 0.005
    assert found.per_n[3] == pytest.approx(expected)
    assert 0 < expected < 1
    assert found.further["sequences"] == {3: 0.0}
    # With a little more than the threshold the end counts as possible everywhere.
    _, model = brackets(end=-4.5)
    assert evaluate(model, task, [3], sequences=40).per_n[3] < found.per_n[3]


def test_cross_entropy_is_what_is_above_the_best_that_is_possible():
    task, model = brackets()
    rows = task.samples("test", 4, 30)
    above = np.log(3) * rows.asked.sum() - task.information(rows).sum()
    found = evaluate(model, task, [4], sequences=30).further["cross-entropy"]
    assert found[4] == pytest.approx(above / rows.asked.sum(), rel=1e-5)


def test_labels_and_symbols_up_to_the_terminator():
    """Says `no` to all, and 0 at every answer place."""
    for name, count in (("recognition/parity", "sequences"), ("chomsky/stack_manipulation", None)):
        task = tasks.get(name)
        model = of_form(task.form)("rnn", **task.of_model(), units=1, use_bias=True)
        model.set_weights([np.zeros_like(weight) for weight in model.get_weights()])
        model.output_layer.bias.assign([1.0] + [0.0] * (len(model.answers) - 1))
        rows = task.samples("test", 45, 60)
        right = (rows.targets == 0)[rows.scored]
        found = evaluate(model, task, [45], sequences=60)
        assert found.score == (count or "symbols")
        assert found.per_n[45] == pytest.approx(np.mean(right))
        assert found.mean == pytest.approx(100 * np.mean(right))


def test_sizes_without_sequences_are_left_out():
    task = tasks.get("small/dyck_1_100")
    model = NextSymbolModel("rnn", **task.of_model(), units=1)
    sizes = [task.test_sizes[0], task.test_sizes[-1] + 1]
    found = evaluate(model, task, sizes, sequences=2)
    assert list(found.per_n) == sizes[:1]


def test_percent_counts_the_n_with_every_sequence_right():
    assert Accuracy({1: 1.0, 2: 0.995, 3: 1.0, 4: 0.0}).percent_n_correct == 50


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"task": patterns.get("anbncn"), "n_values": [1]},
            "Pattern 'anbncn' needs a model with the vocabulary ['a', 'b', 'c'], "
            "got one with ['a', 'b'].",
        ),
        (
            {"task": ANBN, "n_values": [1], "sequences": 0},
            "There are 1 or more sequences to evaluate for each n, got 0.",
        ),
        ({"task": ANBN, "n_values": []}, "There are no n to evaluate."),
        (
            {"task": ANBN, "n_values": [0]},
            "Pattern 'anbn' begins at n = 1 (number of a's), got 0.",
        ),
    ],
)
def test_bad_arguments(arguments, message):
    with raises_only(message):
        evaluate(counter(), **arguments)


@pytest.mark.parametrize("rounding", [False, True])
def test_sequences_in_a_row_without_emptying_the_memory(rounding):
    found = evaluate_stream(counter(), ANBN, range(1, 12), sequences=30, rounding=rounding)
    assert found == StreamAccuracy(sequences=30, right=30, first_fault=None)


def test_the_first_fault_in_a_row():
    """Says b after every b: right but for the a that follows each sequence, the last one's not."""
    model = counter()
    model.output_layer.kernel.assign(np.array([[0, 0], [0, 1.0], [0, 0]]))
    found = evaluate_stream(model, ANBN, range(2, 5), sequences=6)
    assert found == StreamAccuracy(sequences=6, right=1, first_fault=1)


def test_a_stream_is_the_same_always():
    def text(index):
        return ANBN.in_a_row(range(1, 9), 12, "test", index).text

    assert text(0) == text(0) != text(1)
    assert len(ANBN.parse(text(0))) == 12


@pytest.mark.parametrize("rounding", [False, True])
def test_few_rows_of_all_lengths_are_read_by_one_program(rounding, monkeypatch):
    model = NextSymbolModel("stack", ANBN.alphabet, units=2, capacity=None, rounding=rounding)
    randomise(model)
    apart = {n: evaluate(model, ANBN, [n], rounding=rounding).per_n[n] for n in (1, 20, 40)}
    built = []
    program = evaluation._Programs._program

    def counted(self, steps, *rest):
        built.append(steps)
        return program(self, steps, *rest)

    monkeypatch.setattr(evaluation._Programs, "_program", counted)
    assert evaluate(model, ANBN, apart, rounding=rounding).per_n == apart
    # Rounded actions go on for as many steps as there are.
    assert built == [None if rounding else 128]


def test_the_scores_of_some_n():
    found = evaluation.Accuracy({1: 1.0, 2: 0.5}, further={"symbols": {1: 1.0, 2: 0.75}})
    assert found.of([2, 3]) == evaluation.Accuracy({2: 0.5}, further={"symbols": {2: 0.75}})
