"""What a large request took is given back, and no request that fails leaves anything behind."""

import gc
import subprocess
import sys
import time
import weakref

import grpc
import numpy as np
import pytest
import requests
import serving_fixtures as fixtures
import tensorflow as tf
from training_case import REPOSITORY

from keras_stackrnn.serving import config, deferred_methods, grpc_services, threaded_methods
from keras_stackrnn.serving.batching import BatchingOptions
from keras_stackrnn.serving.models import State
from keras_stackrnn.serving.status import ServingError

# What is kept lies behind all that is not, which cannot be given back from the end.
HOLDING = """
import sys, threading, time
sys.path.insert(0, "serving")
import memory

stopping = threading.Event()
memory.give_back(stopping)
before = memory.resident_bytes()
pieces = [bytes(1000) for _ in range(300_000)]
kept = bytes(1000)
assert memory.resident_bytes() > before + 250_000_000
time.sleep(2.5)
del pieces
due = time.monotonic() + 30
while memory.resident_bytes() > before + 60_000_000:
    assert time.monotonic() < due, memory.resident_bytes() - before
    time.sleep(0.05)
stopping.set()
"""


def test_what_is_free_goes_back_to_the_system():
    done = subprocess.run(
        [sys.executable, "-c", HOLDING], cwd=REPOSITORY, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    path = tmp_path_factory.mktemp("memory") / "m"
    path.mkdir()
    fixtures.save_next_symbol(path / "1", scale=1.0)
    return path


@pytest.fixture
def without_collector():
    """Nothing but what holds itself is left for the collector, which shows it."""
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    yield
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()


@pytest.mark.parametrize("batching", [None, BatchingOptions()], ids=["alone", "batched"])
@pytest.mark.parametrize(
    "methods", [deferred_methods.DeferredMethods, threaded_methods.ThreadedMethods]
)
def test_a_request_that_fails_leaves_nothing(
    methods, batching, base, monkeypatch, without_collector
):
    monkeypatch.setattr(grpc_services, "add_later_methods", methods)
    wrong = [
        fixtures.sequence_request([99]),  # in the graph
        fixtures.predict_request(signature="nope"),
        fixtures.predict_request(name="nope"),
        fixtures.predict_request(tokens=np.zeros(3, np.float32)),
    ]
    with fixtures.RunningServer(config.single_model("m", base), batching=batching) as running:
        for request in wrong:
            with pytest.raises(grpc.RpcError):
                running.prediction.Predict(request, timeout=30)
        for body in ({"instances": [{"tokens": [99], "lengths": 1}]}, {"inputs": 1}, [1]):
            url = f"{running.rest_url}/v1/models/m:predict"
            assert requests.post(url, json=body, timeout=30).status_code == 400
        gc.collect()
        left = [e for e in gc.garbage if isinstance(e, (ServingError, tf.errors.OpError))]
        gc.garbage.clear()
    assert left == []


def test_a_version_that_is_gone_leaves_nothing(base):
    with fixtures.RunningServer(config.single_model("m", base)) as running:
        versions = running.server.models._servables["m"]
        graph = weakref.ref(versions[1].model._graph)
        gc.disable()
        try:
            fixtures.save_next_symbol(base / "2", scale=2.0)
            due = time.monotonic() + 60
            while versions[1].state != State.END:
                assert time.monotonic() < due
                time.sleep(0.01)
            assert graph() is None
        finally:
            gc.enable()
