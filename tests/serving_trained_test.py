"""A trained model over the wire, soft and rounded, against the Keras model."""

import numpy as np
import pytest
import serving_fixtures as fixtures
import tensorflow as tf

from keras_stackrnn import patterns
from keras_stackrnn.export import export
from keras_stackrnn.serving import config
from keras_stackrnn.serving.batching import BatchingOptions
from keras_stackrnn.serving.client import Client
from keras_stackrnn.training import TrainingConfig
from keras_stackrnn.training.data import TrainingData
from keras_stackrnn.training.search import Search

PATTERN = patterns.get("anbn")
WAYS = {"soft": False, "rounded": True}
# Also longer ones than in training, and one that is none of the pattern's.
TEXTS = [*(PATTERN.sample(n, "test", 0).text for n in (1, 7, 30)), "abbaabaaab"]


@pytest.fixture(scope="module")
def trained(one_block_of_steps):
    training = TrainingConfig.from_recipe(
        PATTERN.name, units=8, memories=2, population=4, updates=240, lifetime=240, max_n=10
    )
    search = Search(training, TrainingData.of(training))
    while not search.done:
        search.advance()
    assert search.status().rounded_accuracy > 0.5
    return search.best_model()


@pytest.fixture(scope="module")
def server(trained, tmp_path_factory):
    """Serves the model in both ways, as versions with labels, and merges requests."""
    base_path = tmp_path_factory.mktemp("trained") / PATTERN.name
    models = config.single_model(PATTERN.name, base_path)
    [model] = models.model_config_list.config
    model.model_version_policy.all.SetInParent()
    for way, rounding in WAYS.items():
        model.version_labels[way] = int(export(trained, base_path, rounding).name)
    batching = BatchingOptions(pad_variable_length_inputs=True)
    with fixtures.RunningServer(models, batching=batching) as running:
        yield running


@pytest.fixture(params=WAYS)
def way(request):
    return request.param


@pytest.fixture
def client(server, way):
    with Client(server.address, PATTERN.name, label=way) as connected:
        yield connected


@pytest.fixture
def expected(trained, way):
    """What the Keras model gives: the probabilities after each symbol of each text."""
    model = trained.twin(rounding=WAYS[way], capacity=None)
    rows = [tf.constant([PATTERN.encode(text)]) for text in TEXTS]
    return [tf.nn.softmax(model(row))[0].numpy() for row in rows]


def assert_close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6)


def test_predictions(client, expected):
    rows = [PATTERN.encode(text) for text in TEXTS]
    for outputs in (client.predict(rows), client.predict(TEXTS)):
        assert_close(outputs["probabilities"], [each[-1] for each in expected])


def test_predictions_symbol_by_symbol(client, expected):
    for text, probabilities in zip(TEXTS, expected, strict=True):
        session = client.session()
        steps = [session.step([[token]])["probabilities"][0] for token in PATTERN.encode(text)]
        assert_close(steps, probabilities)


def test_scores(client, expected):
    rows = [PATTERN.encode(text) for text in TEXTS]
    for row, probabilities, scores in zip(rows, expected, client.score(rows), strict=True):
        given = probabilities[np.arange(len(row) - 1), row[1:]]
        assert_close(np.exp(scores["log_probabilities"][1:]), given)
        np.testing.assert_array_equal(scores["predictions"], probabilities.argmax(axis=1))


def test_traces(client, expected):
    for text, probabilities in zip(TEXTS, expected, strict=True):
        outputs = client.call("trace", {"text": np.array([text.encode()], object)})
        assert_close(outputs["probabilities"][0], probabilities)
