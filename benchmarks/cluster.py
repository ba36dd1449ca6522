"""What a Ray cluster costs and brings: a search there against the same without, faults, sizes.

    python benchmarks/cluster.py

A search is `--task=anbn` to its end; each job is one of another seed. `seconds` are those of the
search itself as the run counts them, compiling included, and `wall` those from the start of the
first job to the end of the last, which includes starting processes and importing TensorFlow. Where
there is one place, jobs follow one another: a Ray worker is warm from the second on, and a process
of its own never is. Prints a JSON line for each figure. Takes about ten minutes on two cores.
"""

import contextlib
import json
import os
import pickle
import signal
import statistics
import tempfile
import threading
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray
from ray.cluster_utils import Cluster
from ray.util.queue import Queue

from keras_stackrnn.training import TrainingConfig, run_folder
from keras_stackrnn.training.checkpoints import Checkpoints
from keras_stackrnn.training.cluster import remote
from keras_stackrnn.training.cluster.remote import Told
from keras_stackrnn.training.interrupts import Interrupts
from keras_stackrnn.training.run import search
from keras_stackrnn.training.sweep.job import RUNNING, Job
from keras_stackrnn.training.sweep.places import places
from keras_stackrnn.training.sweep.view import Notes
from keras_stackrnn.training.sweep.work import Work

UPDATES = 480
# As long as one of a search.
LINE = json.dumps({"event": "progress", "text": "x" * 100, "figures": ["x" * 12] * 12})
QUIET = {"log_to_driver": False, "logging_level": "ERROR"}


def jobs_in(folder: str, count: int, updates: int = UPDATES) -> list[Job]:
    values = {"updates": updates, "lifetime": updates}
    configs = [
        TrainingConfig.from_recipe("anbn", seed=seed, output_dir=f"{folder}/{seed}", **values)
        for seed in range(1, count + 1)
    ]
    return [Job(config, only_search=True) for config in configs]


def work_through(jobs: list[Job], **where) -> float:
    """Does them all; the seconds from their start to their end."""
    with Interrupts("again") as interrupts, places(**where) as there:
        started = time.perf_counter()
        Work(jobs, there, Notes(lambda words: None), lambda job: None).run(interrupts)
    for job in jobs:
        if not job.is_finished:
            raise RuntimeError(f"{job.name} failed: {job.words}")
    return time.perf_counter() - started


def searched(count: int, **where) -> dict:
    """How long so many searches take."""
    with tempfile.TemporaryDirectory() as folder:
        jobs = jobs_in(folder, count)
        wall = work_through(jobs, **where)
        seconds = [run_folder.read_outcome(job.config)["seconds"] for job in jobs]
    seconds = [round(each, 2) for each in seconds]
    return {"wall": round(wall, 1), "seconds": seconds, "median": statistics.median(seconds)}


def on_ray(workers: int, count: int) -> dict:
    """The same on a cluster with so many CPUs, joined before anything is measured."""
    ray.init(address="local", num_cpus=workers, include_dashboard=False, **QUIET)
    try:
        return searched(count, cluster="auto")
    finally:
        ray.shutdown()


def compare_pairs(pairs: int = 5) -> None:
    """The same search in this process and on Ray, by turns; the first pair compiles.

    Seconds of CPU are compared, too, which other work on the machine changes less: those of this
    process against those of Ray's worker and of the queue that it tells its lines to.
    """
    remote.describe()  # here, too, TensorFlow keeps to one core
    ray.init(address="local", num_cpus=1, include_dashboard=False, **QUIET)
    ratios = []
    try:
        with tempfile.TemporaryDirectory() as here, tempfile.TemporaryDirectory() as there:
            for ours, theirs in zip(jobs_in(here, pairs), jobs_in(there, pairs), strict=True):
                before = time.process_time()
                search(ours.config, log="none")
                cpu = [time.process_time() - before]
                before = cpu_of_workers()
                work_through([theirs], cluster="auto")
                cpu.append(cpu_of_workers() - before)
                seconds = [run_folder.read_outcome(job.config)["seconds"] for job in (ours, theirs)]
                found = {"seconds": seconds, "cpu": cpu}
                found = {name: [round(each, 2) for each in both] for name, both in found.items()}
                print_line("here, and on ray", **found)
                ratios.append((seconds[1] / seconds[0], cpu[1] / cpu[0]))
    finally:
        ray.shutdown()
    seconds, cpu = (round(statistics.median(each), 3) for each in zip(*ratios[1:], strict=True))
    print_line("ray / here, medians once compiled", seconds=seconds, cpu=cpu)


