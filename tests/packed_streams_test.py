"""Tests of streams of whole sequences: what a window holds, and that a stream goes on exactly."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_stackrnn import StackRNN, tasks
from keras_stackrnn.training.packed import PackedStream


def task(places=(1, 1, 0)) -> tasks.Transduction:
    def generate(size, draw):
        word = [draw.choice("01") for _ in range(size)]
        return word, [word[0]] * task_places.of(size)

    task_places = tasks.AnswerPlaces(*places)
    return tasks.Transduction(
        name="packed",
        inputs="01",
        outputs="01",
        train_sizes=range(1, 8),
        test_sizes=range(8, 20),
        generate=generate,
        answer_places=places,
    ).for_search()


def stream(**values) -> PackedStream:
    usual = {"lanes": 3, "window": 20, "seed": 5, "largest": 7}
    return PackedStream(task(), **{**usual, **values})


def sequences_of(windows, lane):
    """Every sequence of a lane as its own slices of the windows' fields."""
    for window in range(len(windows.tokens)):
        fields = [array[window, lane] for array in windows]
        begins = np.flatnonzero(fields[3]).tolist()
        assert begins[0] == 0, "a window begins with a sequence"
        for begin, end in zip(begins, [*begins[1:], len(fields[0])], strict=True):
            yield [field[begin:end] for field in fields]


def test_windows_hold_the_sequences_of_each_lane_whole_and_in_order():
    ours, the_task = stream(), task()
    windows = ours.next_windows(6)
    assert windows.tokens.shape == (6, 3, 20)
    for lane in range(3):
        keys = np.array([tasks.draw_key("packed", "stream", 5, lane)], np.uint64)
        for number, fields in enumerate(sequences_of(windows, lane)):
            size = the_task.draw_sizes(tasks.draws.words(keys, 2 * number), 7)
            row = the_task.rows(size, tasks.draws.words(keys, 2 * number + 1))
            length = int(row.lengths[0])
            for field, of_row in zip(
                (fields[0], fields[1], fields[2], fields[4]),
                (row.tokens, row.targets, row.scored, row.asked),
                strict=True,
            ):
                assert field[:length].tolist() == of_row[0].tolist()
                assert not field[length:].any(), "what is left over asks nothing"


def test_as_many_sequences_as_fit_are_in_a_window():
    for fields in sequences_of(stream(largest=1).next_windows(2), 0):
        assert len(fields[0]) == 2


@pytest.mark.parametrize("count", [1, 3])
def test_a_stream_goes_on_exactly_from_its_state(count):
    steady, stopped = stream(largest=[3, 5, 7]), stream(largest=[3, 5, 7])
    for _ in range(4):
        expected, found = steady.next_windows(count), stopped.next_windows(count)
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_array_equal(one, other)
        stopped = PackedStream.from_state(task(), json.loads(json.dumps(stopped.state())))


def test_every_lane_has_its_own_largest_size():
    windows = stream(largest=[1, 2, 7]).next_windows(40)
    longest = [max(int(f[4].sum()) for f in sequences_of(windows, lane)) for lane in range(3)]
    assert longest == [1, 2, 7]


def test_a_dataset_of_it_trains_a_layer_that_begins_anew_at_every_sequence():
    ours, twin = stream(), stream()
    dataset = ours.as_dataset()
    element, expected = next(iter(dataset)), twin.next_windows()
    for name, array in expected._asdict().items():
        np.testing.assert_array_equal(element[name], array[0])
    shape = ours.lanes, ours.window
    tokens, resets = keras.Input(batch_shape=(*shape, 3)), keras.Input(batch_shape=shape)
    hidden = StackRNN(4, 2, return_sequences=True)(tokens, resets=resets)
    model = keras.Model([tokens, resets], keras.layers.Dense(3, activation="softmax")(hidden))
    model.compile("adam", "sparse_categorical_crossentropy", jit_compile=True)

    batches = dataset.map(
        lambda w: ((tf.one_hot(w["tokens"], 3), w["resets"]), w["targets"], w["asked"])
    )
    history = model.fit(batches, steps_per_epoch=3, shuffle=False, verbose=0)

    assert np.isfinite(history.history["loss"]).all()
    inputs = np.eye(3, dtype="float32")[expected.tokens[0]]
    together = model.predict([inputs, expected.resets[0]], verbose=0)
    begin = np.flatnonzero(expected.resets[0, 1])[1]
    alone = inputs.copy()
    alone[1, : 20 - begin] = inputs[1, begin:]
    fresh = model.predict([alone, np.zeros(shape)], verbose=0)
    np.testing.assert_allclose(together[1, begin:], fresh[1, : 20 - begin], atol=1e-5)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match=r"one of 14 places or more for sizes up to 7, got 13\.$"):
        stream(window=13)
    with pytest.raises(ValueError, match=r"n from 8 up is for tests"):
        stream(largest=8)
    with pytest.raises(ValueError, match=r"one for each of the 3, got 2\.$"):
        stream(largest=[1, 2])
    with pytest.raises(ValueError, match=r"lanes of 1 or more, got 0\.$"):
        stream(lanes=0)
    with pytest.raises(ValueError, match=r"1 or more windows to ask for, got 0\.$"):
        stream().next_windows(0)
    with pytest.raises(ValueError, match=r"version 0 of the tasks"):
        PackedStream.from_state(task(), {**stream().state(), "version": "0"})
