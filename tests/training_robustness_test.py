"""Tests of robustness: what a model gets right when its weights are changed."""

import numpy as np
import pytest
import tensorflow as tf
from training_case import tiny_config

from keras_stackrnn.evaluation import Row, rows_right
from keras_stackrnn.patterns import get
from keras_stackrnn.training import population
from keras_stackrnn.training.data import TrainingData
from keras_stackrnn.training.robustness import robustness
from keras_stackrnn.training.search import Search

pytestmark = pytest.mark.usefixtures("one_block_of_steps")


@pytest.fixture(scope="module")
def search(tmp_path_factory):
    """A search whose first replica has all sequences right, and whose second has some."""
    values = {"units": 8, "memories": 3, "capacity": 8, "updates_a_round": 60, "lifetime": 1000}
    config = tiny_config(tmp_path_factory.mktemp("search"), model="stack", **values)
    search = Search(config, TrainingData.of(config))
    for _ in range(3):
        search.advance()
    return search


def weights_of(search, place):
    arrays, _ = search.state()
    best = {name: array for name, array in arrays.items() if name.startswith("best/")}
    return {name.removeprefix("best/"): array[place] for name, array in best.items()}


def robustness_of(search, spread, seed=0, place=0):
    weights = weights_of(search, place)
    return robustness(search._trainer, weights, search._validation, spread, seed)


def test_unchanged_weights_are_as_right_as_the_keras_model_soft_or_rounded(search):
    model = population.to_keras(search._architecture, weights_of(search, place=1), get("anbn"))
    sequences = [Row(*arrays) for arrays in zip(*map(np.asarray, search._validation), strict=True)]
    shares = [
        rows_right(model.twin(rounding=rounding, capacity=None), sequences).mean()
        for rounding in (False, True)
    ]

    assert 0 < min(shares) < max(shares)
    assert robustness_of(search, spread=0.0, place=1) == pytest.approx(min(shares))


def test_the_more_weights_change_the_less_is_right(search):
    shares = [robustness_of(search, spread) for spread in (0.0, 1.0, 10.0)]

    assert shares == sorted(shares, reverse=True)
    assert len(set(shares)) == 3


def test_the_changes_follow_from_the_seed(search):
    assert robustness_of(search, 1.0, seed=1) == robustness_of(search, 1.0, seed=1)
    assert robustness_of(search, 1.0, seed=1) != robustness_of(search, 1.0, seed=2)


def test_the_longest_sequences_are_some_of_the_validation_ones(search):
    everything, longest = (
        np.asarray(rows.tokens) for rows in (search._validation, search._longest)
    )
    assert [len(everything), len(longest)] == [6, 2]
    np.testing.assert_array_equal(everything[-2:], longest)
    assert tf.is_tensor(search._longest.tokens)
