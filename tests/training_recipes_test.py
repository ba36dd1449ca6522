"""Tests, all of them slow, that the recipes do what they are there for."""

import pytest

from keras_stackrnn.evaluation import evaluate
from keras_stackrnn.patterns import get
from keras_stackrnn.training.config import TrainingConfig
from keras_stackrnn.training.data import TrainingData
from keras_stackrnn.training.search import Search


@pytest.mark.slow
@pytest.mark.parametrize("task", ["anbn", "anb2n", "anbmcnm", "memorize", "binary_addition"])
def test_the_recipe_finds_the_algorithm(tmp_path, task):
    config = TrainingConfig.from_recipe(task, output_dir=str(tmp_path))
    search = Search(config, TrainingData.of(config))
    while not search.done:
        search.advance()

    model = search.best_model()
    for rounding in (False, True):
        accuracy = evaluate(model, get(task), range(2, 61), sequences=5, rounding=rounding)
        assert accuracy.percent_n_correct == 100
