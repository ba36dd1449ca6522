"""Where a Ray cluster is, and whether anybody answers there: Ray itself tries for minutes."""

import os
import re
import socket
from pathlib import Path

from keras_stackrnn.training.files import RunError

# A cluster of this machine alone, for as long as this process lives; and one that runs here.
LOCAL, AUTO = "local", "auto"
# Before the address of a cluster that this machine is no node of.
CLIENT = "ray://"
_HOST_AND_PORT = re.compile(rf"({CLIENT})?(\[[^\]]+\]|[^:/\s]+):([0-9]+)")
_SECONDS = 5.0


def check(address: str) -> None:
    """Raises unless this can be one."""
    if address not in (LOCAL, AUTO) and not _HOST_AND_PORT.fullmatch(address):
        raise ValueError(
            f"cluster must be {LOCAL}, {AUTO}, HOST:PORT or {CLIENT}HOST:PORT, got {address!r}."
        )


def answering(address: str) -> str:
    """The address, once somebody has answered there; what `AUTO` means here."""
    if address == AUTO:
        address = _running_here()
    if address != LOCAL:
        host, port = _HOST_AND_PORT.fullmatch(address).group(2, 3)
        try:
            socket.create_connection((host.strip("[]"), int(port)), _SECONDS).close()
        except (OSError, OverflowError) as error:
            raise RunError(
                f"No Ray cluster answers at {address} ({error}): start one there with "
                "`ray start --head`, or give the address of another."
            ) from error
    return address


def _running_here() -> str:
    """What Ray has written down of the cluster that was last started on this machine."""
    noted = Path(os.environ.get("RAY_TMPDIR", "/tmp")) / "ray/ray_current_cluster"  # noqa: S108
    given = os.environ.get("RAY_ADDRESS", "").strip()
    found = given or (noted.read_text().strip() if noted.exists() else "")
    if not found:
        raise RunError(
            "No Ray cluster runs on this machine: start one with `ray start --head`, or give an "
            f"address, as in --cluster=HOST:6379, or --cluster={LOCAL}."
        )
    if not _HOST_AND_PORT.fullmatch(found):
        raise RunError(
            f"RAY_ADDRESS must be HOST:PORT or {CLIENT}HOST:PORT to be found, got {found!r}."
        )
    return found
