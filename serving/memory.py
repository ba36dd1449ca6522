"""Memory that a large request took goes back to the system, and is not kept for the next one."""

import ctypes
import os
import pathlib
import sys
import threading
import time

# Of glibc's mallopt: from which size on a piece of memory is asked of the system by itself, and
# how much may lie unused at the end of what it has. Both grow by themselves unless they are set.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_MMAP_BYTES = 4 * 2**20
_TRIM_BYTES = 16 * 2**20

_LOOK_SECONDS = 1.0
# It is worth the time that giving it back takes when a process has grown by so much. What is still
# in use cannot be given back: it is tried again, less and less often.
_GROWTH_BYTES = 32 * 2**20
_LONGEST_SECONDS = 60.0


def give_back(stopping: threading.Event) -> None:
    """Has this process give memory back when it can, until `stopping` is set.

    Where the C library is another one than glibc, as it is outside of Linux, nothing happens.

    Args:
        stopping: ends it.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    if not all(hasattr(libc, name) for name in ("mallopt", "malloc_trim")):
        return
    libc.mallopt(_M_MMAP_THRESHOLD, _MMAP_BYTES)
    libc.mallopt(_M_TRIM_THRESHOLD, _TRIM_BYTES)
    threading.Thread(target=_watch, args=[libc, stopping], name="memory", daemon=True).start()


def _watch(libc: ctypes.CDLL, stopping: threading.Event) -> None:
    least = kept = resident_bytes()
    wait, due = _LOOK_SECONDS, 0.0
    while not stopping.wait(_LOOK_SECONDS):
        resident = resident_bytes()
        least = min(least, resident)
        has_grown = resident > kept + _GROWTH_BYTES
        if resident <= least + _GROWTH_BYTES or not (has_grown or time.monotonic() >= due):
            continue
        libc.malloc_trim(0)
        kept = resident_bytes()
        wait = _LOOK_SECONDS if has_grown else min(2 * wait, _LONGEST_SECONDS)
        due = time.monotonic() + wait


def resident_bytes() -> int:
    """How much of this process is in memory."""
    pages = pathlib.Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGESIZE")
