"""Tests of the search: replicas are independent, restoring is exact, the best is what it says."""

import copy
import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf
from training_case import tiny_config

from keras_stackrnn.evaluation import evaluate
from keras_stackrnn.memories.soft import EMPTY
from keras_stackrnn.patterns import get
from keras_stackrnn.training import population
from keras_stackrnn.training.data import TrainingData
from keras_stackrnn.training.replica import NEVER, Scores
from keras_stackrnn.training.search import Search

pytestmark = pytest.mark.usefixtures("one_block_of_steps")


def search_of(tmp_path, **values) -> Search:
    values = {"model": "stack", "memories": 2, "capacity": 8, "lifetime": 10, **values}
    config = tiny_config(tmp_path, **values)
    return Search(config, TrainingData.of(config))


def arrays_after(search, rounds):
    for _ in range(rounds):
        search.advance()
    return search.state()


@pytest.mark.parametrize(
    "values",
    [
        {"recipe": "fast"},
        {"recipe": "paper"},
        {"task": "binary_addition", "episode": 5, "inherit_every": 5},
    ],
    ids=["fast", "paper", "binary_addition"],
)
def test_a_restored_search_continues_exactly(tmp_path, values):
    # All replicas are hopeless, so that some are replaced on the way.
    search = search_of(tmp_path, hopeless_below=1.0, **values)
    halfway, halfway_meta = copy.deepcopy(arrays_after(search, 2))
    arrays, meta = copy.deepcopy(arrays_after(search, 2))

    search.restore(halfway, json.loads(json.dumps(halfway_meta)))
    again, meta_again = arrays_after(search, 2)

    assert json.dumps(meta) == json.dumps(meta_again)
    assert len(meta["ended"]) > len(halfway_meta["ended"]) > 0
    assert arrays.keys() == again.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, again[name], err_msg=name)


def test_before_anyone_has_ended_a_restored_search_has_the_same_champion(tmp_path):
    """The champion's weights were a view of the best ones, and changed along with them."""
    search, restored = (search_of(tmp_path, lifetime=100) for _ in range(2))
    halfway, meta = copy.deepcopy(arrays_after(search, 1))
    arrays, _ = arrays_after(search, 2)

    restored.restore(halfway, json.loads(json.dumps(meta)))
    again, meta_again = arrays_after(restored, 2)

    assert not meta_again["ended"]
    assert np.any(halfway["best/kernel"][0] != again["best/kernel"][0])
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, again[name], err_msg=name)


@pytest.mark.parametrize("model", ["stack", "list"])
def test_replicas_learn_as_if_they_were_alone(tmp_path, model):
    values = {"model": model, "no_op": True, "action_noise": 0.0, "lifetime": 100}
    values["use_recurrent_kernel"] = True
    together, _ = arrays_after(search_of(tmp_path, population=2, **values), 2)
    alone, _ = arrays_after(search_of(tmp_path, population=1, **values), 2)

    for name in ("weights/kernel", "weights/memory_kernel", "weights/control_kernel"):
        np.testing.assert_allclose(together[name][0], alone[name][0], rtol=1e-3, atol=1e-5)
        assert np.any(together[name][1] != together[name][0])


@pytest.mark.parametrize("model", ["stack", "list"])
def test_an_episode_is_its_windows_one_after_the_other(tmp_path, model):
    search = search_of(tmp_path, model=model, use_recurrent_kernel=True, action_noise=0.5)
    config, trainer, state = search.config, search._trainer, search._state
    windows, replicas, lanes = 3, config.population, config.lanes
    rng = np.random.default_rng(0)
    shape = (windows, replicas, lanes, config.window)
    tokens, targets = (tf.constant(rng.integers(2, size=shape), tf.int32) for _ in range(2))
    deterministic = tf.constant(rng.random(shape) < 0.5)
    resets, asked = tf.zeros(shape, bool), tf.ones(shape, bool)
    rates = tf.constant(rng.uniform(0.01, 0.1, (windows, replicas)), tf.float32)
    seeds = tf.constant([[7, 1], [7, 2], [7, 3]])
    logits = trainer.architecture.controls

    expected, carried, shares = state, population.empty(trainer.architecture, replicas, lanes), []
    for i in range(windows):
        noise = tf.random.stateless_normal([config.window, replicas, logits, lanes], seeds[i])
        symbols = tokens[i], targets[i], deterministic[i], resets[i], asked[i]
        expected, carried, share = trainer._update(
            expected, carried, rates[i], config.action_noise * noise, *symbols
        )
        shares.append(share.numpy())
    found, found_shares = trainer.read_episode(
        state,
        rates,
        tf.fill([replicas], config.action_noise),
        seeds,
        tokens,
        targets,
        deterministic,
        resets,
        asked,
    )

    tf.nest.map_structure(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5), found, expected
    )
    np.testing.assert_allclose(found_shares, np.transpose(shares), rtol=1e-5)
    assert np.any(carried[1][0].numpy() > EMPTY)


def test_a_checkpoint_that_holds_memories_is_restored(tmp_path):
    """Memories were kept between episodes once, though each begins with empty ones."""
    search = search_of(tmp_path)
    arrays, meta = copy.deepcopy(arrays_after(search, 1))
    expected, _ = copy.deepcopy(arrays_after(search, 1))

    search.restore({**arrays, "hidden": np.ones(3), "memory": np.ones(3)}, meta)
    again, _ = arrays_after(search, 1)

    np.testing.assert_array_equal(again["weights/kernel"], expected["weights/kernel"])


