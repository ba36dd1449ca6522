"""Places for jobs on a Ray cluster. Ray decides where they run and says when one is lost; such a
job goes on elsewhere from its last checkpoint.
"""

import contextlib
import itertools
import os
import socket
import time

import ray
from ray.util.queue import Queue
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from keras_stackrnn.training.cluster import address as addresses
from keras_stackrnn.training.cluster import remote
from keras_stackrnn.training.cluster.job_folder import JobFolder
from keras_stackrnn.training.cluster.nodes import differences
from keras_stackrnn.training.files import RunError
from keras_stackrnn.training.sweep.job import Job
from keras_stackrnn.training.trainer_process import FAILED

# Losses of one job in a row, without a checkpoint between them, after which it is given up.
_PATIENCE = 3
_SECONDS_TO_DESCRIBE = 180.0
_SECONDS_BETWEEN_LOOKS = 2.0


class RayCluster:
    """Places on the nodes of a Ray cluster, as many as it has CPUs.

    Args:
        address: Where it is, as `address.check` has it; with `auto` it is also the one that this
            process has joined by `ray.init`.
        mixed_nodes: Whether nodes may differ in what results depend on.

    Attributes:
        differences: A sentence for each thing that nodes differ in.
    """

    def __init__(self, address: str, mixed_nodes: bool = False):
        # Whoever has joined a cluster already goes on in that one, whose processes are warm.
        self._is_guest = address == addresses.AUTO and ray.is_initialized()
        self._address = address if self._is_guest else addresses.answering(address)
        self._under_way: dict[int, RemoteJob] = {}
        self._numbers = itertools.count()
        self._looked_at = 0.0
        if not self._is_guest:
            _join(self._address)
        try:
            self._like, self.differences = _compared()
            if mixed_nodes:
                self._like = None
            elif self.differences:
                raise RunError(
                    f"{self.differences[0]}: give all nodes the same, or allow it with "
                    "--mixed_nodes."
                )
            self._heard = Queue(actor_options={"num_cpus": 0, "scheduling_strategy": _here()})
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        """Leaves the cluster; what is under way there ends."""
        if not self._is_guest:
            ray.shutdown()

    def start(self, job: Job) -> "RemoteJob | None":
        """Has a job go on, or begin, on a node; `None` if all have enough to do."""
        with self._lost_told():
            places = int(ray.cluster_resources().get("CPU", 0))
            if len(self._under_way) >= max(1, places):
                return None
            number = next(self._numbers)
            self._under_way[number] = RemoteJob(job, number, self)
            return self._under_way[number]

    def submit(self, number: int, attempt: int, asked: remote.Asked) -> ray.ObjectRef:
        """Hands a job to Ray."""
        return _carry_out.remote(asked, self._heard, number, attempt)

    def asked(self, job: Job, folder: JobFolder) -> remote.Asked:
        """What a node is asked for to go on with a job."""
        return remote.Asked(
            job.config.to_json(), job.only_search, *folder.begun(), os.getcwd(), self._like
        )

    def forget(self, number: int) -> None:
        """A job has ended, or is not needed any more."""
        self._under_way.pop(number, None)

    def wait(self) -> None:
        """Waits until one has ended, but just a moment; and hears what all have to tell."""
        with self._lost_told():
            self._look_for_lost_nodes()
            refs = {each.ref: each for each in self._under_way.values() if each.poll() is None}
            ended = []
            if refs:
                ended, _ = ray.wait(list(refs), num_returns=1, timeout=0.1)
            else:
                time.sleep(0.1)
            for number, attempt, told in self._heard.get_nowait_batch(self._heard.size()):
                if number in self._under_way:
                    self._under_way[number].hear(attempt, told)
            for ref in ended:
                refs[ref].come_back()

    def _look_for_lost_nodes(self) -> None:
        """Ray does not fail a task on a node that it has given up as long as the worker there still
        has its connection, which nobody closes when a machine stands still."""
        if time.monotonic() < self._looked_at + _SECONDS_BETWEEN_LOOKS:
            return
        self._looked_at = time.monotonic()
        alive = {node["NodeID"] for node in ray.nodes() if node["Alive"]}
        for job in self._under_way.values():
            job.check(alive)

    @contextlib.contextmanager
    def _lost_told(self):
        try:
            yield
        except (ray.exceptions.RayError, ConnectionError) as error:
            raise RunError(
                f"The Ray cluster at {self._address} is lost ({_first_line(error)}); all is saved "
                "up to the last checkpoints, and can go on."
            ) from error


