"""Batching: who runs together, how rows are padded and split, and what happens when it fails."""

import asyncio
import concurrent.futures
import threading
import time

import grpc
import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import serving_fixtures as fixtures
import tensorflow as tf

from keras_stackrnn.serving import batching, config, lanes, status
from keras_stackrnn.serving.batching import BatchingOptions, BatchingRunner, DirectRunner
from keras_stackrnn.serving.inference import Plan
from keras_stackrnn.serving.saved_model import SavedModel


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return fixtures.save_next_symbol(tmp_path_factory.mktemp("batching") / "1", scale=1.0)


@pytest.fixture(scope="module")
def model(path):
    loaded = SavedModel(path)
    yield loaded
    loaded.close()


class GatedModel:
    """A model that waits for its gate to open, and writes down how many rows each run had."""

    def __init__(self, model: SavedModel):
        self.gate = threading.Event()
        self.batch_rows = []
        self._model = model

    def run(self, feeds, fetches, timeout_seconds=None, lane=0):
        self.gate.wait(30)
        self.batch_rows.append(max((array.shape or (0,))[0] for array in feeds.values()))
        return self._model.run(feeds, fetches, timeout_seconds)


def plan(model: SavedModel, signature: str, **inputs) -> Plan:
    found = model.signatures[signature]
    feeds = {found.inputs[name]: np.asarray(value) for name, value in inputs.items()}
    return Plan(feeds, found.fetches)


def sequence_plan(model: SavedModel, sequence) -> Plan:
    tokens = np.array([sequence], np.int32).reshape(1, len(sequence))
    lengths = np.array([len(sequence)], np.int32)
    return plan(model, "serving_default", tokens=tokens, lengths=lengths)


def probabilities(model: SavedModel, outputs) -> np.ndarray:
    return outputs[model.signatures["serving_default"].outputs["probabilities"]]


async def run(runner, *arguments):
    return await asyncio.wrap_future(runner.submit(*arguments))


def run_together(model, options: BatchingOptions, plans, deadline=None, cancel=False):
    """Queues all plans behind a run that is held back; returns results and sizes of the runs."""
    gated = GatedModel(model)
    plug = plan(model, "batch_rows", x=np.zeros(1, np.float32))

    async def run_all():
        runner = BatchingRunner(options)
        plugged = asyncio.ensure_future(run(runner, gated, plug))
        while not runner._running_tasks:
            await asyncio.sleep(0.001)
        tasks = [asyncio.ensure_future(run(runner, gated, each, deadline)) for each in plans]
        await asyncio.sleep(0)  # Every one of them has now queued, or asked for a thread.
        if cancel:
            for task in tasks:
                task.cancel()
            await asyncio.sleep(0)
        gated.gate.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        await plugged
        runner.close()
        return results

    return asyncio.run(run_all()), gated.batch_rows[1:]


ONE_THREAD = BatchingOptions(num_batch_threads=1, pad_variable_length_inputs=True)


@hypothesis.given(
    st.lists(st.lists(st.integers(0, fixtures.VOCABULARY - 1), max_size=6), min_size=1, max_size=8),
    st.sampled_from([(), (4, 8), (16,)]),
    st.booleans(),
)
def test_every_request_gets_its_own_answer(model, sequences, allowed, pad):
    options = BatchingOptions(
        max_batch_size=allowed[-1] if allowed else 3,
        num_batch_threads=1,
        allowed_batch_sizes=allowed,
        pad_variable_length_inputs=pad,
    )
    results, _ = run_together(model, options, [sequence_plan(model, s) for s in sequences])
    for sequence, outputs in zip(sequences, results, strict=True):
        expected = fixtures.expected_probabilities(np.array(sequence, int), 1.0)
        np.testing.assert_allclose(probabilities(model, outputs), [expected], atol=1e-6)


def test_requests_that_wait_together_run_together(model):
    plans = [sequence_plan(model, [1] * length) for length in range(1, 9)]
    _, rows = run_together(model, ONE_THREAD, plans)
    assert rows == [8]


def test_without_padding_only_equal_shapes_meet(model):
    plans = [sequence_plan(model, [1] * length) for length in (1, 2, 1, 2, 2)]
    options = BatchingOptions(num_batch_threads=1)
    _, rows = run_together(model, options, plans)
    assert sorted(rows) == [2, 3]


