"""The baselines' search: it learns, keeps the best, and goes on exactly from its state."""

import json

import numpy as np
import pytest
from training_case import assert_same_arrays, tiny_config

from keras_stackrnn.evaluation import evaluate
from keras_stackrnn.training.baselines import BaselineSearch
from keras_stackrnn.training.data import TrainingData


def search_of(**values):
    config = tiny_config("unused", **values)
    return BaselineSearch(config, TrainingData.of(config))


def finished(search):
    while not search.done:
        search.advance()
    return search


def test_learns_short_sequences():
    search = search_of(
        max_n=2, units=16, lanes=8, learning_rate=0.02, lifetime=600, updates_a_round=100
    )
    first = search.status().soft_accuracy
    finished(search)
    assert first == 0
    assert search.status().soft_accuracy == 1
    assert search.status().solved == 1
    accuracy = evaluate(search.best_model(), search._data.task, [1, 2], 1, split="validation")
    assert accuracy.per_n == {1: 1.0, 2: 1.0}


@pytest.mark.parametrize("model", [{"model": "rnn", "layers": 2}, {"model": "lstm"}])
def test_goes_on_exactly_from_its_state(model):
    search = search_of(**model)
    other = search_of(**model)
    while not search.done:
        search.advance()
        arrays, meta = search.state()
        other.restore(arrays, json.loads(json.dumps(meta)))
        again, meta_again = other.state()
        assert meta_again == meta
        assert_same_arrays(list(again.values()), list(arrays.values()))
        if search.done:
            break
        search.advance()
        other.advance()
        assert other.status().updates == search.status().updates
        assert_same_arrays(list(other.state()[0].values()), list(search.state()[0].values()))
    assert_same_arrays(other.best_model().get_weights(), search.best_model().get_weights())
    assert other.restarts() == search.restarts()


@pytest.fixture(scope="module")
def three_restarts():
    return finished(search_of(population=3))


def test_every_restart_is_reported(three_restarts):
    restarts = three_restarts.restarts()
    assert [restart["updates"] for restart in restarts] == [20, 20, 20]
    assert len({restart["seed"] for restart in restarts}) == 3
    assert {restart["outcome"] for restart in restarts} <= {"solved", "not solved"}
    assert three_restarts.status().alive == 0


def test_the_best_on_validation_is_kept(three_restarts):
    restarts = three_restarts.restarts()
    best = max(restarts, key=lambda r: (r["soft_accuracy"], -r["soft_entropy"]))
    assert three_restarts.status().best_entropy == best["soft_entropy"]
    accuracy, entropy = _validate(three_restarts, three_restarts.best_model())
    assert accuracy == pytest.approx(best["soft_accuracy"])
    assert entropy == pytest.approx(best["soft_entropy"], rel=1e-5)


def _validate(search, model):
    """Accuracy and entropy of a model on the validation rows, in plain NumPy."""
    tokens, targets, deterministic = search._validation
    logits = np.array(model(tokens), float)
    right = (logits.argmax(-1) == targets) | ~deterministic
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    chosen = np.take_along_axis(logs, targets[..., None], -1)[..., 0]
    return right.all(1).mean(), -chosen[deterministic].mean()


def test_n_grows_over_the_first_half_of_a_life():
    search = search_of(max_n=19, lifetime=40)
    largest = []
    for _ in range(8):
        search.advance()
        largest.append(search.status().n_range[1])
    assert largest[0] == 5
    assert largest == sorted(largest)
    assert largest[4:] == [19] * 4


def test_the_rate_halves_and_the_best_weights_return_when_nothing_improves():
    search = search_of(lifetime=1000, max_n=5, learning_rate=0.5, optimizer="sgd", clip_value=1.0)
    while search._restart.learning_rate == 0.5:
        search.advance()
    assert search._restart.learning_rate == 0.25
    assert float(search._step.optimizer.learning_rate) == 0.25
    assert_same_arrays(search._model.get_weights(), search._best_weights)


def test_restarts_with_the_same_seed_are_the_same():
    first, second = search_of(seed=3), search_of(seed=3)
    assert_same_arrays(first._model.get_weights(), second._model.get_weights())
    other = search_of(seed=4)
    assert any(
        (a != b).any()
        for a, b in zip(first._model.get_weights(), other._model.get_weights(), strict=True)
    )


def test_an_episode_begins_with_states_of_zeros():
    step = search_of(model="lstm")._step
    tokens = np.array([[0, 0, 1, 0, 1], [0, 1, 0, 1, 0]])
    deterministic = np.ones_like(tokens, bool)
    step.update(tokens, tokens, deterministic)
    assert any(np.any(state) for layer in step._states for state in layer)

    step.forget()

    assert not any(np.any(state) for layer in step._states for state in layer)
