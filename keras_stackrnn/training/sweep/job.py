"""One run of many: where it stands, and what came of it."""

import dataclasses
import json
import time
from pathlib import Path

from keras_stackrnn.training import run_folder
from keras_stackrnn.training.configs import AnyConfig

WAITING, RUNNING, DONE, FAILED = "waiting", "running", "done", "failed"
# Its result cannot matter any more.
DROPPED = "dropped"


@dataclasses.dataclass(eq=False)
class Job:
    """One run, and what is known of it.

    Attributes:
        config: Its configuration.
        only_search: Whether its search is all that is asked for, and not the test.
        name: What people call it; task, model and seed if not given.
        state: One of the words above.
        where: Where it runs.
        words: What it last said of itself, or the sentence that it failed with.
        started: When, in seconds of `time.monotonic()`.
    """

    config: AnyConfig
    only_search: bool = False
    name: str = ""
    state: str = WAITING
    where: str = ""
    words: str = ""
    started: float = 0.0

    def __post_init__(self):
        self.name = self.name or f"{self.config.task} {self.config.model} {self.config.seed}"

    @property
    def folder(self) -> Path:
        return Path(self.config.output_dir)

    @property
    def is_finished(self) -> bool:
        """Whether its folder holds all that is asked for."""
        if self.only_search:
            return run_folder.read_outcome(self.config) is not None
        return (self.folder / run_folder.EVALUATION).exists()

    def begin(self, where: str) -> None:
        """Takes note that it runs."""
        self.state, self.where, self.words = RUNNING, where, "starting"
        self.started = time.monotonic()

    def wait(self) -> None:
        """Takes note that it needs a place, for the first time or again."""
        self.state, self.where, self.words = WAITING, "", ""

    def end(self, failure: str | None = None) -> None:
        """Takes note that it has ended, or how it failed."""
        self.state = DONE if failure is None else FAILED
        self.words = "" if failure is None else failure

    def drop(self) -> None:
        """Takes note that nobody needs it any more."""
        self.state = DROPPED

    def listen(self, line: str) -> None:
        """Takes note of a line of its log (`logs.JsonLines`)."""
        try:
            event = json.loads(line)
        except ValueError:
            return
        if event["event"] in ("compiling", "progress"):
            self.words = event.get("text", event["event"])

    def evaluation(self) -> dict:
        """What `evaluation.json` says."""
        return json.loads((self.folder / run_folder.EVALUATION).read_text())
