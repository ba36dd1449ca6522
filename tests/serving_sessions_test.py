"""Sessions that the server keeps: the table alone, and over gRPC and REST against real servers."""

import contextlib
import random
import threading
import time
from concurrent.futures import CancelledError, Future, InvalidStateError, ThreadPoolExecutor

import grpc
import hypothesis
import numpy as np
import ovmsclient
import pytest
import requests
import serving_fixtures as fixtures
import tensorflow as tf
from hypothesis import stateful
from hypothesis import strategies as st

from keras_stackrnn.serving import config, sessions
from keras_stackrnn.serving.answers import Answer, ended
from keras_stackrnn.serving.batching import BatchingOptions
from keras_stackrnn.serving.status import ServingError

CONTINUE, START, END = sessions.CONTINUE, sessions.START, sessions.END


class Lease(contextlib.ExitStack):
    """Counts how often it is let go of."""

    def __init__(self, released: list):
        super().__init__()
        self.callback(released.append, self)


class Use:
    """One request of the table, which goes on when it is told to."""

    def __init__(self, table, session_id, control, released, nbytes=8):
        self.gate = Future()
        self.session = None
        self._control, self._released, self._nbytes = control, released, nbytes
        self.answer = Answer(self._run(table, session_id))

    async def _run(self, table, session_id):
        async with table.turn("m", session_id, self._control) as session:
            self.session = session
            if self._control == START:
                session.settle(None, Lease(self._released))
            if await ended(self.gate) == "fail":
                raise RuntimeError("fail")
            table.keep(session, {"x": np.zeros(self._nbytes, np.uint8)})
            return session.id

    def finish(self, how="succeed"):
        with contextlib.suppress(InvalidStateError):  # it has been cancelled
            self.gate.set_result(how)

    @property
    def error(self):
        if not self.answer.done():
            return None
        error = self.answer.exception()
        return error.code.name if isinstance(error, ServingError) else error


class TableMachine(stateful.RuleBasedStateMachine):
    """Any order of requests, failures, cancellations and waiting, against a plain dictionary."""

    IDLE, LIMIT = 10, 3

    def __init__(self):
        super().__init__()
        self.now = 0.0
        self.released = []
        options = sessions.SessionOptions(self.IDLE, self.LIMIT, max_session_bytes=2**20)
        self.table = sessions.SessionTable(options, clock=lambda: self.now)
        self.table._start_reaper = lambda: None  # the machine's clock is not the reaper's
        self.queues = {}  # the requests of each session, the one whose turn it is first
        self.used = {}
        self.begun = 0

    ids = st.integers(1, 4)

    def forget_idle(self):
        for key, queue in list(self.queues.items()):
            if not queue and self.now - self.used[key] >= self.IDLE:
                del self.queues[key]

    @stateful.rule(key=ids)
    def start(self, key):
        self.forget_idle()
        use = Use(self.table, key, START, self.released)
        if key in self.queues:
            is_ending = self.queues[key] and self.queues[key][0]._control == END
            assert use.error == ("FAILED_PRECONDITION" if is_ending else "ALREADY_EXISTS")
        elif len(self.queues) >= self.LIMIT:
            assert use.error == "UNAVAILABLE"
        else:
            assert use.session.id == key
            self.queues[key] = [use]
            self.begun += 1

    @stateful.rule(key=ids, control=st.sampled_from([CONTINUE, CONTINUE, END]))
    def ask(self, key, control):
        if key in self.queues and not self.queues[key]:
            self.forget_idle()
        use = Use(self.table, key, control, self.released)
        if key not in self.queues:
            assert use.error == "NOT_FOUND"
            return
        self.queues[key].append(use)
        assert (use.session is not None) == (len(self.queues[key]) == 1)

    @stateful.rule(key=ids, how=st.sampled_from(["succeed", "succeed", "fail"]))
    def answer(self, key, how):
        if not self.queues.get(key):
            return
        use = self.queues[key].pop(0)
        use.finish(how)
        assert use.answer.exception() is None if how == "succeed" else use.answer.exception()
        over = use._control == (END if how == "succeed" else START)
        if over:
            for waiting in self.queues.pop(key):
                assert waiting.error == "NOT_FOUND"
            return
        self.used[key] = self.now
        if self.queues[key]:
            assert self.queues[key][0].session is use.session

    @stateful.rule(key=ids, index=st.integers(1, 3))
    def cancel(self, key, index):
        queue = self.queues.get(key, [])
        if index < len(queue):
            use = queue.pop(index)
            assert use.answer.cancel()
            assert isinstance(use.error, CancelledError)

    @stateful.rule(seconds=st.integers(1, 12))
    def wait(self, seconds):
        self.now += seconds

    @stateful.invariant()
    def every_lease_is_let_go_of_once(self):
        assert len(set(map(id, self.released))) == len(self.released)
        assert self.begun - len(self.released) == len(self.table) >= 0
        assert set(self.queues) <= {key for _, key in self.table._sessions}
        assert self.table.bytes <= 8 * len(self.table)

    def teardown(self):
        for queue in list(self.queues.values()):
            while queue:
                queue.pop(0).finish("succeed")
        self.table.close()
        assert len(self.table) == self.table.bytes == 0
        assert len(self.released) == self.begun