@pytest.mark.parametrize(("mastery", "largest"), [(0.0, 4), (1.0, 2)])
def test_sequences_grow_for_those_who_master_them(tmp_path, mastery, largest):
    search = search_of(tmp_path, mastery=mastery, first_max_n=2, lifetime=100)
    search.advance()
    search.advance()

    assert search.status().n_range == (1, largest)


def test_sequences_grow_no_longer_than_max_n(tmp_path):
    search = search_of(tmp_path, mastery=0.0, first_max_n=9, max_n=3)
    search.advance()

    assert search.status().n_range == (1, 3)


def test_laggards_make_room_for_heirs_of_leaders(tmp_path):
    values = {"population": 5, "lifetime": 100, "mastery": 1.0, "action_noise": 0.0}
    search = search_of(tmp_path, inherit_every=10, **values)
    for replica, lesson in zip(search._replicas, (1, 0, 2, 1, 1), strict=True):
        replica.lesson = lesson
    first, _ = copy.deepcopy(arrays_after(search, 1))
    then, meta = arrays_after(search, 1)

    seeds = [replica["seed"] for replica in meta["replicas"]]
    assert [replica["heir_of"] for replica in meta["replicas"]] == [None, seeds[2], *[None] * 3]
    assert [replica["lesson"] for replica in meta["replicas"]] == [1, 2, 2, 1, 1]
    assert [replica["outcome"] for replica in meta["ended"]] == ["taken over"]
    assert len({*seeds, meta["ended"][0]["seed"]}) == 6
    assert meta["replicas"][1]["rate"] != meta["replicas"][2]["rate"] == 1
    for name in ("weights/kernel", "means/kernel", "best/kernel"):
        np.testing.assert_array_equal(then[name][1], then[name][2])
        assert np.any(first[name][1] != first[name][2])


def test_leaders_are_those_who_do_well_now_whatever_was_their_best(tmp_path):
    search = search_of(tmp_path, population=5, lifetime=100)
    perfect = Scores(1.0, 0.0, 1.0, 1.0, 0.0, 1.0)
    for replica, latest in zip(search._replicas, (0, 0.5, 0.5, 0.9, 0.5), strict=True):
        replica.latest = dataclasses.replace(perfect, rounded_accuracy=latest)
    search._replicas[1].best = perfect
    seed = search._replicas[3].seed

    search._inherit()

    assert [restart["heir_of"] for restart in search.restarts()] == [None, seed, *[None] * 4]


def test_nobody_is_taken_over_where_nobody_leads(tmp_path):
    values = {"population": 5, "lifetime": 100, "mastery": 1.0, "action_noise": 0.0}
    search = search_of(tmp_path, inherit_every=5, **values)
    search.advance()

    assert all(restart["heir_of"] is None for restart in search.restarts())


def test_all_of_many_sequences_right_is_solved(tmp_path):
    """A mean of 55 ones, compiled, is 0.99999994."""
    search = search_of(tmp_path, task="memorize", max_n=19, validation_sequences=3)
    rows = len(search._validation[0])
    deterministic = np.zeros_like(search._validation[2])
    search._validation[2] = deterministic
    search.advance()

    assert rows == 55
    assert search.status().soft_accuracy == search.status().rounded_accuracy == 1


def test_a_finished_search_starts_no_further_replicas(tmp_path):
    search = search_of(tmp_path, lifetime=5, updates=5, hopeless_below=0.0)
    search.advance()

    assert search.done
    assert search.status().alive == 0
    assert [restart["outcome"] for restart in search.restarts()] == ["not solved"] * 2


@pytest.mark.parametrize(
    "options",
    [{}, {"use_recurrent_kernel": True}, {"use_recurrent_kernel": True, "centred": True}],
    ids=["plain", "recurrent", "centred"],
)
def test_the_keras_model_is_as_good_as_the_validation_says(tmp_path, options):
    values = {"units": 8, "memories": 3, "updates_a_round": 60, "lifetime": 1000}
    search = search_of(tmp_path, **options, **values)
    for _ in range(3):
        search.advance()
    status, model = search.status(), search.best_model()

    n_values = range(1, search.config.max_n + 1)
    for rounding, accuracy in [(False, status.soft_accuracy), (True, status.rounded_accuracy)]:
        found = evaluate(
            model, get("anbn"), n_values, sequences=1, rounding=rounding, split="validation"
        )
        assert np.mean(list(found.per_n.values())) == pytest.approx(accuracy)
    assert status.updates == 180


def test_sure_comes_before_low_entropy_and_right_before_sure():
    right = Scores(1.0, 0.1, 0.6, 1.0, 0.1, 0.6)
    surer = Scores(1.0, 0.2, 0.7, 1.0, 0.2, 0.7)
    wrong = Scores(0.9, 0.0, 0.9, 1.0, 0.0, 0.9)

    assert NEVER.rank() < wrong.rank() < right.rank() < surer.rank()
    assert [scores.solved for scores in (NEVER, wrong, right)] == [False, False, True]


def test_a_restart_whose_loss_is_no_number_ends_and_that_is_said(tmp_path):
    said = []
    config = tiny_config(tmp_path, model="stack", memories=2, capacity=8, lifetime=100)
    search = Search(config, TrainingData.of(config), said.append)
    search.advance()
    arrays, meta = copy.deepcopy(search.state())
    arrays["weights/output_kernel"][0] = np.nan

    search.restore(arrays, meta)
    search.advance()

    [ended] = search.state()[1]["ended"]
    assert ended["outcome"] == "diverged"
    assert said == ["Diverged: the loss of 1 of 2 restarts is no number any more, and they end."]
    after, _ = search.state()
    assert all(np.isfinite(array).all() for array in after.values())
    assert search.best_model().count_params()