class RemoteJob:
    """A job on some node, and on another one if that is lost.

    Args:
        job: The job.
        number: Its number among those of the cluster.
        cluster: The cluster.

    Attributes:
        ref: Ray's reference to what will come of it.
        last_words: The sentence it failed with.
    """

    def __init__(self, job: Job, number: int, cluster: RayCluster):
        self._job, self._number, self._cluster = job, number, cluster
        self._code: int | None = None
        self._attempt, self._losses, self._node_id = 0, 0, ""
        self.last_words = ""
        self._folder = JobFolder(job)
        try:
            self._folder.open()
            self._submit()
        except (RunError, ValueError) as error:
            self._fail(str(error))

    def poll(self) -> int | None:
        """0 once it has succeeded, and `FAILED`; `None` as long as it runs."""
        return self._code

    def stop(self, number: int) -> None:
        """Ends it; its last checkpoint is here."""
        ray.cancel(self.ref, force=True)
        self._code = -number

    def close(self) -> None:
        """Ends it, if it has not ended."""
        if self._code is None:
            self.stop(0)
        self._folder.close()
        self._cluster.forget(self._number)

    def hear(self, attempt: int, told: remote.Told) -> None:
        """Takes note of what an attempt tells; of one that was given up, nothing."""
        if attempt != self._attempt:
            return
        if told.node:
            self._job.begin(told.node)
            self._node_id = told.node_id
        if told.line:
            self._job.listen(told.line)
        if told.checkpoint:
            try:
                self._folder.save(told.checkpoint)
            except RunError as error:
                self.stop(0)
                self._fail(str(error))
            self._losses = 0

    def come_back(self) -> None:
        """Takes what has come of the attempt; if nothing has, there is another one."""
        if self._code is not None:
            return
        try:
            found = ray.get(self.ref)
        except ray.exceptions.RayTaskError as error:
            self._fail(_first_line(error.cause or error))
        except ray.exceptions.RayError as error:
            self._lost(_first_line(error))
        else:
            self._take(found)

    def check(self, alive: set[str]) -> None:
        """Takes note of the nodes that there are."""
        if self._code is None and self._node_id and self._node_id not in alive:
            ray.cancel(self.ref, force=True)
            self._lost("its node was given up")

    def _lost(self, why: str) -> None:
        """Has the job go on elsewhere."""
        self._losses += 1
        if self._losses == _PATIENCE:
            self._fail(f"It was lost {_PATIENCE} times without a checkpoint between them ({why})")
        else:
            self._submit()

    def _take(self, found: remote.Finished | str) -> None:
        if isinstance(found, str):
            self._fail(found)
            return
        try:
            self._folder.publish(found)
            self._code = 0
        except RunError as error:
            self._fail(str(error))

    def _submit(self) -> None:
        self._attempt += 1
        self._node_id = ""
        self._job.wait()
        asked = self._cluster.asked(self._job, self._folder)
        self.ref = self._cluster.submit(self._number, self._attempt, asked)

    def _fail(self, words: str) -> None:
        self._code, self.last_words = FAILED, words


@ray.remote(num_cpus=1, max_retries=0)
def _carry_out(asked, heard, number, attempt):
    def tell(told):
        heard.put((number, attempt, told))

    tell(remote.Told(node=_name_here(), node_id=ray.get_runtime_context().get_node_id()))
    return remote.carry_out(asked, _name_here(), tell)


@ray.remote(num_cpus=0, max_retries=0)
def _describe():
    return _name_here(), remote.describe()


def _name_here() -> str:
    return f"{socket.gethostname()}/{ray.get_runtime_context().get_node_id()[:6]}"


def _here() -> NodeAffinitySchedulingStrategy:
    """On this node or, of a client, on the one that stands for it."""
    return NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)


def _join(address: str) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    options = {"log_to_driver": False, "logging_level": "ERROR"}
    if address == addresses.LOCAL:
        options |= {"num_cpus": len(os.sched_getaffinity(0)), "include_dashboard": False}
    try:
        ray.init(address=address, **options)
    except (ray.exceptions.RayError, RuntimeError, ConnectionError, ValueError) as error:
        raise RunError(f"Cannot join the Ray cluster at {address}: {_first_line(error)}") from error


def _compared() -> tuple[tuple[str, dict] | None, list[str]]:
    """The name and description of one node, and how others differ from it."""
    alive = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0)]
    affinity = [NodeAffinitySchedulingStrategy(node["NodeID"], soft=False) for node in alive]
    asked = [_describe.options(scheduling_strategy=each).remote() for each in affinity]
    described = []
    for node, ref in zip(alive, asked, strict=True):
        host = node["NodeManagerHostname"]
        try:
            described.append(ray.get(ref, timeout=_SECONDS_TO_DESCRIBE))
        except ray.exceptions.RayTaskError as error:
            why = _first_line(error.cause or error)
            raise RunError(
                f"Node {host} cannot run keras_stackrnn ({why}): install the same there as here."
            ) from error
        except ray.exceptions.GetTimeoutError as error:
            raise RunError(
                f"Node {host} has not answered for {_SECONDS_TO_DESCRIBE:.0f} seconds: take it "
                "out of the cluster."
            ) from error
        except ray.exceptions.RayError:
            # It was lost in the meantime.
            continue
    found = [
        sentence
        for name, description in described[1:]
        for sentence in differences(name, description, *described[0])
    ]
    return (described[0] if described else None), found


def _first_line(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else 'without a word'}"
