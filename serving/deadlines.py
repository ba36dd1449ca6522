"""Deadlines as this machine's clock that is never set counts them."""

import time

# gRPC says "no deadline" with one in the far future.
_LONGEST_SECONDS = 1e8


def deadline_of(remaining: float | None) -> float | None:
    """The time of `time.monotonic()` when so many seconds will be over; None: no deadline."""
    if remaining is None or remaining >= _LONGEST_SECONDS:
        return None
    return time.monotonic() + remaining
