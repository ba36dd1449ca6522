"""What a search varies from restart to restart, where restarts begin, and when they end."""

import numpy as np
import pytest
from test_case import raises_only
from training_case import tiny_config

from keras_stackrnn.training import RunError, train
from keras_stackrnn.training.conversion import from_keras, to_keras
from keras_stackrnn.training.data import TrainingData
from keras_stackrnn.training.population_state import initial_weights
from keras_stackrnn.training.replica import Replica, Scores
from keras_stackrnn.training.search import Search

pytestmark = pytest.mark.usefixtures("one_block_of_steps")


def search_of(folder, **values):
    values = {"model": "stack", "memories": 2, **values}
    config = tiny_config(folder, **values)
    return Search(config, TrainingData.of(config))


def test_restarts_draw_their_own_values_and_say_which(tmp_path):
    search = search_of(tmp_path, population=8, vary=3.0, listening=0.5)
    restarts = search.restarts()
    for name in ("learning_rate", "action_noise", "initial_scale"):
        usual = getattr(search.config, name)
        values = [restart[name] for restart in restarts]
        assert len(set(values)) == 8
        assert all(usual / 3 <= value <= usual * 3 for value in values)
    assert {restart["listening"] for restart in restarts} == {True, False}
    again = search_of(tmp_path, population=8, vary=3.0, listening=0.5)
    assert again.restarts() == restarts


def test_nothing_varies_unless_it_is_said(tmp_path):
    for restart in search_of(tmp_path).restarts():
        assert restart["learning_rate"] == 0.03
        assert restart["action_noise"] == 1.5
        assert not restart["listening"]


def test_a_unit_that_listens_is_on_for_one_symbol(tmp_path):
    architecture = search_of(tmp_path, task="anbncn")._architecture
    kernel = initial_weights(architecture, 1, 0.1, listening=True)["kernel"].numpy()
    assert kernel.shape == (3, 4)
    assert np.argmax(kernel, axis=0).tolist() == [0, 1, 2, 0]
    assert np.all(np.sum(kernel > 0, axis=0) == 1)


def test_noise_follows_success():
    replica = Replica(1)
    replica.lately = [1.0] * 4
    replica.noise_follows(1.1, updates=2)
    assert replica.noise == pytest.approx(1.21)
    replica.lately = [0.9] * 4
    replica.noise_follows(1.1, updates=1)
    assert replica.noise == pytest.approx(1.1)
    for _ in range(200):
        replica.noise_follows(1.1, updates=5)
    assert replica.noise == pytest.approx(0.1)


def test_heirs_may_want_a_leader_by_lessons():
    def after(lesson, accuracy):
        scores = Scores(accuracy, 0.1, 0.5, accuracy, 0.1, 0.5)
        return Replica(1, lesson=lesson, latest=scores)

    ahead, laggard = after(3, 0.9), after(3, 0.1)
    assert ahead.is_far_ahead_of(laggard)
    assert not ahead.is_far_ahead_of(laggard, lessons=1)
    assert after(4, 0.1).is_far_ahead_of(laggard, lessons=1)
    assert not after(4, 0.9).is_far_ahead_of(laggard, lessons=2)


def test_who_is_sure_enough_is_done_early(tmp_path):
    search = search_of(tmp_path, done_when_sure=0.8, lifetime=1000)
    sure, unsure = Scores(1, 0, 0.9, 1, 0, 0.81), Scores(1, 0, 0.9, 1, 0, 0.79)
    assert search._outcome(Replica(1, age=5, best=sure)) == "solved"
    assert search._outcome(Replica(1, age=5, best=unsure)) == "alive"
    assert search_of(tmp_path, lifetime=1000)._outcome(Replica(1, age=5, best=sure)) == "alive"