def test_a_batch_is_closed_when_the_next_request_does_not_fit(model):
    plans = [plan(model, "batch_rows", x=np.zeros(n, np.float32)) for n in (2, 2, 1, 4)]
    options = BatchingOptions(max_batch_size=4, num_batch_threads=1)
    results, rows = run_together(model, options, plans)
    assert rows == [4, 1, 4]
    assert [next(iter(outputs.values())).tolist() for outputs in results] == [
        [4, 4],
        [4, 4],
        [1],
        [4, 4, 4, 4],
    ]


def test_rows_are_filled_up_to_an_allowed_size(model):
    plans = [plan(model, "batch_rows", x=np.zeros(1, np.float32)) for _ in range(3)]
    options = BatchingOptions(max_batch_size=8, num_batch_threads=1, allowed_batch_sizes=(2, 4, 8))
    results, rows = run_together(model, options, plans)
    assert rows == [4]
    assert [next(iter(outputs.values())).tolist() for outputs in results] == [[4]] * 3


def test_padding_repeats_the_first_element():
    first = np.array([[7, 8, 9]], np.int32)
    second = np.array([[5]], np.int32)
    merged = batching._concatenate([first, second], rows=3)
    np.testing.assert_array_equal(merged, [[7, 8, 9], [5, 5, 5], [5, 5, 5]])
    words = np.array([[b"a", b"b"]], object), np.empty((1, 0), object)
    assert batching._concatenate(words, rows=2).tolist() == [[b"a", b"b"], [b"", b""]]


def test_a_bad_request_fails_alone(model):
    plans = [sequence_plan(model, sequence) for sequence in ([1, 2], [99], [3])]
    results, rows = run_together(model, ONE_THREAD, plans)
    assert rows == [3, 1, 1, 1]
    assert isinstance(results[1], tf.errors.InvalidArgumentError)
    for index, sequence in ((0, [1, 2]), (2, [3])):
        expected = fixtures.expected_probabilities(sequence, 1.0)
        np.testing.assert_allclose(probabilities(model, results[index]), [expected], atol=1e-6)


def test_types_that_differ_do_not_meet(model):
    good = sequence_plan(model, [1])
    bad = Plan({name: array.astype(np.int64) for name, array in good.feeds.items()}, good.fetches)
    results, _ = run_together(model, ONE_THREAD, [good, bad, good])
    assert isinstance(results[1], tf.errors.InvalidArgumentError)
    assert not any(isinstance(results[index], Exception) for index in (0, 2))


def test_outputs_without_a_batch_dimension_run_alone(model):
    plans = [plan(model, "total", x=np.full(2, n, np.float32)) for n in (1, 2, 3)]
    results, rows = run_together(model, ONE_THREAD, plans)
    assert [float(next(iter(outputs.values()))) for outputs in results] == [2.0, 4.0, 6.0]
    assert rows == [6, 2, 2, 2]


def test_scalar_inputs_run_alone(model):
    plans = [plan(model, "initial_state", batch_size=np.int32(n)) for n in (1, 2)]
    results, _ = run_together(model, ONE_THREAD, plans)
    assert [len(next(iter(outputs.values()))) for outputs in results] == [1, 2]


def test_a_request_larger_than_a_batch_is_refused(model):
    plans = [plan(model, "batch_rows", x=np.zeros(5, np.float32))]
    [error], _ = run_together(model, BatchingOptions(max_batch_size=4), plans)
    assert isinstance(error, status.ServingError)
    assert error.message == "Task size 5 is larger than maximum input batch size 4"
    assert error.code == grpc.StatusCode.INVALID_ARGUMENT


def test_a_full_queue_refuses(model):
    plans = [plan(model, "batch_rows", x=np.zeros(2, np.float32)) for _ in range(6)]
    options = BatchingOptions(max_batch_size=2, num_batch_threads=1, max_enqueued_batches=3)
    results, rows = run_together(model, options, plans)
    errors = [result for result in results if isinstance(result, status.ServingError)]
    assert [error.code for error in errors] == [grpc.StatusCode.RESOURCE_EXHAUSTED] * 3
    assert len(rows) == 3


