"""What holds for every test: fixed draws, and a Keras that remembers no other test."""

import os

# JAX computes in float32 unless told otherwise before its first import.
os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import hypothesis
import pytest


def pytest_configure(config):
    if config.getoption("numprocesses", default=None) and not hasattr(config, "workerinput"):
        return  # The tests run in processes of their own: this one needs no Keras, which is slow.
    import keras

    backend = keras.backend.backend()
    hypothesis.settings.register_profile(
        "fixed",
        deadline=None,
        derandomize=True,
        database=None,
        # JAX compiles every operation anew for every new shape.
        max_examples=8 if backend == "jax" else 40,
    )
    hypothesis.settings.load_profile("fixed")
    if backend != "tensorflow":
        config.addinivalue_line(
            "filterwarnings",
            "ignore:__array__ implementation doesn't accept a copy keyword"
            f":DeprecationWarning:keras.src.backend.{backend}.core",
        )


@pytest.fixture(autouse=True)
def fresh_keras():
    import keras

    policy = keras.config.dtype_policy()
    keras.utils.set_random_seed(0)
    yield
    keras.config.set_dtype_policy(policy)
    keras.utils.clear_session(free_memory=False)


@pytest.fixture(autouse=True)
def kinds_of_this_test(monkeypatch):
    """A kind of memory that a test registers is known to no other test."""
    from keras_stackrnn.memories import registry

    monkeypatch.setattr(registry, "_KINDS", dict(registry._KINDS))


@pytest.fixture(scope="module")
def one_block_of_steps():
    """The kernels take all steps in one block: XLA needs seconds for each, whatever is tested."""
    from keras_stackrnn.kernels import scan

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "SHORTEST_BLOCK", 1_000_000)
        yield


@pytest.fixture(scope="session")
def exports(tmp_path_factory):
    """Exported models, each traced and saved once for all files that ask for it."""
    from export_fixtures import Exports

    made = Exports(tmp_path_factory.mktemp("exports"))
    yield made
    made.close()
