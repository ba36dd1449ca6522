"""Tests of the exam: its grades are what the models are, and it decides who has solved the task."""

import copy
import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf
from training_case import tiny_config

from keras_stackrnn.tasks.rows import Rows
from keras_stackrnn.training import exam
from keras_stackrnn.training.conversion import to_keras
from keras_stackrnn.training.data import TrainingData
from keras_stackrnn.training.exam import UNGRADED, Exam, Grade
from keras_stackrnn.training.search import Search

pytestmark = pytest.mark.usefixtures("one_block_of_steps")

POPULATION = 3


@pytest.fixture(autouse=True)
def small_exam(monkeypatch):
    monkeypatch.setattr(exam, "_ROWS_A_CALL", 8)
    monkeypatch.setattr(exam, "_DRAWS_A_CHANGE", 2)


def search_of(tmp_path, **values) -> Search:
    sizes = {"model": "stack", "task": "memorize", "units": 8, "memories": 3, "capacity": 16}
    values = {"population": POPULATION, "max_n": 5, "exam_sequences": 4, **sizes, **values}
    config = tiny_config(tmp_path, **values)
    return Search(config, TrainingData.of(config))


def trained(tmp_path) -> tuple[Search, dict[str, np.ndarray]]:
    """A search whose replicas are right on some sequences, and their weights."""
    search = search_of(tmp_path, updates_a_round=300, lifetime=1000)
    search.advance()
    return search, {name: w.numpy() for name, w in search._state.weights.items()}


def slowly_graded(search, weights, replica, rows) -> tuple[int, float]:
    """Rows that one replica's Keras model has right soft and rounded, and its least probability."""
    alone = {name: weight[replica] for name, weight in weights.items()}
    model = to_keras(search._architecture, alone, search._task)
    right, least = len(rows.tokens), 1.0
    for rounding in (False, True):
        predicted = tf.nn.softmax(model.twin(rounding=rounding)(rows.tokens)).numpy()
        wrong = (predicted.argmax(-1) != rows.targets) & rows.scored
        right = min(right, np.sum(~wrong.any(axis=1)))
        of_targets = np.take_along_axis(predicted, rows.targets[..., None], -1)[..., 0]
        least = min(least, of_targets[rows.scored].min())
    return right, least


def test_grades_are_those_of_the_models_one_by_one(tmp_path):
    search, weights = trained(tmp_path)
    rows = TrainingData.of(search.config).exam(4)
    grades = Exam(search._trainer.validate, rows, 0.0).grade(weights)

    assert len(rows.tokens) % 8, "the last call is not to be full"
    longest = type(rows)(*(array[-8:] for array in rows))
    for replica, grade in enumerate(grades):
        right, least = slowly_graded(search, weights, replica, rows)
        assert grade.passed == (right == len(rows.tokens))
        assert grade.confidence == pytest.approx(least, rel=1e-3)
        shares = [
            slowly_graded(search, exam._changed(weights, change, draw), replica, longest)[0] / 8
            for change in (0.1, 0.2, 0.3, 0.4)
            for draw in range(2)
        ]
        assert grade.steadiness == pytest.approx(np.mean(shares))
    assert any(grade.steadiness > 0 for grade in grades)


def test_the_sequences_are_not_those_of_the_validation():
    data = TrainingData("memorize", 12, 3)
    validation, further = data.validation().tokens[-3:], data.exam(3).tokens[-3:]

    assert {*map(bytes, validation)}.isdisjoint(map(bytes, further))


def test_sure_enough_is_what_passes(tmp_path):
    search, weights = trained(tmp_path)
    # Rows that score nothing are all right, and sure.
    nothing, never = np.zeros((3, 4), np.int32), np.zeros((3, 4), bool)
    rows = Rows(nothing, nothing, never, never, np.zeros(3, int))
    assert Exam(search._trainer.validate, rows, 1.0).grade(weights) == [Grade(True, 1.0, 1.0)] * 3

    sequences = TrainingData.of(search.config).exam(4)
    grades = Exam(search._trainer.validate, sequences, 1.0).grade(weights)
    assert not any(grade.passed for grade in grades)


