"""What all invocations of the campaign have done together: a JSON file, and a page to read."""

import contextlib
import datetime
import fcntl
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from campaign.part import Outcome, Part
from keras_stackrnn.training.files import write_aside

_MOST_FAULTS = 100


class Record:
    """The sums of the rounds so far; several invocations may add to them at a time.

    Who mends a fault writes what it was into its `mended`, and it no longer counts as one.

    Args:
        path: of the JSON file; made when the first invocation begins.
    """

    def __init__(self, path: Path):
        self._path = path
        self._values = {"seeds": [], "minutes": 0.0, "parts": {}, "faults": []}
        if path.exists():
            self._values = json.loads(path.read_text())

    def begin(self, seed: int) -> None:
        """Notes one more invocation."""
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        with self._changing() as values:
            values["seeds"].append({"seed": seed, "date": today})

    def add(self, part: str, round_seed: str, outcome: Outcome, seconds: float) -> None:
        """Notes a round."""
        faults = [{"part": part, "round": round_seed, "what": what} for what in outcome.faults]
        with self._changing() as values:
            sums = values["parts"].setdefault(part, {"rounds": 0, "counts": {}, "details": {}})
            sums["rounds"] += 1
            for name in ("counts", "details"):
                sums[name] = dict(sorted((Counter(sums[name]) + getattr(outcome, name)).items()))
            values["minutes"] = round(values["minutes"] + seconds / 60, 2)
            values["faults"] = (values["faults"] + faults)[-_MOST_FAULTS:]

    def done(self, part: Part) -> float:
        """How far a part is from its targets: 1 when all are reached."""
        return min(self._count(part.name, n) / wanted for n, wanted in part.targets.items())

    def write_page(self, path: Path, parts: Iterable[Part]) -> None:
        """Writes what came of it as Markdown."""
        text = "\n".join([*self._page(list(parts)), ""])
        write_aside(path, lambda aside: aside.write_text(text))

    @contextlib.contextmanager
    def _changing(self) -> Iterator[dict]:
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            if self._path.exists():
                self._values = json.loads(self._path.read_text())
            yield self._values
            text = json.dumps(self._values, indent=1, ensure_ascii=False)
            write_aside(self._path, lambda aside: aside.write_text(f"{text}\n"))
        finally:
            os.close(folder)

    def _count(self, part: str, name: str) -> int:
        return self._values["parts"].get(part, {}).get("counts", {}).get(name, 0)

    def _page(self, parts: list[Part]) -> Iterable[str]:
        yield "# The campaign"
        yield ""
        yield (
            "Random faults against what [docs/security.md](../docs/security.md) promises. "
            "`make campaign` goes on from here; `campaign.json` beside this page is what it goes "
            "on from."
        )
        yield ""
        yield "| what | done | goal |"
        yield "| --- | ---: | ---: |"
        for part in parts:
            for name, wanted in part.targets.items():
                yield f"| {name} | {self._count(part.name, name):,} | {wanted:,} |"
        faults = self._values["faults"]
        open_ones = [fault for fault in faults if "mended" not in fault]
        yield ""
        yield f"Promises that were not kept: {len(open_ones) or 'none'}."
        for fault in open_ones:
            what = " ".join(fault["what"].split())[:400]
            yield f"- {fault['part']}, round `{fault['round']}`: {what}"
        yield ""
        mended = Counter(fault["mended"] for fault in faults if "mended" in fault)
        for what, times in mended.items():
            yield f"- Mended since, after {times}: {what}"
        if mended:
            yield ""
        seeds = [f"{each['seed']} ({each['date']})" for each in self._values["seeds"]]
        yield f"{self._values['minutes']:,.0f} minutes, seeds {', '.join(dict.fromkeys(seeds))}."
        for part in parts:
            sums = self._values["parts"].get(part.name)
            if sums is None:
                continue
            yield ""
            yield f"## {part.name.capitalize()}"
            yield ""
            yield " ".join(part.__doc__.split())
            yield ""
            yield f"{sums['rounds']} rounds."
            yield ""
            yield "| what | times |"
            yield "| --- | ---: |"
            rows = {**sums["counts"], **sums["details"]}
            for name, count in rows.items():
                yield f"| {name} | {count:,} |"
