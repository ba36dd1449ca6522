"""What a population trains is what its Keras models are, with memories and without."""

import numpy as np
import pytest
import tensorflow as tf
from training_case import tiny_config

from keras_stackrnn.evaluation import evaluate
from keras_stackrnn.training.conversion import from_keras, to_keras
from keras_stackrnn.training.data import TrainingData
from keras_stackrnn.training.search import Search

pytestmark = pytest.mark.usefixtures("one_block_of_steps")

_MEMORY = {"memories": 2, "capacity": 8}
SEARCHES = {
    "rnn": {"model": "rnn"},
    "gru": {"model": "gru", "layers": 2},
    "lstm": {"model": "lstm", "layers": 2},
    "lstm of a task that begins anew": {"model": "lstm", "task": "chomsky/parity_check"},
    "states": {"model": "second_order"},
    "stack": {"model": "stack", "layers": 2, "use_recurrent_kernel": True, **_MEMORY},
    "list and lstm": {"model": "list", "layers": 2, "controller": "lstm", "no_op": True, **_MEMORY},
    "stack and states": {"model": "stack", "layers": 2, "controller": "second_order", **_MEMORY},
    "centred": {"model": "stack", "centred": True, "use_recurrent_kernel": True, **_MEMORY},
    "states written": {
        "model": "list",
        "controller": "second_order",
        "no_op": True,
        "element_size": 4,
        "writes_hidden": True,
        **_MEMORY,
    },
}


def search_of(tmp_path, **values):
    given = {"window": 50} if "chomsky" in values.get("task", "") else {}
    config = tiny_config(tmp_path, **{"population": 3, "lifetime": 100, **given, **values})
    return Search(config, TrainingData.of(config))


@pytest.mark.parametrize("name", SEARCHES)
def test_a_population_learns_and_is_its_keras_models(tmp_path, name):
    search = search_of(tmp_path, **SEARCHES[name])
    architecture, task = search._architecture, search._task
    before = {name: weight.numpy() for name, weight in search._state.weights.items()}
    search.advance()
    weights = {name: weight[1].numpy() for name, weight in search._state.weights.items()}
    for name, weight in weights.items():
        assert (before[name][1] != weight).mean() > 0.6, name

    model = to_keras(architecture, weights, task)

    assert model.num_layers == search.config.layers
    back = from_keras(architecture, model)
    assert back.keys() == weights.keys()
    for name, weight in weights.items():
        np.testing.assert_allclose(back[name], weight, atol=1e-6)
    # The same entropies, from the population's own program and from the Keras model.
    tokens, targets, scored = search._validation
    logs = tf.nn.log_softmax(model(tokens)).numpy()
    chosen = np.take_along_axis(logs, targets[..., None], axis=-1)[..., 0]
    ours = search._scores(search._state.weights, (tokens, targets, scored))[1]
    assert ours.soft_entropy == pytest.approx(-chosen[scored].mean(), rel=1e-4)


def test_an_lstm_begins_with_open_forget_gates(tmp_path):
    search = search_of(tmp_path, model="lstm", layers=2)

    for name in ("bias", "bias_1"):
        bias = search._state.weights[name].numpy()
        np.testing.assert_array_equal(bias[:, 4:8], np.ones((3, 4, 1)))
        assert not bias[:, :4].any()
        assert not bias[:, 8:].any()


def test_a_network_without_a_memory_learns_short_sequences(tmp_path):
    values = {"units": 16, "lanes": 8, "learning_rate": 0.02, "updates_a_round": 100}
    search = search_of(tmp_path, model="rnn", max_n=2, lifetime=600, updates=600, **values)
    while not search.done:
        search.advance()

    status = search.status()
    assert status.soft_accuracy == 1
    assert np.isnan(status.rounded_accuracy)
    assert status.solved > 0
    assert not any("rounded_accuracy" in restart for restart in search.restarts())
    accuracy = evaluate(search.best_model(), search._data.task, [1, 2], 1, split="validation")
    assert accuracy.per_n == {1: 1.0, 2: 1.0}


def test_a_network_without_a_memory_takes_exams(tmp_path):
    values = {"exam_sequences": 2, "sequences_in_a_row": 2, "lifetime": 5}
    search = search_of(tmp_path, model="gru", max_n=2, **values)
    search.advance()

    ended = {each["outcome"] for each in search.restarts()} - {"alive"}
    assert ended
    assert ended <= {"not solved", "solved", "failed the exam", "failed in a row"}
