"""Keeps large buffers with the process, where the C library can."""

import ctypes

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX = -1, -2, -4
_LARGEST = 2**31 - 1


def keep_large_buffers() -> None:
    """Has malloc use freed memory again instead of giving it back to the system.

    The logits of a window with 10,000 words are tens of megabytes. By default glibc asks the system
    for them anew at every update, and the system clears every page: half of the time of an update.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return  # no glibc
    for option, value in ((_MMAP_MAX, 0), (_TRIM_THRESHOLD, _LARGEST), (_TOP_PAD, 2**26)):
        mallopt(option, value)