def test_steady_comes_before_sure_among_those_who_pass():
    sure, surer = Grade(False, 0.5, 0.9), Grade(False, 0.8, 0.1)
    passed, steadier = Grade(True, 0.95, 0.3), Grade(True, 0.91, 0.4)

    ordered = sorted([steadier, sure, passed, UNGRADED, surer], key=Grade.rank)
    assert ordered == [UNGRADED, sure, surer, passed, steadier]


class FixedExam:
    """Gives the same grades to every population that comes to it."""

    def __init__(self, *grades):
        self.grades = list(grades)
        self.size = 1234

    def grade(self, weights):
        return self.grades


def search_with_everything_right(tmp_path, *grades, **values) -> Search:
    values = {"lifetime": 5, "hopeless_below": 0.0, **values}
    search = search_of(tmp_path, population=len(grades), **values)
    search._validation[2] = np.zeros_like(search._validation[2])
    search._exam = FixedExam(*grades)
    return search


def test_those_who_fail_make_room_for_fresh_ones_and_the_surest_is_kept(tmp_path):
    grades = Grade(False, 0.3, 0.9), Grade(False, 0.6, 0.2)
    search = search_with_everything_right(tmp_path, *grades, updates=10)
    search.advance()
    seeds = [replica.seed for replica in search._replicas]

    assert not search.done
    assert search.status().solved == 0
    assert [r["outcome"] for r in search.restarts()[:2]] == ["failed the exam"] * 2
    exams = [restart["exam"] for restart in search.restarts()]
    assert exams == [*map(dataclasses.asdict, grades), None, None]
    assert search._champion.seed not in seeds
    assert search._best() is search._champion
    assert search._champion.grade == grades[1]
    # The best of a place are those of the one that has ended until the next one is validated.
    for name, weight in search._best_weights.items():
        np.testing.assert_array_equal(search._champion_weights[name], weight[1])
    search.advance()
    assert search.done


def test_the_steadiest_of_those_who_pass_is_the_best(tmp_path):
    grades = Grade(True, 0.99, 0.5), Grade(True, 0.91, 0.7), Grade(False, 0.8, 0.9)
    search = search_with_everything_right(tmp_path, *grades, wanted=2)
    search.advance()

    assert search.done
    outcomes = [restart["outcome"] for restart in search.restarts()]
    assert outcomes == ["solved", "solved", "failed the exam"]
    assert search._best().grade == grades[1]


def test_an_exam_is_announced(tmp_path):
    said = []
    search = search_with_everything_right(tmp_path, Grade(True, 0.99, 0.5), Grade(False, 0.8, 0.9))
    search._say = said.append
    search.advance()

    assert said == ["Exam of 2 of 2 restarts on 1,234 short sequences.", "Passed by 1."]


def test_nobody_is_examined_who_is_not_right_on_the_validation(tmp_path):
    search = search_of(tmp_path, lifetime=5, hopeless_below=0.0, updates=5)
    search._exam = FixedExam(*[Grade(True, 1.0, 1.0)] * POPULATION)
    search.advance()

    assert {restart["outcome"] for restart in search.restarts()} == {"not solved"}
    assert {restart["exam"] for restart in search.restarts()} == {None}


def test_a_restored_search_knows_its_grades(tmp_path):
    grades = Grade(False, 0.3, 0.9), Grade(False, 0.6, 0.2)
    search = search_with_everything_right(tmp_path, *grades, updates=10)
    search.advance()
    arrays, meta = copy.deepcopy(search.state())
    restored = search_with_everything_right(tmp_path, *grades, updates=10)
    restored.restore(arrays, json.loads(json.dumps(meta)))

    assert restored._champion == search._champion
    assert restored.restarts() == search.restarts()