TestTable = TableMachine.TestCase
TestTable.settings = hypothesis.settings(max_examples=100, stateful_step_count=30, deadline=None)


def test_an_end_a_cancel_and_the_reaper_race_for_a_session():
    """Threads that do all three at the same moments, with an idle time of next to nothing."""
    released = []
    table = sessions.SessionTable(sessions.SessionOptions(0.001, max_sessions=50))
    begun, errors = [], []

    def work(seed):
        rng = random.Random(seed)
        for _ in range(150):
            use = Use(table, rng.randrange(3), START, released)
            if use.error:
                assert use.error in ("ALREADY_EXISTS", "FAILED_PRECONDITION", "UNAVAILABLE")
                continue
            begun.append(use)
            key = use.session.id
            use.finish(rng.choice(["succeed", "succeed", "fail"]))
            several = [Use(table, key, rng.choice([CONTINUE, END, END]), released) for _ in "123"]
            time.sleep(rng.choice([0, 0, 0.001, 0.002]))
            for each in several:
                if rng.random() < 0.4:
                    each.answer.cancel()
                each.finish()
            for each in several:
                error = each.answer.exception(10)
                assert isinstance(error, CancelledError) or each.error in (None, "NOT_FOUND")

    def guarded(seed):
        try:
            work(seed)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=[seed]) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    table.close()
    assert len(table) == table.bytes == 0
    assert len({id(lease) for lease in released}) == len(released) == len(begun)


def test_thousands_that_wait_are_woken_without_calling_each_other():
    released = []
    table = sessions.SessionTable(sessions.SessionOptions())
    first = Use(table, 1, START, released)
    waiting = [Use(table, 1, CONTINUE, released) for _ in range(3000)]
    for use in waiting:
        use.gate.set_result("succeed")
    first.finish()
    assert all(use.answer.result(0) == 1 for use in waiting)
    table.close()


def test_bytes_are_bounded_and_what_was_kept_stays():
    table = sessions.SessionTable(sessions.SessionOptions(max_session_bytes=100))
    for key, nbytes in ((1, 60), (2, 40)):
        use = Use(table, key, START, [], nbytes)
        use.finish()
    use = Use(table, 2, CONTINUE, [], nbytes=41)
    use.finish()
    assert use.error == "RESOURCE_EXHAUSTED"
    assert "needs 41, and the others take 60" in str(use.answer.exception())
    use = Use(table, 2, CONTINUE, [], nbytes=10)
    use.finish()
    assert use.answer.result(0) == 2
    assert table.bytes == 70
    table.close()


def test_a_row_of_a_batch_does_not_keep_the_batch():
    table = sessions.SessionTable(sessions.SessionOptions())
    kept = np.zeros((100, 10))[3:4]
    answer = Use(table, 1, START, [])
    table.keep(answer.session, {"x": kept})
    assert answer.session.state["x"].base is None
    answer.finish()
    table.close()


def test_the_reaper_comes_without_being_asked():
    released = []
    table = sessions.SessionTable(sessions.SessionOptions(0.02))
    Use(table, 1, START, released).finish()
    limit = time.monotonic() + 10
    while not released and time.monotonic() < limit:
        time.sleep(0.01)
    assert len(released) == 1
    assert len(table) == 0
    table.close()


@pytest.mark.parametrize("name", ["session_idle_seconds", "max_sessions", "max_session_bytes"])
def test_options_that_make_no_sense(name):
    with pytest.raises(ValueError, match=f"{name} must be .*, got -1"):
        sessions.SessionOptions(**{name: -1})


