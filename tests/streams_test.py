"""Tests of the streams of windows, against lanes written one sequence at a time."""

import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_stackrnn import patterns
from keras_stackrnn.tasks import draws
from keras_stackrnn.training import streams
from keras_stackrnn.training.streams import Stream


def write_lane(pattern, seed, lane, n_range, reset_every, symbols):
    """The first symbols of a lane, the obvious way: tokens, deterministic mask and resets."""
    key = np.array([draws.draw_key(pattern.name, "stream", seed, lane)], np.uint64)
    sequences, resets = [], []
    while len(resets) < symbols:
        number = len(sequences)
        n_word, sequence_key = (
            int(word) for word in draws.words(key, [2 * number, 2 * number + 1])
        )
        n = n_range[0] + (n_word >> 32) * (n_range[1] - n_range[0] + 1) // 2**32
        sequences.append(pattern.sequence(n, patterns.Draw(sequence_key)))
        resets += [number % reset_every == 0] + [False] * (len(sequences[-1].text) - 1)
    joined = pattern.join(sequences)
    return joined.tokens[:symbols], joined.deterministic[:symbols], np.array(resets[:symbols])


def lane_of(windows, lane):
    """A lane's tokens, with the last target at their end."""
    return np.append(windows.tokens[:, lane].ravel(), windows.targets[-1, lane, -1])


def assert_same(left, right):
    for left_array, right_array in zip(left, right, strict=True):
        np.testing.assert_array_equal(left_array, right_array)


@pytest.fixture(params=["as usual", "in tiny blocks"])
def any_block_size(request, monkeypatch):
    """What is made ahead must not show: runs a test with blocks of about one window too."""
    if request.param == "in tiny blocks":
        monkeypatch.setattr(streams, "_SYMBOLS_A_BLOCK", 1)