def test_who_is_right_alone_may_fail_in_a_row(tmp_path):
    """Scores of streams are those of sequences that follow one another with the same memory."""
    search = search_of(tmp_path, sequences_in_a_row=4, lifetime=5)
    solved = Scores(1, 0, 0.9, 1, 0, 0.9)
    for place, replica in enumerate(search._replicas):
        replica.age, replica.best = 5, solved
        # Nothing is scored in the streams of the second test: all of them are right.
        assert search._in_a_row[2].any()
        assert replica.in_a_row == 0, place
    search._end_replicas()
    assert [replica.outcome for replica in search._replicas] == ["failed in a row"] * 2

    search = search_of(tmp_path, sequences_in_a_row=4, lifetime=5)
    search._in_a_row[2] = np.zeros_like(search._in_a_row[2])
    for replica in search._replicas:
        replica.age, replica.best = 5, solved
    search._end_replicas()
    assert [replica.in_a_row for replica in search._replicas] == [1.0] * 2
    assert [replica.outcome for replica in search._replicas] == ["solved"] * 2


def test_streams_are_of_the_validation_and_end_to_end(tmp_path):
    search = search_of(tmp_path, task="memorize", sequences_in_a_row=3)
    tokens, targets, scored = search._in_a_row
    pattern = search._task
    joined = pattern.in_a_row(range(1, 7), 3, "validation", 0)
    length = len(joined.tokens) - 1
    assert tokens.shape[0] == 4
    assert tokens[0, :length].tolist() == joined.tokens[:-1].tolist()
    assert targets[0, :length].tolist() == joined.tokens[1:].tolist()
    assert scored[0, :length].tolist() == joined.deterministic[1:].tolist()
    assert joined.text.count("=") == 3


@pytest.mark.parametrize("centred", [False, True])
def test_a_search_begins_with_the_solution_of_a_run(tmp_path, centred):
    values = {"no_op": True, "use_recurrent_kernel": True, "centred": centred}
    search = search_of(tmp_path, **values)
    weights = {name: weight[0] for name, weight in search._best_weights.items()}
    for name, weight in weights.items():
        weights[name] = weight + np.linspace(0, 1, weight.size).reshape(weight.shape)
    model = to_keras(search._architecture, weights, search._task)
    back = from_keras(search._architecture, model)
    assert back.keys() == weights.keys()
    for name, weight in weights.items():
        np.testing.assert_allclose(back[name], weight, rtol=1e-4, atol=1e-5, err_msg=name)
    path = tmp_path / "first.keras"
    model.save(path)
    follower = search_of(tmp_path, task="anb2n", begin_with=str(path), **values)
    for place in range(2):
        kernel = follower._state.weights["output_kernel"][place]
        np.testing.assert_allclose(kernel, weights["output_kernel"], rtol=1e-4, atol=1e-5)


def test_a_run_that_does_not_fit_is_a_sentence(tmp_path):
    search = search_of(tmp_path)
    search.best_model().save(tmp_path / "first.keras")
    path = str(tmp_path / "first.keras")
    with raises_only(
        f"A search on 'anbncn' cannot begin with {path!r}, which reads the symbols ['a', 'b']: "
        "expected ['a', 'b', 'c']."
    ):
        search_of(tmp_path, task="anbncn", begin_with=path)
    with pytest.raises(ValueError, match=r"which has model=stack, units=4, .*: expected .*units=5"):
        search_of(tmp_path, units=5, begin_with=path)


def test_a_run_that_cannot_begin_leaves_no_folder(tmp_path):
    folder = tmp_path / "run"
    config = tiny_config(folder, model="stack", memories=2, begin_with="nowhere.keras")
    with pytest.raises(RunError, match=r"^There is no model 'nowhere\.keras': expected the folder"):
        train(config, log="none")
    assert not folder.exists()


def test_which_symbols_may_come_is_learned_and_validated(tmp_path):
    search = search_of(tmp_path, task="dyck_1", window=20, max_n=3, capacity=20, episode=1)
    assert search._validation[3].shape == (*search._validation[0].shape, 3)
    search.advance()
    for replica in search._replicas:
        assert 0 < replica.latest.soft_confidence <= 1
        assert 0 <= replica.latest.soft_accuracy <= 1