def test_what_waited_too_long_is_not_run(model):
    plans = [sequence_plan(model, [1]) for _ in range(3)]
    results, rows = run_together(model, ONE_THREAD, plans, deadline=time.monotonic())
    assert not rows
    assert {result.code for result in results} == {grpc.StatusCode.DEADLINE_EXCEEDED}


def test_what_nobody_waits_for_is_not_run(model):
    plans = [sequence_plan(model, [1]) for _ in range(3)]
    results, rows = run_together(model, ONE_THREAD, plans, cancel=True)
    assert not rows
    assert {type(result) for result in results} == {asyncio.CancelledError}


def test_a_deadline_is_kept_while_others_run(model):
    """As gRPC and REST keep theirs: who has waited long enough goes, and is not run."""
    gated = GatedModel(model)

    async def ask():
        runner = BatchingRunner(ONE_THREAD)
        held = asyncio.ensure_future(run(runner, gated, sequence_plan(model, [1])))
        while not runner._running_tasks:
            await asyncio.sleep(0.001)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await run(runner, gated, sequence_plan(model, [2]))
        gated.gate.set()
        await held
        runner.close()

    asyncio.run(ask())
    assert gated.batch_rows == [1]


def test_no_more_than_so_many_run_at_a_time(model):
    gated = GatedModel(model)

    async def ask():
        runner = DirectRunner(1)
        held = asyncio.ensure_future(run(runner, gated, sequence_plan(model, [1])))
        late = asyncio.ensure_future(
            run(runner, gated, sequence_plan(model, [2]), time.monotonic())
        )
        gone = asyncio.ensure_future(run(runner, gated, sequence_plan(model, [3])))
        await asyncio.sleep(0.01)
        gone.cancel()
        await asyncio.sleep(0)
        gated.gate.set()
        await held
        with pytest.raises(status.ServingError) as caught:
            await late
        assert caught.value.code == grpc.StatusCode.DEADLINE_EXCEEDED
        assert gated.batch_rows == [1]
        outputs = await run(runner, gated, sequence_plan(model, [4]))
        assert probabilities(model, outputs).shape == (1, fixtures.VOCABULARY)
        runner.close()

    asyncio.run(ask())
    assert gated.batch_rows == [1, 1]


def test_who_asks_alone_does_not_wait_for_company(model):
    async def ask():
        runner = BatchingRunner(BatchingOptions(batch_timeout_seconds=3600.0))
        for _ in range(3):
            outputs = await run(runner, model, sequence_plan(model, [1]))
            assert probabilities(model, outputs).shape == (1, fixtures.VOCABULARY)
        runner.close()

    asyncio.run(asyncio.wait_for(ask(), 60))


def test_a_crowd_that_has_gone_is_not_waited_for_longer_than_told(model):
    async def ask():
        runner = BatchingRunner(BatchingOptions(batch_timeout_seconds=0.02))
        await asyncio.gather(*(run(runner, model, sequence_plan(model, [1])) for _ in range(8)))
        assert runner._recent_crowd > 1
        for _ in range(20):
            await run(runner, model, sequence_plan(model, [1]))
        assert runner._recent_crowd == 1
        runner.close()

    asyncio.run(asyncio.wait_for(ask(), 60))


def test_a_crowd_is_not_waited_for_when_nothing_happens(model):
    runner = BatchingRunner(BatchingOptions(batch_timeout_seconds=1e6))
    batch = batching._Batch(model, key=(), due=runner._last_event + 1e6)
    assert runner._due(batch) == pytest.approx(runner._last_event + 1e5)
    runner._last_event += 0.95e6
    assert runner._due(batch) == batch.due
    before = runner._last_event = 0.0
    asyncio.run(run(runner, model, sequence_plan(model, [1])))
    assert runner._last_event > before
    runner.close()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_batch_size { value: 0 }", "max_batch_size must be a positive integer, got 0."),
        ("num_batch_threads { value: -1 }", "num_batch_threads must be a positive integer"),
        ("batch_timeout_micros { value: -1 }", "batch_timeout_micros must not be negative"),
        (
            "max_batch_size { value: 8 } allowed_batch_sizes: [2, 4]",
            r"must increase and end with max_batch_size \(8\), got \[2, 4\]",
        ),
        (
            "max_batch_size { value: 8 } allowed_batch_sizes: [4, 2, 8]",
            "allowed_batch_sizes must increase",
        ),
    ],
)
def test_parameters_that_make_no_sense(text, message):
    proto = config.text_format.Parse(text, config.BatchingParameters())
    with pytest.raises(ValueError, match=message):
        BatchingOptions.from_proto(proto)


