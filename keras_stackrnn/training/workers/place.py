"""Which worker of how many this process is: what the variable TF_CONFIG says of a cluster."""

import json
import os
from typing import NamedTuple

from keras_stackrnn.training.files import RunError

VARIABLE = "TF_CONFIG"
_EXAMPLE = (
    '{"cluster": {"worker": ["host1:2222", "host2:2222"]}, "task": {"type": "worker", "index": 0}}'
)


class Place(NamedTuple):
    """A worker's number, from 0, and how many there are."""

    index: int
    count: int


ALONE = Place(0, 1)


def of_environment() -> Place:
    """This process' place in the cluster of TF_CONFIG; alone where there is none."""
    text = os.environ.get(VARIABLE, "")
    if not text.strip():
        return ALONE
    try:
        values = json.loads(text)
        cluster = values["cluster"]
        # As TensorFlow has it: a chief, where there is one, comes before the workers.
        members = [
            (kind, i) for kind in ("chief", "worker") for i in range(len(cluster.get(kind, ())))
        ]
        task = values["task"]["type"], int(values["task"]["index"])
        return Place(members.index(task), len(members))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunError(
            f"{VARIABLE} does not say which worker of a cluster this is ({error}): expected "
            f"{_EXAMPLE} or the like, got {text}."
        ) from None


def for_worker(index: int, addresses: list[str]) -> str:
    """The TF_CONFIG of a worker."""
    return json.dumps(
        {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
    )