def cpu_of_workers() -> float:
    """What the workers of the cluster that this process has started have taken so far."""
    stats = {}
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            stats[name] = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
    raylets = [name for name, fields in stats.items() if fields[1] == str(os.getpid())]
    workers = [fields for fields in stats.values() if fields[1] in raylets]
    ticks = sum(int(fields[11]) + int(fields[12]) for fields in workers)
    return ticks / os.sysconf("SC_CLK_TCK")


def compare_searches() -> None:
    for workers, count in ((1, 3), (2, 4)):
        for name, found in (
            ("processes", searched(count, processes=workers)),
            ("ray", on_ray(workers, count)),
        ):
            print_line(f"{count} searches, {workers} at a time, {name}", **found)


def measure_sizes() -> None:
    """What goes over the network for a job: its checkpoints, and its lines."""
    for task in ("anbn", "memorize", "binary_addition"):
        with tempfile.TemporaryDirectory() as folder:
            usual = TrainingConfig.from_recipe(task)
            a_round = dict.fromkeys(("updates", "lifetime"), usual.updates_a_round)
            config = TrainingConfig.from_recipe(task, output_dir=folder, **a_round)
            work_through([Job(config, only_search=True)], processes=1)
            newest = Checkpoints(Path(folder) / run_folder.CHECKPOINTS).newest()
            print_line(f"checkpoint of {task}", bytes=newest.stat().st_size)
    print_line("line", bytes=len(pickle.dumps((1, 1, Told(line=LINE)))))


def measure_telling() -> None:
    """How many lines a second the process that was asked for a job can be told, by two others."""
    lines = 2_000

    @ray.remote(num_cpus=1)
    def tell(queue):
        for _ in range(lines):
            queue.put((1, 1, Told(line=LINE)))

    ray.init(address="local", num_cpus=2, include_dashboard=False, **QUIET)
    try:
        queue = Queue(actor_options={"num_cpus": 0})
        ray.get([tell.remote(queue) for _ in range(2)])  # the workers are there
        queue.get_nowait_batch(queue.size())
        started = time.perf_counter()
        ray.get([tell.remote(queue) for _ in range(2)])
        told = time.perf_counter() - started
        queue.get_nowait_batch(queue.size())
        heard = time.perf_counter() - started - told
    finally:
        ray.shutdown()
    print_line("telling", lines_a_second=round(2 * lines / told))
    print_line("hearing, all at once", lines_a_second=round(2 * lines / heard))


def measure_faults() -> None:
    """From a fault to the moment that its job waits for another place, with Ray's own settings."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, **QUIET)
    try:
        for name, strike in (
            ("worker killed", lambda node: os.kill(worker_of(node), signal.SIGKILL)),
            ("raylet killed", lambda node: os.kill(raylet_of(node), signal.SIGKILL)),
            ("raylet stopped", lambda node: os.kill(raylet_of(node), signal.SIGSTOP)),
        ):
            struck = cluster.add_node(num_cpus=1)
            print_line(name, seconds=round(noticed_after(struck, strike), 1))
            cluster.remove_node(struck, allow_graceful=False)
            while sum(node["Alive"] for node in ray.nodes()) > 2:
                time.sleep(0.1)
    finally:
        ray.shutdown()
        cluster.shutdown()


def noticed_after(node, strike) -> float:
    with tempfile.TemporaryDirectory() as folder:
        jobs, found = jobs_in(folder, 2, updates=9600), []

        def strike_and_wait():
            while not all(job.state == RUNNING and "right" in job.words for job in jobs):
                time.sleep(0.1)
            strike(node)
            started = time.perf_counter()
            while all(job.state == RUNNING for job in jobs):
                time.sleep(0.01)
            found.append(time.perf_counter() - started)
            os.kill(os.getpid(), signal.SIGTERM)

        thread = threading.Thread(target=strike_and_wait, daemon=True)
        thread.start()
        try:
            work_through(jobs, cluster="auto")
        except Exception as stopped:
            if not found:
                raise RuntimeError("nothing was noticed") from stopped
        thread.join()
    return found[0]


def raylet_of(node) -> int:
    return node.all_processes["raylet"][0].process.pid


def worker_of(node) -> int:
    """The process of a node that works on a job."""
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            parent = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1]
            called = Path(f"/proc/{name}/cmdline").read_bytes()
        except OSError:
            continue
        if int(parent) == raylet_of(node) and called.startswith(b"ray::_carry_out"):
            return int(name)
    raise RuntimeError("no worker of this node has anything to do")


def print_line(name: str, **figures) -> None:
    print(json.dumps({"measured": name, **figures}), flush=True)


def main() -> None:
    compare_pairs()
    compare_searches()
    measure_sizes()
    measure_telling()
    measure_faults()


if __name__ == "__main__":
    main()