class Sevens(fixtures.NextSymbol):
    """Like `NextSymbol`, but a state of another size."""

    def __init__(self):
        super().__init__(1.0)
        self.size = 7

    @tf.function(
        input_signature=[fixtures.TOKENS, fixtures.LENGTHS, tf.TensorSpec([None, 7], name="counts")]
    )
    def step(self, tokens, lengths, counts):
        return {"probabilities": tf.nn.softmax(counts), "counts": counts + 1.0}

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32, "batch_size")])
    def initial_state(self, batch_size):
        return {"counts": tf.zeros([batch_size, 7])}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    root = tmp_path_factory.mktemp("sessions") / "m"
    root.mkdir()
    for version in (1, 2):
        fixtures.save_next_symbol(root / str(version), scale=float(version))
    sevens = Sevens()
    signatures = {"step": sevens.step, "initial_state": sevens.initial_state}
    tf.saved_model.save(sevens, str(root / "7"), signatures=signatures)
    models = config.single_model("m", root)
    model = models.model_config_list.config[0]
    model.model_version_policy.all.SetInParent()
    model.version_labels["stable"] = 1
    with fixtures.RunningServer(
        models,
        batching=BatchingOptions(pad_variable_length_inputs=True),
        sessions=sessions.SessionOptions(max_sessions=20),
    ) as running:
        yield running
        assert len(running.server.service.stateful.table) == 0, "a test left its session"


def control(value):
    return np.array([value], np.uint32)


def number(value):
    return np.array([value], np.uint64)


def ask(
    server, tokens, session=None, what=None, signature="step", outputs=(), version=None, **more
):
    """Sends one request; returns its outputs."""
    if session is not None:
        more["sequence_id"] = number(session)
    if what is not None:
        more["sequence_control_input"] = control(what)
    request = fixtures.predict_request(
        signature=signature,
        version=version,
        tokens=np.array(tokens, np.int32).reshape(len(tokens), -1),
        lengths=np.array([len(row) for row in tokens], np.int32),
        **more,
    )
    request.output_filter.extend(outputs)
    response = server.prediction.Predict(request, timeout=20)
    return fixtures.outputs_of(response)


def refusal(server, *args, **kwargs):
    with pytest.raises(grpc.RpcError) as caught:
        ask(server, *args, **kwargs)
    return caught.value.code().name, caught.value.details()


def assert_predicts(outputs, sequence, scale):
    expected = fixtures.expected_probabilities(sequence, scale)
    np.testing.assert_allclose(outputs["probabilities"][0], expected, atol=1e-6)


def test_a_session_reads_on_and_shows_no_state(server):
    outputs = ask(server, [[0, 1]], what=START, version=2)
    assert set(outputs) == {"probabilities", "sequence_id"}
    assert outputs["sequence_id"].dtype == np.uint64
    [key] = outputs["sequence_id"].tolist()
    assert 0 < key < 2**53
    assert_predicts(outputs, [0, 1], 2.0)
    assert_predicts(ask(server, [[1]], key), [0, 1, 1], 2.0)
    assert_predicts(ask(server, [[3, 3]], key, what=END), [0, 1, 1, 3, 3], 2.0)
    assert refusal(server, [[1]], key)[0] == "NOT_FOUND"


def test_a_number_of_ones_own(server):
    ask(server, [[0]], 2**64 - 1, START, version=1)
    code, message = refusal(server, [[0]], 2**64 - 1, START, version=1)
    assert (code, message) == (
        "ALREADY_EXISTS",
        "Session 18446744073709551615 of m already exists",
    )
    assert_predicts(ask(server, [[1]], 2**64 - 1, END), [0, 1], 1.0)


def test_rows_side_by_side_and_options_of_the_model(server):
    outputs = ask(server, [[0], [1]], 5, START, version=1)
    assert outputs["probabilities"].shape == (2, 5)
    outputs = ask(server, [[2], [2]], 5, END)
    np.testing.assert_allclose(
        outputs["probabilities"][1], fixtures.expected_probabilities([1, 2], 1.0), atol=1e-6
    )


def test_a_client_that_names_no_signature_means_step(server):
    assert_predicts(ask(server, [[4]], 5, START, signature="", version=1), [4], 1.0)
    assert_predicts(ask(server, [[4]], 5, END, signature=""), [4, 4], 1.0)


