"""Puts the promises of docs/security.md to the test with random faults.

    python -m campaign --minutes=60
    python -m campaign --part=kills --round=1234/kills/7   # one round again

Each part works in rounds, and the one that is furthest from its goals has the next. What was done
is added to `results/campaign.json`, from which the next invocation goes on, and written as
`results/campaign.md`. It ends with 1 if a promise was not kept.
"""

import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from absl import app, flags, logging

from campaign import forks
from campaign.damage import DamagedFiles
from campaign.kills import Kills
from campaign.part import Outcome, Part
from campaign.record import Record
from campaign.serving import Serving

# Where clusters are installed, one of them is a part like these.
PARTS = (Kills, DamagedFiles, Serving)

_ROUND_SECONDS = 1800.0
# So many rounds in a row that have done nothing end it: it is the machine, or the campaign itself.
_MOST_BROKEN = 3

flags.DEFINE_integer("seed", None, "What all chance comes from; drawn if not given.")
flags.DEFINE_float("minutes", 60.0, "No round is begun after so many minutes.", lower_bound=0.0)
flags.DEFINE_integer("rounds", None, "Nor after so many rounds of each part.", lower_bound=1)
flags.DEFINE_float("scale", 1.0, "Faults in a round: 1 is a minute or so.", lower_bound=1e-3)
flags.DEFINE_list("part", [part.name for part in PARTS], "Parts to run.")
flags.DEFINE_string("round", None, "Run one round of a part again, by its seed.")
flags.DEFINE_string("results", "results", "Folder of campaign.json and campaign.md.")

FLAGS = flags.FLAGS


def main(arguments: list[str]) -> None:
    logging.set_verbosity(logging.WARNING)
    parts = [part() for part in PARTS if part.name in FLAGS.part]
    unknown = set(FLAGS.part) - {part.name for part in PARTS}
    if len(arguments) > 1 or unknown:
        sys.exit(f"Unknown: {', '.join([*arguments[1:], *sorted(unknown)])}.")
    seed = random.SystemRandom().randrange(10**6) if FLAGS.seed is None else FLAGS.seed
    _say(f"seed {seed}")
    results = Path(FLAGS.results)
    results.mkdir(parents=True, exist_ok=True)
    record = Record(results / "campaign.json")
    with tempfile.TemporaryDirectory(prefix="campaign-") as folder:
        # Processes that are killed leave what they have there.
        tempfile.tempdir = folder
        # Either signal ends it, and what it has of files goes with it.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            are_fine = _campaign(parts, seed, Path(folder), record)
        except KeyboardInterrupt:
            sys.exit("Stopped; what was done so far is written down.")
    sys.exit(0 if are_fine else 1)


def _campaign(parts: list[Part], seed: int, folder: Path, record: Record) -> bool:
    until = time.monotonic() + 60 * FLAGS.minutes
    ready = [part for part in parts if _is_ready(part)]
    if FLAGS.round is None:
        record.begin(seed)
    rounds, are_fine, broken = dict.fromkeys(ready, 0), True, 0
    while ready and broken < _MOST_BROKEN and time.monotonic() < until:
        part = min(ready, key=lambda each: rounds[each] if FLAGS.rounds else record.done(each))
        if rounds[part] == FLAGS.rounds or (FLAGS.round and rounds[part]):
            break
        round_seed = FLAGS.round or f"{seed}/{part.name}/{rounds[part]}"
        started = time.monotonic()
        outcome = _round(part, round_seed, folder)
        seconds = time.monotonic() - started
        rounds[part] += 1
        are_fine = are_fine and not outcome.faults
        broken = 0 if outcome.counts else broken + 1
        counts = ", ".join(f"{count:,} {name}" for name, count in sorted(outcome.counts.items()))
        _say(f"{round_seed}: {counts} in {seconds:.0f} s")
        for fault in outcome.faults:
            _say(f"  NOT KEPT: {fault}")
        if FLAGS.round is None:
            record.add(part.name, round_seed, outcome, seconds)
            record.write_page(Path(FLAGS.results) / "campaign.md", parts)
    return are_fine


def _is_ready(part: Part) -> bool:
    if why := part.unavailable():
        _say(f"No {part.name} here: {why}.")
        return False
    return True


def _round(part: Part, round_seed: str, folder: Path) -> Outcome:
    draw = random.Random(round_seed)
    try:
        return forks.answer_of(lambda: part.run(draw, FLAGS.scale, folder), _ROUND_SECONDS)
    except forks.DiedError as error:
        return Outcome(faults=[f"The round itself did not come to an end: {error}"])


def _say(sentence: str) -> None:
    print(sentence, flush=True)


if __name__ == "__main__":
    app.run(main)
