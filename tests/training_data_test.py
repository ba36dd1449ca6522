"""The data of a search: what it gives, and that the test is out of its reach."""

import ast

import numpy as np
import pytest
from test_case import raises_only
from training_case import REPOSITORY, tiny_config

from keras_stackrnn import patterns
from keras_stackrnn.patterns import FIRST_TEST_N, draw_key
from keras_stackrnn.training.data import TrainingData
from keras_stackrnn.training.search import Search

TOO_LONG = "n from 20 up is for tests and cannot be trained or validated on, got 20."


def data_of(task="anbn", max_n=19, validation_sequences=5):
    return TrainingData(task, max_n, validation_sequences)


def test_streams_are_those_of_the_pattern():
    from keras_stackrnn.training.streams import Stream

    ours = data_of(max_n=5).stream(lanes=2, window=8, seed=3).next_windows(4)
    theirs = Stream("anbn", 2, 8, seed=3, n_range=(1, 5)).next_windows(4)
    for this, that in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(this, that)


def test_validation_rows_are_the_distinct_sequences():
    rows = data_of(max_n=3).validation()
    # aba, aabba and aaabbba: a token less, as the last one is only ever a target.
    assert rows.tokens.tolist() == [[0, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1]]
    assert rows.targets.tolist() == [[1, 0, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 0]]
    assert rows.scored.astype(int).tolist() == [
        [0, 1, 0, 0, 0, 0],
        [0, 0, 1, 1, 0, 0],
        [0, 0, 0, 1, 1, 1],
    ]


def test_validation_has_its_own_draws():
    tokens = data_of("memorize", max_n=12, validation_sequences=3).validation().tokens[-3:]
    pattern = patterns.get("memorize")
    expected = {pattern.sample(12, "validation", i).text[:-1] for i in range(3)}
    assert {pattern.decode(row) for row in tokens} == expected


def test_longer_sequences_cannot_be_had():
    data = data_of()
    stream = data.stream(lanes=1, window=8, seed=0)
    with raises_only(TOO_LONG):
        data_of(max_n=FIRST_TEST_N)
    with raises_only(TOO_LONG):
        stream.set_range(1, FIRST_TEST_N)
    with raises_only(TOO_LONG):
        data.task.sample(FIRST_TEST_N, "validation", 0)
    with raises_only(TOO_LONG):
        data.task.batch(np.array([1, FIRST_TEST_N]), np.zeros(2, np.uint64))


def test_test_sequences_cannot_be_had():
    with raises_only("The test sequences cannot be trained or validated on."):
        data_of().task.sample(3, "test", 0)


def test_a_restored_stream_goes_on_and_is_as_short():
    stream = data_of().stream(lanes=2, window=8, seed=0)
    stream.next_windows(3)
    restored = data_of().stream_from(stream.state())
    np.testing.assert_array_equal(restored.next_windows(2).tokens, stream.next_windows(2).tokens)
    with raises_only(TOO_LONG):
        restored.set_range(1, FIRST_TEST_N)


@pytest.fixture
def recorded():
    """A pattern that notes every sequence that is ever asked of it."""
    asked = []

    @patterns.register("recorded", alphabet="ab", smallest_n=1, n_means="length", example="a[b]")
    def generate(n, draw):
        asked.append((n, draw.key))
        return "a", "b" * n

    yield asked
    from keras_stackrnn.tasks import registry

    del registry._tasks["recorded"]


def test_a_search_asks_for_no_test_sequence(recorded, tmp_path):
    config = tiny_config(tmp_path, task="recorded", max_n=19, lifetime=5, updates=5, population=1)
    search = Search(config, TrainingData.of(config))
    search.advance()
    assert search.done
    test_keys = {draw_key("recorded", "test", n, i) for n in range(1, 61) for i in range(200)}
    assert max(n for n, _ in recorded) < FIRST_TEST_N
    assert test_keys.isdisjoint(key for _, key in recorded)


@pytest.mark.parametrize(
    "module", ["search", "population", "population_state", "optimizers", "exam"]
)
def test_a_search_knows_no_other_source_of_sequences(module):
    source = (REPOSITORY / f"keras_stackrnn/training/{module}.py").read_text()
    imported = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    sources = ("patterns", "tasks", "evaluation")
    found = {name for name in imported if any(source in name for source in sources)}
    # How sequences look as arrays is no source of any.
    assert found <= {"keras_stackrnn.tasks.rows", "keras_stackrnn.tasks.rows.Rows"}


def test_a_short_pattern_is_the_pattern_otherwise():
    pattern, short = patterns.get("memorize_5"), patterns.get("memorize_5").for_search()
    assert short.alphabet == pattern.alphabet
    assert short.sample(7, "validation", 3).text == pattern.sample(7, "validation", 3).text
