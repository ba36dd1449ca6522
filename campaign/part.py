"""What every part of the campaign is: rounds of faults, each by a seed of its own."""

import dataclasses
import random
from collections import Counter
from pathlib import Path
from typing import Protocol


@dataclasses.dataclass
class Outcome:
    """What a round has done.

    Attributes:
        counts: how often what was done, by its name.
        details: the same in finer grains, for the report.
        faults: a sentence for each promise that was not kept.
    """

    counts: Counter[str] = dataclasses.field(default_factory=Counter)
    details: Counter[str] = dataclasses.field(default_factory=Counter)
    faults: list[str] = dataclasses.field(default_factory=list)


class Part(Protocol):
    """One thing that is put to the test.

    Attributes:
        name: what it is called in flags and reports.
        targets: how often what has to be done, at least.
    """

    name: str
    targets: dict[str, int]

    def unavailable(self) -> str:
        """Why it cannot be run on this machine; empty if it can."""

    def run(self, draw: random.Random, scale: float, folder: Path) -> Outcome:
        """One round, in a process of its own that has imported TensorFlow and not used it.

        Args:
            draw: what all chance comes from.
            scale: 1 is a round of a minute or so; a fraction of it has fewer faults.
            folder: for files, which later rounds find there, too.
        """