@pytest.mark.usefixtures("any_block_size")
@pytest.mark.parametrize("name", [*patterns.names(), "memorize_5"])
def test_windows_are_the_lanes_sequences(name):
    pattern = patterns.get(name)
    n_range = (pattern.smallest_n, 7)
    stream = Stream(name, lanes=3, window=10, seed=5, n_range=n_range, reset_every=3)
    parts = [stream.next_windows(count) for count in (1, 4, 1, 2)]
    windows = streams.Windows(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    assert windows.tokens.shape == (8, 3, 10)
    assert [array.dtype for array in windows] == [np.int32, np.int32, bool, bool, bool]
    for lane in range(3):
        tokens, deterministic, resets = write_lane(pattern, 5, lane, n_range, 3, 81)
        np.testing.assert_array_equal(windows.tokens[:, lane].ravel(), tokens[:-1])
        np.testing.assert_array_equal(windows.targets[:, lane].ravel(), tokens[1:])
        np.testing.assert_array_equal(windows.deterministic[:, lane].ravel(), deterministic[1:])
        np.testing.assert_array_equal(windows.resets[:, lane].ravel(), resets[:-1])


@pytest.mark.parametrize("name", ["anbmcnm", "memorize", "binary_addition"])
def test_a_pattern_without_a_batch_function_gives_the_same_stream(name):
    one_by_one = dataclasses.replace(patterns.get(name), generate_batch=None)
    fast, slow = (Stream(each, lanes=2, window=7, seed=1) for each in (name, one_by_one))
    assert_same(fast.next_windows(20), slow.next_windows(20))


def shorter_operands(text):
    """The digits of the shorter operand of every sum."""
    return [min(map(len, each.split("=")[0].split("+"))) for each in text.split(".")[:-1]]


@pytest.mark.usefixtures("any_block_size")
def test_each_lane_may_have_a_limit_of_its_own_that_moves_from_the_next_sequence_on():
    values = {"lanes": 2, "window": 60, "seed": 2}
    stream = Stream("binary_addition", n_range=(12, 12), limit=[1, 3], **values)
    before = stream.next_windows(10)
    stream = Stream.from_state(json.loads(json.dumps(stream.state())))
    stream.set_range(12, 12, [5, 1])
    after = stream.next_windows(10)
    for lane, (first, then) in enumerate([(1, 5), (3, 1)]):
        read = stream.pattern.decode(before.tokens[:, lane].ravel())
        begun = len(shorter_operands(read)) + 1
        written = shorter_operands(read + stream.pattern.decode(after.tokens[:, lane].ravel()))
        assert set(written[:begun]) == set(range(1, first + 1))
        assert set(written[begun:]) == set(range(1, then + 1))


@pytest.mark.usefixtures("any_block_size")
@pytest.mark.parametrize("name", ["anbmcnm", "multiply", "memorize"])
@settings(max_examples=20, deadline=None)
@given(
    steps=st.lists(
        st.one_of(st.integers(1, 4), st.tuples(st.integers(2, 4), st.integers(4, 9))),
        min_size=1,
        max_size=8,
    )
)
def test_a_stream_restarted_from_its_state_is_the_uninterrupted_one(name, steps):
    steady = restarted = Stream(name, lanes=2, window=5, seed=3, n_range=(2, 6), reset_every=2)
    for step in steps:
        restarted = Stream.from_state(json.loads(json.dumps(restarted.state())))
        if isinstance(step, int):
            assert_same(steady.next_windows(step), restarted.next_windows(step))
        else:
            steady.set_range(*step)
            restarted.set_range(*step)


def letters(stream, tokens):
    return "".join(stream.pattern.alphabet[token] for token in tokens.ravel())


def runs_of_a(text):
    """The number of a's of every sequence of a^n b^n."""
    return [len(run) for run in text.replace("b", " ").split()]


@pytest.mark.usefixtures("any_block_size")
def test_a_moved_range_acts_from_the_next_sequence_on():
    stream = Stream("anbn", lanes=2, window=8, seed=4, n_range=(1, 3))
    before = stream.next_windows(6)
    stream.set_range(10, 12)
    after = stream.next_windows(20)
    for lane in range(2):
        text = patterns.get("anbn").decode(lane_of(before, lane)[:-1])
        text += patterns.get("anbn").decode(lane_of(after, lane))
        lengths = runs_of_a(text[: text.rindex("ba")])
        first_long = next(i for i, n in enumerate(lengths) if n >= 10)
        assert max(lengths[:first_long]) <= 3
        assert set(lengths[first_long:]) <= {10, 11, 12}
        # The sequence under way ends as it began: no a's are added to it, and its b's match.
        begun = sum(2 * n for n in lengths[:first_long])
        assert 48 <= begun <= 48 + 6


def test_a_range_moved_before_the_first_window_acts_at_once():
    stream = Stream("anbn", lanes=4, window=50, n_range=(1, 3))
    stream.set_range(9, 9)
    assert_same(
        stream.next_windows(), Stream("anbn", lanes=4, window=50, n_range=(9, 9)).next_windows()
    )


def test_each_lane_may_have_a_range_of_its_own():
    stream = Stream("anbn", lanes=3, window=60, seed=2, n_range=(1, [1, 4, 9]))
    restored = Stream.from_state(json.loads(json.dumps(stream.state())))
    tokens = stream.next_windows(20).tokens
    for lane, largest in enumerate([1, 4, 9]):
        text = letters(stream, tokens[:, lane])
        assert set(runs_of_a(text[: text.rindex("ba")])) == set(range(1, largest + 1))
    np.testing.assert_array_equal(restored.next_windows(20).tokens, tokens)


def test_lanes_can_begin_anew_in_the_middle_of_a_sequence():
    stream = Stream("anbn", lanes=2, window=7, seed=2, n_range=(5, 5))
    for _ in range(3):
        assert letters(stream, stream.next_windows().tokens[0, 0]) == "aaaaabb"
        stream.begin_sequences()
    undisturbed = Stream("memorize", lanes=2, window=7, seed=2, n_range=(5, 5))
    beginning = Stream("memorize", lanes=2, window=7, seed=2, n_range=(5, 5))
    beginning.begin_sequences()
    here, there = beginning.next_windows(), undisturbed.next_windows()
    np.testing.assert_array_equal(here.tokens, there.tokens)
    beginning.begin_sequences()
    after = beginning.next_windows().tokens
    assert np.any(after != undisturbed.next_windows().tokens)
    assert beginning.state()["sequence"] == [1, 1]


def test_range_is_inclusive_and_by_default_the_papers():
    windows = Stream("anbn", lanes=1, window=5000).next_windows()
    text = patterns.get("anbn").decode(windows.tokens[0, 0])
    assert set(runs_of_a(text[: text.rindex("ba")])) == set(range(1, 20))


def test_lanes_and_seeds_differ():
    first, second = (Stream("memorize", lanes=2, window=60, seed=seed) for seed in (0, 1))
    first, second = first.next_windows().tokens, second.next_windows().tokens
    assert len({array.tobytes() for array in (*first[0], *second[0])}) == 4


def test_a_reset_is_due_at_the_start_of_every_so_many_sequences():
    stream = Stream("anbn", lanes=1, window=8, n_range=(2, 2), reset_every=3)
    assert np.flatnonzero(stream.next_windows(6).resets).tolist() == [0, 12, 24, 36]


def test_dataset_reads_from_the_stream():
    stream, twin = (Stream("anbmcnm", lanes=3, window=7, seed=8) for _ in range(2))
    dataset = stream.as_dataset()
    assert dataset.cardinality() == tf.data.INFINITE_CARDINALITY
    assert {name: (spec.shape, spec.dtype) for name, spec in dataset.element_spec.items()} == {
        "tokens": ((3, 7), tf.int32),
        "targets": ((3, 7), tf.int32),
        "deterministic": ((3, 7), tf.bool),
        "resets": ((3, 7), tf.bool),
    }
    elements = iter(dataset)
    for _ in range(3):
        element, expected = next(elements), twin.next_windows()
        for name, array in element.items():
            np.testing.assert_array_equal(array, getattr(expected, name)[0])
    stream.set_range(30, 30)
    twin.set_range(30, 30)
    for _ in range(10):
        element, expected = next(elements), twin.next_windows()
        np.testing.assert_array_equal(element["tokens"], expected.tokens[0])
    assert stream.state() == twin.state()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pattern": "nothing"}, "no task 'nothing'"),
        ({"lanes": 0}, "lanes of 1 or more, got 0"),
        ({"window": -2}, "window of 1 or more, got -2"),
        ({"reset_every": 0}, "reset_every of 1 or more, got 0"),
        ({"n_range": (0, 5)}, "begins at n = 1 .*, got 0"),
        ({"n_range": (6, 5)}, "must not be below the smallest, got 6 to 5"),
        ({"n_range": (1, [5, 6, 7])}, "one for all lanes or one for each of the 2, got 3"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Stream(**{"pattern": "anbn", "lanes": 2, **arguments})


def test_bad_calls_are_refused():
    stream = Stream("anbn", lanes=2)
    with pytest.raises(ValueError, match="1 or more windows to ask for, got 0"):
        stream.next_windows(0)
    with pytest.raises(ValueError, match=r"saved by version 0\.0\.1 of the patterns"):
        Stream.from_state({**stream.state(), "version": "0.0.1"})