def test_state_is_read_out_and_put_back(server):
    ask(server, [[0, 1]], 5, START, version=1)
    state = ask(server, [[1]], 5, outputs=["counts"])
    assert set(state) == {"counts", "sequence_id"}
    assert state["counts"].tolist() == [[1, 2, 0, 0, 0]]
    ask(server, [[3, 3, 3]], 5)
    assert_predicts(ask(server, [[4]], 5, END, counts=state["counts"]), [0, 1, 1, 4], 1.0)
    # On another version, and from the beginning.
    outputs = ask(server, [[4]], 6, START, version=2, counts=state["counts"])
    assert_predicts(outputs, [0, 1, 1, 4], 2.0)
    ask(server, [[0]], 6, END)


def test_a_session_stays_on_its_version_or_moves_when_asked(server):
    ask(server, [[0]], 5, START, version=1)
    assert_predicts(ask(server, [[1]], 5), [0, 1], 1.0)
    assert_predicts(ask(server, [[1]], 5, version=2), [0, 1, 1], 2.0)
    assert_predicts(ask(server, [[1]], 5), [0, 1, 1, 1], 2.0)
    code, message = refusal(server, [[1]], 5, version=7)
    assert (code, message) == (
        "FAILED_PRECONDITION",
        "Session 5 of m lives on version 2 and cannot move to version 7, "
        "whose state is another: counts",
    )
    assert refusal(server, [[1]], 5, version=9)[0] == "NOT_FOUND"
    assert_predicts(ask(server, [[1]], 5, END), [0, 1, 1, 1, 1], 2.0)


def test_what_fails_changes_nothing(server):
    assert refusal(server, [[9]], 5, START, version=1)[0] == "INVALID_ARGUMENT"
    ask(server, [[0]], 5, START, version=1)
    assert refusal(server, [[9]], 5)[0] == "INVALID_ARGUMENT"
    assert refusal(server, [[9]], 5, END)[0] == "INVALID_ARGUMENT"
    assert refusal(server, [[1], [1]], 5)[0] == "INVALID_ARGUMENT"
    assert_predicts(ask(server, [[1]], 5, END), [0, 1], 1.0)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ({"session": 99}, "NOT_FOUND", "There is no session 99 of m"),
        ({"session": 0}, "INVALID_ARGUMENT", "sequence_id is missing"),
        ({"what": END}, "INVALID_ARGUMENT", "sequence_id is missing"),
        ({"what": 3}, "INVALID_ARGUMENT", "expected 0, 1 (start) or 2 (end), got 3"),
        ({"sequence_id": np.float32(5)}, "INVALID_ARGUMENT", "Expected one integer of 0 or more"),
        ({"sequence_id": [5, 6]}, "INVALID_ARGUMENT", "as sequence_id, got [5, 6] of type int32"),
        ({"sequence_id": [5] * 999}, "INVALID_ARGUMENT", "tensor parsing error: sequence_id"),
        ({"sequence_id": [-5]}, "INVALID_ARGUMENT", "of 0 or more as sequence_id, got [-5]"),
        (
            {"what": START, "signature": "score"},
            "FAILED_PRECONDITION",
            'The signature "score" has no state to keep: expected inputs and outputs counts',
        ),
        ({"what": START, "signature": "x"}, "FAILED_PRECONDITION", '"x" not found'),
    ],
)
def test_requests_that_make_no_sense(server, arguments, code, message):
    got = refusal(server, [[0]], version=1, **arguments)
    assert got[0] == code
    assert message in got[1]


def test_no_more_sessions_than_allowed(server):
    keys = [ask(server, [[0]], what=START, version=1)["sequence_id"][0] for _ in range(20)]
    assert len(set(keys)) == 20
    code, message = refusal(server, [[0]], what=START, version=1)
    assert code == "UNAVAILABLE"
    assert "at most 20 are kept" in message
    for key in keys:
        ask(server, [[0]], key, END)


def test_many_at_a_time_on_one_session_lose_no_symbol(server):
    ask(server, [[0]], 5, START, version=1)
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda _: ask(server, [[1]], 5), range(60)))
    state = ask(server, [[2]], 5, END, outputs=["counts"])
    assert state["counts"].tolist() == [[1, 60, 1, 0, 0]]


def test_many_sessions_side_by_side_do_not_mix(server):
    def one(index):
        rng = np.random.default_rng(index)
        sequence = rng.integers(0, 5, 12).tolist()
        key = None
        for position, token in enumerate(sequence):
            what = {0: START, 11: END}.get(position)
            outputs = ask(server, [[token]], key, what, version=None if key else 1)
            key = outputs["sequence_id"][0]
            assert_predicts(outputs, sequence[: position + 1], 1.0)

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(one, range(12)))


