"""What an exported model refuses for its size, before it computes anything."""

import grpc
import numpy as np
import pytest
import serving_fixtures as fixtures
from export_fixtures import make_model

from keras_stackrnn.export import export
from keras_stackrnn.export.limits import Limits
from keras_stackrnn.serving import config


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    base = tmp_path_factory.mktemp("limits")
    export(make_model(kind="stack", memories=1, rounding=True), base / "m")
    few = {"max_batch": 3, "max_length": 10, "max_symbols": 20}
    export(make_model(kind="stack", memories=1, rounding=True), base / "few", **few)
    export(make_model(["one", "two"], kind="stack", memories=1), base / "words")
    models = config.single_model("m", base / "m")
    for name in ("few", "words"):
        models.model_config_list.config.add(name=name, base_path=str(base / name))
    with fixtures.RunningServer(models) as running:
        yield running


def refusal(server, **request) -> str:
    with pytest.raises(grpc.RpcError) as caught:
        server.prediction.Predict(fixtures.predict_request(**request), timeout=30)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    return caught.value.details()


def answer(server, **request) -> dict:
    request = fixtures.predict_request(**request)
    return fixtures.outputs_of(server.prediction.Predict(request, timeout=30))


def tokens(rows, columns):
    return {"tokens": np.zeros((rows, columns), np.int32), "lengths": np.ones(rows, np.int32)}


@pytest.mark.parametrize("signature", ["serving_default", "score"])
def test_tokens(server, signature):
    request = {"name": "few", "signature": signature}
    assert answer(server, **request, **tokens(2, 10))
    for rows, columns, message in (
        (4, 1, "Expected at most 3 rows in a request, got 4"),
        (1, 11, "Expected at most 10 symbols in a row, got 11"),
        (3, 7, "Expected at most 20 symbols in all rows together, got 3 times 7"),
    ):
        assert message in refusal(server, **request, **tokens(rows, columns))


@pytest.mark.parametrize("signature", ["predict_text", "trace"])
def test_texts(server, signature):
    request = {"name": "few", "signature": signature}
    assert answer(server, **request, text=["ab" * 5, "a"])
    for text, message in (
        (["a"] * 4, "Expected at most 3 rows in a request, got 4"),
        (["a" * 11], "Expected at most 10 symbols in a row, got 11"),
        (["a" * 7, "", "b"], "Expected at most 20 symbols in all rows together, got 3 times 7"),
        (["a" * 81], "Expected at most 80 bytes of text, got 81"),
        (["a", "?" * 80], "Expected at most 80 bytes of text, got 81"),
    ):
        assert message in refusal(server, **request, text=text)


def test_words(server):
    request = {"name": "words", "signature": "predict_text"}
    assert answer(server, **request, text=["one two " * 1000])
    message = "Expected at most 8388608 bytes of text, got 12000000"
    assert message in refusal(server, **request, text=["one" * 4_000_000])


def test_what_nobody_can_mean_is_refused_by_default(server):
    text = {"signature": "predict_text"}
    message = "Expected at most 1048576 bytes of text, got 5000000"
    assert message in refusal(server, **text, text=["a" * 5_000_000])
    message = f"Expected at most 1048576 bytes of text, got {63 * 2**20}"
    assert message in refusal(server, **text, text=["?" * (63 * 2**20)])
    rows = {"signature": "initial_state", "batch_size": np.int32(1_000_000)}
    assert "Expected at most 4096 rows in a request, got 1000000" in refusal(server, **rows)
    rows = {"signature": "initial_state", "batch_size": np.zeros(4097, np.int32)}
    assert "Expected at most 4096 rows in a request, got 4097" in refusal(server, **rows)
    options = {"max_symbols": np.int32(1), "temperature": np.float32(0), "seed": np.int64(0)}
    few = {"name": "few", "signature": "generate", "text": ["a"] * 4}
    assert "Expected at most 3 rows in a request, got 4" in refusal(server, **few, **options)


def test_defaults_fit_the_vocabulary():
    assert Limits.of_vocabulary(3) == (4096, 65536, 262144)
    assert Limits.of_vocabulary(10_000) == (4096, 6710, 6710)
    assert Limits.of_vocabulary(10_000, symbols=50_000) == (4096, 50_000, 50_000)


@pytest.mark.parametrize("name", ["max_batch", "max_length", "max_symbols"])
def test_limits_are_positive(name, tmp_path):
    with pytest.raises(ValueError, match=f"{name}.*positive integer, got 0"):
        export(make_model(kind="stack", memories=1), tmp_path / "m", **{name: 0})
