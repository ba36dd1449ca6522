"""Runs on a Ray cluster of three nodes on this machine: whoever is lost, the same comes of it."""

import contextlib
import csv
import dataclasses
import io
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import keras
import pytest
from examples_test import example
from training_case import REPOSITORY, TINY, assert_same_arrays, tiny_config

from keras_stackrnn.training import RunError, populations, run_folder, train
from keras_stackrnn.training.checkpoints import Checkpoints
from keras_stackrnn.training.cluster import address, nodes
from keras_stackrnn.training.sweep import places

# Long enough to be hit by something, as a search: some seconds.
LONG = {"lifetime": 400, "updates": 800, "populations": 2}
SMALL = {"object_store_memory": 80_000_000}
# So that a node is given up after seconds and not after half a minute.
HEALTH = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 300,
    "health_check_timeout_ms": 1000,
    "health_check_failure_threshold": 3,
}


@pytest.fixture(scope="module")
def ray_environment(tmp_path_factory):
    """Ray keeps to this test: nothing is sent, or written to the home folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_AUTH_TOKEN_PATH", str(tmp_path_factory.mktemp("token") / "token"))
        patch.setenv("PYTHONPATH", str(REPOSITORY))
        patch.delenv("RAY_ADDRESS", raising=False)
        yield


@pytest.fixture(scope="module")
def cluster(ray_environment):
    """A head, which computes nothing, and two nodes with a CPU each."""
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "include_dashboard": False, "_system_config": HEALTH}
    made = Cluster(initialize_head=True, head_node_args={**head, **SMALL})
    for _ in range(2):
        made.add_node(num_cpus=1, **SMALL)
    yield made
    made.shutdown()


@pytest.fixture(scope="module")
def joined(cluster):
    """This process is in the cluster, whose workers are kept from one test to the next."""
    import ray

    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    yield "auto"
    ray.shutdown()


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What comes of it in this process: the best of the searches that the populations are."""
    folder = tmp_path_factory.mktemp("alone")
    config = tiny_config(folder, **LONG)
    results = []
    for number in range(config.populations):
        of_one = populations.of_number(config, number)
        results.append(train(of_one, output=io.StringIO()))
    return max(results, key=lambda result: best_of(result.evaluation["restarts"]))


def best_of(restarts):
    return max((each["soft_accuracy"], -each["soft_entropy"]) for each in restarts)


def assert_same_result(result, expected):
    assert_same_arrays(result.model.get_weights(), expected.model.get_weights())
    assert result.evaluation["restarts"] == expected.evaluation["restarts"]
    assert result.evaluation["soft"] == expected.evaluation["soft"]
    assert updates_of(result) == updates_of(expected)


def updates_of(result):
    """When there was a round, as it was written down."""
    with open(result.output_dir / run_folder.METRICS, newline="") as file:
        return [int(row["updates"]) for row in csv.DictReader(file)]


def saved(folder, number, times=2):
    """Whether a population has saved itself so often since it was begun."""
    path = Checkpoints(folder / "populations" / str(number) / run_folder.CHECKPOINTS).newest()
    return path is not None and int(path.stem) >= times


def processes():
    """All processes: their numbers, those of their parents, and what they are called."""
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            parent = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1]
            called = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")[0].decode()
            yield int(name), int(parent), called


def raylet_of(node):
    return node.all_processes["raylet"][0].process.pid


def workers_of(node):
    """The processes of a node that do something right now."""
    raylet = raylet_of(node)
    return [
        number
        for number, parent, called in processes()
        if parent == raylet and called.startswith("ray::_carry_out")
    ]


@contextlib.contextmanager
def once(is_so, act):
    """Has another thread act as soon as something is so."""
    is_over, faults = threading.Event(), []

    def wait():
        while not is_over.is_set():
            if is_so():
                try:
                    act()
                except Exception as error:
                    faults.append(error)
                return
            time.sleep(0.02)
        faults.append(AssertionError("it was over before anything happened"))

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
    assert not faults, faults