def post(server, document, path="m/versions/1"):
    response = requests.post(f"{server.rest_url}/v1/models/{path}:predict", json=document)
    return response.status_code, response.json()


def test_rest_in_columns(server):
    def inputs(tokens, **more):
        return {"inputs": {"tokens": [tokens], "lengths": [len(tokens)], **more}}

    code, body = post(server, inputs([0, 1], sequence_control_input=[1]))
    assert code == 200
    key = body["outputs"]["sequence_id"]
    assert set(body["outputs"]) == {"probabilities", "sequence_id"}
    code, body = post(server, inputs([1], sequence_id=key), path="m")
    assert body["outputs"]["sequence_id"] == key
    document = inputs([1], sequence_id=key, counts=[[0, 0, 0, 0, 2]], sequence_control_input=[2])
    code, body = post(server, {"signature_name": "step", **document}, path="m")
    assert_predicts({"probabilities": body["outputs"]["probabilities"]}, [4, 4, 1], 1.0)
    code, body = post(server, inputs([1], sequence_id=key), path="m")
    assert code == 404
    assert "There is no session" in body["error"]


def test_rest_in_rows(server):
    row = {"tokens": [0], "lengths": 1, "sequence_id": 5, "sequence_control_input": 1}
    code, body = post(server, {"instances": [row]})
    assert code == 200
    assert body["predictions"][0]["sequence_id"] == 5
    assert post(server, {"instances": [row]})[0] == 409
    code, body = post(server, {"instances": [{**row, "sequence_control_input": 2}]})
    assert_predicts({"probabilities": [body["predictions"][0]["probabilities"]]}, [0, 0], 1.0)


def test_a_client_of_openvinos_server(server):
    client = ovmsclient.make_grpc_client(server.address)

    def predict(token, **more):
        inputs = {"tokens": np.array([[token]], np.int32), "lengths": np.array([1], np.int32)}
        return client.predict({**inputs, **more}, "m", model_version=0 if more.pop("v", 0) else 1)

    outputs = predict(0, sequence_id=number(0), sequence_control_input=control(START))
    key = outputs["sequence_id"]
    assert_predicts(predict(1, sequence_id=key), [0, 1], 1.0)
    outputs = predict(1, sequence_id=key, sequence_control_input=control(END))
    assert_predicts(outputs, [0, 1, 1], 1.0)
    with pytest.raises(ovmsclient.tfs_compat.base.errors.ModelNotFoundError):
        predict(1, sequence_id=key)


def test_a_session_finishes_on_its_version_though_it_is_gone(tmp_path):
    root = tmp_path / "m"
    root.mkdir()
    fixtures.save_next_symbol(root / "1", scale=1.0)
    with fixtures.RunningServer(config.single_model("m", root)) as server:
        table = server.server.service.stateful.table
        ask(server, [[0]], 5, START)
        fixtures.save_next_symbol(root / "2", scale=2.0)
        limit = time.monotonic() + 30
        while time.monotonic() < limit:
            if ask(server, [[1]], what=START, signature="step")["probabilities"][0, 1] > 0.6:
                break
            time.sleep(0.05)
        versions = server.server.models._servables["m"]
        assert versions[1].model is not None
        assert_predicts(ask(server, [[1]], 5), [0, 1], 1.0)
        assert_predicts(ask(server, [[1]], 5, version=1), [0, 1, 1], 1.0)
        for session in list(table._sessions.values()):
            ask(server, [[1]], session.id, END)
        while versions[1].model is not None and time.monotonic() < limit:
            time.sleep(0.02)
        assert versions[1].model is None
        ask(server, [[0]], 5, START)  # stopping ends it


def test_a_cancelled_call_leaves_the_session_in_order(server):
    ask(server, [[0]], 5, START, version=1)
    request = fixtures.predict_request(
        signature="step",
        tokens=np.array([[1]], np.int32),
        lengths=np.array([1], np.int32),
        sequence_id=number(5),
    )
    calls = [server.prediction.Predict.future(request, timeout=20) for _ in range(30)]
    for call in calls[::2]:
        call.cancel()
    for call in calls[1::2]:
        call.result()
    ones = ask(server, [[2]], 5, END, outputs=["counts"])["counts"][0, 1]
    assert 15 <= ones <= 30
