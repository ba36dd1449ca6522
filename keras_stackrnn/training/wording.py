"""Numbers and times in words."""

import math


def clock(seconds: float) -> str:
    """Seconds as minutes and seconds: 1:05."""
    if not math.isfinite(seconds):
        return "-"
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def number(value: float, form: str) -> str:
    """A number, or a dash where there is none yet."""
    return format(value, form) if math.isfinite(value) else "-"