def start_driver(config):
    return subprocess.Popen(
        [sys.executable, *config.command().split()[1:], "--quiet"],
        cwd=REPOSITORY,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(is_so, process):
    while not is_so() and process.poll() is None:
        time.sleep(0.02)


def test_a_driver_and_a_worker_are_killed_and_the_same_comes_of_it(
    cluster, joined, alone, tmp_path
):
    config = tiny_config(tmp_path, cluster=cluster.address, **LONG)
    driver = start_driver(config)
    wait_for(lambda: saved(tmp_path, 0), driver)
    driver.kill()
    _, errors = driver.communicate()
    assert driver.returncode == -signal.SIGKILL, errors
    so_far = int(Checkpoints(tmp_path / "populations/0" / run_folder.CHECKPOINTS).newest().stem)

    def kill():
        worker = next(each for node in cluster.worker_nodes for each in workers_of(node))
        os.kill(worker, signal.SIGKILL)

    here = dataclasses.replace(config, cluster=joined)
    with once(lambda: saved(tmp_path, 0, so_far + 1), kill):
        result = train(here, resume=True, output=io.StringIO())

    assert_same_result(result, alone)


def busy_node(cluster):
    """One that a run is on."""
    return next((node for node in cluster.worker_nodes if workers_of(node)), None)


@pytest.mark.slow
def test_a_node_is_lost_whose_worker_goes_on_for_a_while(cluster, joined, alone, tmp_path):
    cluster.add_node(num_cpus=1, **SMALL)
    config = tiny_config(tmp_path, cluster=joined, **LONG)

    def lose():
        # Its workers live on until they notice.
        cluster.remove_node(busy_node(cluster), allow_graceful=False)

    with once(lambda: busy_node(cluster) and saved(tmp_path, 0), lose):
        result = train(config, output=io.StringIO())

    assert_same_result(result, alone)


@pytest.mark.slow
def test_a_node_that_stalls_is_given_up_and_nobody_listens_when_it_wakes(
    cluster, joined, alone, tmp_path
):
    cluster.add_node(num_cpus=1, **SMALL)
    config = tiny_config(tmp_path, cluster=joined, **LONG)

    stopped = []

    def stall():
        node = busy_node(cluster)
        stopped.extend([raylet_of(node), *workers_of(node)])
        for process in stopped:
            os.kill(process, signal.SIGSTOP)

    try:
        with once(lambda: busy_node(cluster) and saved(tmp_path, 0), stall):
            result = train(config, output=io.StringIO())
    finally:
        for process in stopped:
            os.kill(process, signal.SIGCONT)

    time.sleep(2)  # for what they still have to tell
    assert_same_result(result, alone)


@pytest.mark.slow
def test_a_node_that_is_not_like_the_others_is_refused_or_named(cluster, joined, tmp_path):
    flags = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
    other = cluster.add_node(num_cpus=1, env_vars=flags, **SMALL)
    config = tiny_config(tmp_path / "run", cluster=joined)

    with pytest.raises(RunError, match=r"has another XLA_FLAGS than node .* --mixed_nodes"):
        train(config, output=io.StringIO())
    assert not (tmp_path / "run").exists()
    result = train(dataclasses.replace(config, mixed_nodes=True), output=io.StringIO())

    assert "has another XLA_FLAGS than node" in result.evaluation["mixed_nodes"][0]
    cluster.remove_node(other)


@pytest.mark.slow
def test_whatever_is_killed_at_random_moments_the_same_comes_of_it(
    cluster, joined, alone, tmp_path
):
    config = tiny_config(tmp_path, cluster=cluster.address, **LONG)
    draws = random.Random(1)
    is_begun = False
    for _ in range(3):
        driver = start_driver(config) if not is_begun else resume_driver(config)
        wait_for((tmp_path / run_folder.CONFIG).exists, driver)
        is_begun = True
        end = time.monotonic() + draws.uniform(5, 20)
        while time.monotonic() < end and driver.poll() is None:
            time.sleep(draws.uniform(0, 4))
            busy = [each for node in cluster.worker_nodes for each in workers_of(node)]
            for worker in draws.sample(busy, min(1, len(busy))):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
        driver.kill()
        driver.communicate()

    here = dataclasses.replace(config, cluster=joined)
    assert_same_result(train(here, resume=True, output=io.StringIO()), alone)


def resume_driver(config):
    return subprocess.Popen(
        [sys.executable, "train.py", f"--output_dir={config.output_dir}", "--resume", "--quiet"],
        cwd=REPOSITORY,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def test_a_sweep_on_a_cluster_is_the_sweep_without_one(joined, tmp_path, capsys):
    values = {**TINY, "model": "rnn"}

    rows = example("ray_sweep").main(
        joined, str(tmp_path / "sweep"), tasks=("anbn", "anb2n"), seeds=(1,), **values
    )

    assert [(row["task"], row["seed"]) for row in rows] == [("anbn", 1), ("anb2n", 1)]
    assert "anbn rnn 1: finished" in capsys.readouterr().out
    alone = train(tiny_config(tmp_path / "alone", seed=1), output=io.StringIO())
    theirs = tmp_path / "sweep/anbn-1"
    assert_same_arrays(
        keras.models.load_model(theirs / run_folder.MODEL).get_weights(), alone.model.get_weights()
    )
    assert names_in(theirs) == names_in(tmp_path / "alone")


def names_in(folder):
    """Of all that a run leaves, but for numbers in the names."""
    return {
        re.sub(r"\d+", "#", str(path.relative_to(folder)))
        for path in folder.rglob("*")
        if run_folder.EVENTS not in path.parts
    }


def test_nobody_at_an_address_is_a_sentence_at_once(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = tiny_config(tmp_path / "run", cluster=f"ray://127.0.0.1:{port}")

    with pytest.raises(RunError, match=rf"No Ray cluster answers at ray://127\.0\.0\.1:{port}"):
        train(config, output=io.StringIO())

    assert not (tmp_path / "run").exists()


def test_no_cluster_on_this_machine_is_a_sentence(monkeypatch, tmp_path):
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)

    with pytest.raises(RunError, match="No Ray cluster runs on this machine"):
        address.answering("auto")


def test_a_cluster_on_this_machine_is_found(monkeypatch, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        here = f"127.0.0.1:{somebody.getsockname()[1]}"
        monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
        monkeypatch.delenv("RAY_ADDRESS", raising=False)
        (tmp_path / "ray").mkdir()
        (tmp_path / "ray/ray_current_cluster").write_text(here)

        assert address.answering("auto") == here


def test_without_ray_it_is_a_sentence(monkeypatch):
    for name in [name for name in sys.modules if name.endswith("ray_cluster")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ray", None)

    with (
        pytest.raises(
            RunError, match=r"not installed here: pip install 'keras-stackrnn\[cluster\]'"
        ),
        places.places("local"),
    ):
        pass


def test_processes_are_not_for_a_cluster():
    with pytest.raises(ValueError, match="expected no processes with cluster='local', got 3"):
        places.places("local", processes=3).__enter__()


def test_nodes_differ_in_what_results_depend_on(monkeypatch):
    here = nodes.description()
    there = {**here, "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}

    assert nodes.differences("a", here, "b", here) == []
    [sentence] = nodes.differences("a", there, "b", here)
    assert sentence.startswith("Node a has another XLA_FLAGS than node b")
    assert json.loads(json.dumps(here)) == here
    assert "fma" in here["CPU features"] or here["machine"] != "x86_64"
