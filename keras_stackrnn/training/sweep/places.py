"""Where jobs go: to this machine's cores, or to a cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from absl import flags

from keras_stackrnn.training.cluster import address
from keras_stackrnn.training.files import RunError
from keras_stackrnn.training.sweep.cores import Cores
from keras_stackrnn.training.sweep.work import Places


def define_flags(values: flags.FlagValues) -> None:
    """Adds a flag for each argument of `places`."""
    options = {"flag_values": values}
    flags.DEFINE_integer(
        "processes", None, "Runs at a time; as many as there are cores if not given.", **options
    )
    flags.DEFINE_string(
        "cluster",
        None,
        "Ray cluster that runs are on: local, auto, HOST:PORT or ray://HOST:PORT; without, they "
        "are on this machine's cores.",
        **options,
    )
    flags.DEFINE_boolean(
        "mixed_nodes",
        False,
        "Whether nodes of a cluster may differ in versions, XLA_FLAGS and CPU features.",
        **options,
    )


def given(values: flags.FlagValues) -> dict[str, Any]:
    """The arguments of `places` that a command line gives."""
    return {name: values[name].value for name in ("processes", "cluster", "mixed_nodes")}


@contextmanager
def places(
    cluster: str | None = None, mixed_nodes: bool = False, processes: int | None = None
) -> Iterator[Places]:
    """Places, for as long as it is entered.

    Args:
        cluster: Where a Ray cluster is; `None`: this machine, without Ray.
        mixed_nodes: Whether nodes may differ in what results depend on.
        processes: Jobs at a time on this machine; `None`: one on each core.
    """
    if cluster is None:
        yield Cores(processes)
        return
    if processes is not None:
        raise ValueError(
            "Ray knows how many runs a cluster has places for: expected no processes with "
            f"cluster={cluster!r}, got {processes}."
        )
    address.check(cluster)
    try:
        # Nobody pays for Ray who does not ask for it.
        from keras_stackrnn.training.cluster.ray_cluster import RayCluster
    except ModuleNotFoundError as error:
        raise RunError(
            f"cluster={cluster!r} needs Ray, which is not installed here: "
            "pip install 'keras-stackrnn[cluster]'."
        ) from error
    with RayCluster(cluster, mixed_nodes) as found:
        yield found