def test_parameters_keep_tensorflow_servings_defaults():
    options = BatchingOptions.from_proto(config.BatchingParameters())
    assert options == BatchingOptions()
    assert (options.max_batch_size, options.max_enqueued_batches) == (1000, 10)


def test_over_the_wire(path):
    options = BatchingOptions(
        max_batch_size=16, batch_timeout_seconds=0.002, pad_variable_length_inputs=True
    )
    random = np.random.default_rng(0)
    sequences = [
        random.integers(0, fixtures.VOCABULARY, random.integers(1, 20)) for _ in range(200)
    ]
    models = config.single_model("m", path.parent)
    with (
        fixtures.RunningServer(models, batching=options) as running,
        concurrent.futures.ThreadPoolExecutor(16) as pool,
    ):
        calls = pool.map(
            lambda sequence: running.prediction.Predict(
                fixtures.sequence_request(sequence), timeout=30
            ),
            sequences,
        )
        for sequence, response in zip(sequences, calls, strict=True):
            got = fixtures.outputs_of(response)["probabilities"]
            expected = fixtures.expected_probabilities(sequence, 1.0)
            np.testing.assert_allclose(got, [expected], atol=1e-6)


class HeldModel(GatedModel):
    """A model whose large runs wait for its gate."""

    def run(self, feeds, fetches, timeout_seconds=None, lane=0):
        if lanes.is_large(feeds):
            self.gate.wait(30)
        return self._model.run(feeds, fetches, timeout_seconds)


@pytest.mark.parametrize("length", [257, 10_000])
def test_nobody_waits_behind_a_large_request(model, length):
    held = HeldModel(model)
    runner = lanes.LanedRunner(ONE_THREAD)
    large = [runner.submit(held, sequence_plan(model, [1] * length)) for _ in range(3)]
    small = runner.submit(held, sequence_plan(model, [1, 2]))
    expected = fixtures.expected_probabilities([1, 2], 1.0)
    got = probabilities(model, small.result(timeout=30))
    np.testing.assert_allclose(got, [expected], atol=1e-6)
    assert not any(each.done() for each in large)
    held.gate.set()
    for each in large:
        assert probabilities(model, each.result(timeout=30)).shape == (1, fixtures.VOCABULARY)
    runner.close()


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.zeros((32, 256), np.int32), False),
        (np.zeros((33, 256), np.int32), True),
        (np.zeros((1, 257), np.int32), True),
        (np.int32(10**6), False),
        (np.array([b"a" * 256], np.object_), False),
        (np.array([b"a" * 257], np.object_), True),
        (np.array([b"a" * 200] * 41, np.object_), True),
        (np.zeros(0, np.object_), False),
    ],
)
def test_what_is_large(array, expected):
    assert lanes.is_large({"x": np.asarray(array)}) is expected


def test_each_lane_has_threads_of_its_own(path):
    session_config = tf.compat.v1.ConfigProto(use_per_session_threads=True)
    lanes.give_threads(session_config, 1)
    model = SavedModel(path, session_config)
    endless = plan(model, "spin", rounds=np.array([2**31 - 1], np.int32))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        running = pool.submit(batching.run_plan, model, endless, None, 1)
        sequence = sequence_plan(model, [1, 2])
        for lane in (0, batching.ALONE):
            outputs = batching.run_plan(model, sequence, time.monotonic() + 30, lane)
            expected = fixtures.expected_probabilities([1, 2], 1.0)
            np.testing.assert_allclose(probabilities(model, outputs), [expected], atol=1e-6)
        assert not running.done()
        model.close()
        with pytest.raises(tf.errors.CancelledError):
            running.result(timeout=30)
