"""Runs that nothing has disturbed: what all others are compared with, and what is damaged."""

import dataclasses
import json
import time
from collections import Counter
from pathlib import Path

from campaign import file_calls, tiny_runs
from campaign.file_calls import FileCall


@dataclasses.dataclass
class Whole:
    """A run that nothing has disturbed.

    Attributes:
        folder: where it is.
        calls: how often it has changed files, by their kinds.
        seconds: how long it took.
    """

    folder: Path
    calls: Counter[str]
    seconds: float

    @property
    def fingerprint(self) -> dict:
        return tiny_runs.fingerprint(self.folder)


def whole(name: str, folder: Path) -> Whole:
    """The run of a configuration; it is made when it is first asked for."""
    path, about = folder / f"whole-{name}", folder / f"whole-{name}.json"
    if not about.exists():
        calls, seconds = _made(name, path)
        about.write_text(json.dumps({"calls": calls, "seconds": seconds}))
    values = json.loads(about.read_text())
    return Whole(path, Counter(values["calls"]), values["seconds"])


def _made(name: str, path: Path) -> tuple[Counter[str], float]:
    config, calls = tiny_runs.CONFIGS[name](path), Counter()

    def note(call: FileCall) -> int:
        calls[call.kind] += 1
        return 0

    log = path.with_suffix(".log")
    started = time.monotonic()
    ending = file_calls.watched(lambda: tiny_runs.run(config), path, note, log)
    seconds = time.monotonic() - started
    if ending != tiny_runs.FINISHED:
        raise RuntimeError(f"The run {name} ended with {ending}: {log.read_text()}")
    if stray := tiny_runs.stray(path):
        raise RuntimeError(f"The run {name} has left {stray}")
    return calls, seconds
