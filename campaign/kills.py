"""Trainings that are killed, starved and interrupted, and end as if nothing had happened."""

import errno
import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from campaign import file_calls, forks, tiny_runs, whole_runs
from campaign.file_calls import FileCall
from campaign.part import Outcome

# The more they take, the fewer.
_SHARES = {"rnn": 5, "text": 3, "stack": 1}
_DISTURBANCES = (4, 12)
_MOST_ATTEMPTS = 40
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_ERRORS = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EMFILE)


class Kills:
    """A run that is stopped some times, each time in another way, and then left alone."""

    name = "kills"
    targets: ClassVar = {"kills": 200}

    def unavailable(self) -> str:
        return file_calls.unavailable()

    def run(self, draw: random.Random, scale: float, folder: Path) -> Outcome:
        outcome = Outcome()
        name = draw.choices(list(_SHARES), list(_SHARES.values()))[0]
        disturbances = max(1, round(scale * draw.randint(*_DISTURBANCES)))
        run = _DisturbedRun(name, whole_runs.whole(name, folder), folder, draw, outcome)
        for _ in range(disturbances):
            if run.is_over:
                break
            run.disturb()
        run.finish()
        return outcome


class _DisturbedRun:
    def __init__(self, name, whole, folder, draw, outcome):
        self._name = name
        self._whole = whole
        self._draw = draw
        self._outcome = outcome
        self._folder = folder / f"disturbed-{os.getpid()}"
        self._log = folder / f"disturbed-{os.getpid()}.log"
        self._config = tiny_runs.CONFIGS[name](self._folder)
        self._story: list[str] = []
        self.is_over = False

    def disturb(self) -> None:
        """One attempt that something happens to, if it does not end before."""
        ways = {
            self._kill_at_call: 20,
            self._kill_at_time: 3,
            self._fail: 4,
            self._signal: 2,
            self._start_twice: 1,
            self._remove: 1,
        }
        self._draw.choices(list(ways), list(ways.values()))[0]()

    def finish(self) -> None:
        """Goes on until it ends, and compares."""
        for _ in range(_MOST_ATTEMPTS):
            if self.is_over:
                break
            self._attempt("undisturbed", lambda call: 0, allowed=())
        else:
            self._fault("does not come to an end")
        self._outcome.counts["runs"] += 1
        if not self._outcome.faults:
            self._compare()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._log.unlink(missing_ok=True)

    def _kill_at_call(self) -> None:
        self._at_call(self._killed, "killed", (-signal.SIGKILL,))

    def _kill_at_time(self) -> None:
        seconds = self._draw.uniform(0.0, self._whole.seconds)
        ending = self._attempt(
            f"killed after {seconds:.2f} s", lambda call: 0, (-signal.SIGKILL,), seconds
        )
        if ending == -signal.SIGKILL:
            self._count("kills", "at a random time")

    def _fail(self) -> None:
        number = self._draw.choice(_ERRORS)
        for_good = self._draw.random() < 0.5

        def fail(call: FileCall) -> int:
            self._count("failing calls", errno.errorcode[number])
            return number

        said = f"{errno.errorcode[number]}{' and ever after' if for_good else ''}"
        self._at_call(fail, said, (tiny_runs.REFUSED,), for_good)

    def _signal(self) -> None:
        number = self._draw.choice(_SIGNALS)

        def send(call: FileCall) -> int:
            os.kill(call.process, number)
            self._count("signals", signal.Signals(number).name)
            return 0

        # Before and after its handlers are there, a signal does what it always does.
        self._at_call(send, number.name, (tiny_runs.INTERRUPTED, -number, 128 + number))

    def _start_twice(self) -> None:
        log = self._log.with_suffix(".second")

        def start(call: FileCall) -> int:
            if call.kind != ".":
                second = forks.fork(lambda: tiny_runs.run(self._config), log)
                code = os.waitstatus_to_exitcode(os.waitpid(second, 0)[1])
                said = log.read_text(errors="replace").strip()
                if code != tiny_runs.REFUSED or "Another process is training" not in said:
                    self._fault(f"let a second one start, which ended with {code}: {said[-1500:]}")
                log.unlink()
                self._count("second starts", call.kind)
            return 0

        self._at_call(start, "started twice", ())

    def _remove(self) -> None:
        def remove(call: FileCall) -> int:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._count("folders removed", call.kind)
            return 0

        self._at_call(remove, "removed", (tiny_runs.REFUSED,))

    def _killed(self, call: FileCall) -> int:
        os.kill(call.process, signal.SIGKILL)
        self._count("kills", f"before a {call.name}")
        self._outcome.details[f"kills: in {call.kind}"] += 1
        return 0

    def _at_call(
        self,
        what: Callable[[FileCall], int],
        said: str,
        allowed: tuple[int, ...],
        for_good: bool = False,
    ) -> None:
        """Does something before a call on a kind of file, each kind being equally likely."""
        kind = self._draw.choice(sorted(self._whole.calls))
        number = self._draw.randint(1, self._whole.calls[kind])
        seen = 0

        def before(call: FileCall) -> int:
            nonlocal seen
            seen += call.kind == kind
            is_due = seen == number and call.kind == kind
            return what(call) if is_due or (for_good and seen >= number) else 0

        self._attempt(f"{said} at {number} of {kind}", before, allowed)

    def _attempt(self, said: str, before, allowed, kill_after=None) -> int:
        self._story.append(said)
        self._log.unlink(missing_ok=True)
        # A clock that was set back, or ahead, changes nothing.
        hours = self._draw.choice([0, 0, -1, -10_000, 10_000])
        ending = file_calls.watched(
            lambda: tiny_runs.run(self._config, hours), self._folder, before, self._log, kill_after
        )
        printed = self._log.read_text(errors="replace").strip()
        if ending == tiny_runs.FINISHED:
            self.is_over = True
        elif ending not in allowed:
            self._fault(f"ended with {ending}: {printed[-1500:]}")
            self.is_over = True
        elif ending == tiny_runs.REFUSED and len(printed.splitlines()) != 1:
            self._fault(f"did not end with one sentence but with: {printed[-1500:]}")
        return ending

    def _compare(self) -> None:
        found, expected = tiny_runs.fingerprint(self._folder), self._whole.fingerprint
        for name, value in expected.items():
            if found[name] != value:
                self._fault(f"has other {name}: {_difference(found[name], value)}")
        for each in tiny_runs.stray(self._folder):
            self._fault(f"has left {each}")

    def _count(self, what: str, detail: str) -> None:
        self._outcome.counts[what] += 1
        self._outcome.details[f"{what}: {detail}"] += 1

    def _fault(self, sentence: str) -> None:
        self._outcome.faults.append(f"A {self._name} run ({'; '.join(self._story)}) {sentence}")


def _difference(found, expected) -> str:
    if isinstance(found, dict) and isinstance(expected, dict):
        keys = [key for key in {**found, **expected} if found.get(key) != expected.get(key)]
        return ", ".join(f"{key}: {found.get(key)} for {expected.get(key)}" for key in keys)[:600]
    if isinstance(found, list):
        more = [each for each in found if found.count(each) != expected.count(each)]
        less = [each for each in expected if found.count(each) != expected.count(each)]
        return f"{more[:5]} for {less[:5]}"
    return f"{found} for {expected}"
