"""A server under load whose versions change, whose clients dawdle, and that is killed."""

import contextlib
import random
import shutil
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from campaign import forks, load, served
from campaign.part import Outcome

_REQUESTS = 50_000
_SWAPS = 5
_QUESTIONS = 300
_DRIPPING = 100
_SECONDS = 1500.0
_SWAP_SECONDS = 120.0
# What it may take more when it has served for a while, and for each version that came and went.
_GROWTH = 48 * 2**20
_GROWTH_A_SWAP = 8 * 2**20
# Those that dawdle come and go.
_MORE_DESCRIPTORS = _DRIPPING + 30


class Serving:
    """Every answer is right, whatever happens: swaps, slow and broken clients, kills."""

    name = "serving"
    targets: ClassVar = {"requests": 1_000_000, "swaps": 100, "malformed messages": 10_000}

    def unavailable(self) -> str:
        return "" if Path("/proc/self/statm").exists() else "memory is read from /proc, as on Linux"

    def run(self, draw: random.Random, scale: float, folder: Path) -> Outcome:
        requests = max(100, round(scale * _REQUESTS))
        swaps = max(1, round(scale * _SWAPS))
        seed = draw.getrandbits(32)
        texts = load.questions(seed, _QUESTIONS)
        if not (folder / "exports").exists():
            forks.answer_of(lambda: served.export_both(folder), 600.0)
        answers = forks.answer_of(lambda: served.answers(texts), 300.0)
        port, rest_port = _free_ports()
        base = folder / f"versions-{port}"
        server = served.Server(folder, base, port, rest_port)
        server.install()
        server.start()
        shared = load.Shared()
        asked = load.Asked(port, rest_port, texts, answers, seed, requests)
        try:
            with _dripping(server, round(scale * _DRIPPING), draw):
                round_ = _Round(server, shared, draw, requests, swaps)
                outcome = round_.run(lambda: load.load(asked, shared))
        finally:
            with contextlib.suppress(ProcessLookupError):
                server.stop(signal.SIGKILL)
            server.log.unlink(missing_ok=True)
            shutil.rmtree(base)
        return outcome


class _Round:
    def __init__(self, server, shared, draw, requests, swaps):
        self._server = server
        self._shared = shared
        self._draw = draw
        events = ["swap"] * swaps + ["kill", "stop"]
        draw.shuffle(events)
        places = sorted(draw.uniform(0.1, 0.8) for _ in events)
        self._events = list(zip([place * requests for place in places], events, strict=True))
        self._outcome = Outcome()
        self._swaps_since_start = 0
        self._memory: int | None = None
        self._descriptors = 0
        self._started_at = 0

    def run(self, client) -> Outcome:
        """Disturbs the server while the client asks."""
        answer = forks.Answer(client)
        due = time.monotonic() + _SECONDS
        while not answer.is_over(0.05):
            if time.monotonic() > due:
                answer.kill()
                raise RuntimeError(f"Only {self._shared.answers} answers in {_SECONDS} s")
            self._look_at_memory()
            self._shared.may_end = not self._events
            if self._events and self._shared.answers >= self._events[0][0]:
                getattr(self, f"_{self._events.pop(0)[1]}")()
        outcome = answer.result()
        self._check_memory()
        self._check_log()
        self._check_folder()
        for name in ("counts", "details"):
            getattr(outcome, name).update(getattr(self._outcome, name))
        outcome.faults += self._outcome.faults
        return outcome

    def _swap(self) -> None:
        server = self._server
        server.install()
        due = time.monotonic() + _SWAP_SECONDS
        while server.available() != server.version:
            if time.monotonic() > due:
                self._fault(f"version {server.version} is not served after {_SWAP_SECONDS} s")
                return
            time.sleep(0.1)
        self._swaps_since_start += 1
        self._outcome.counts["swaps"] += 1

    def _kill(self) -> None:
        self._restart(signal.SIGKILL, -signal.SIGKILL)

    def _stop(self) -> None:
        self._restart(self._draw.choice([signal.SIGTERM, signal.SIGINT, signal.SIGHUP]), 0)

    def _restart(self, number: signal.Signals, expected: int) -> None:
        self._check_memory()
        self._shared.disturbances += 1
        code = self._server.stop(number)
        if code != expected:
            self._fault(f"ended with {code} after {number.name}, not with {expected}")
        self._server.start()
        self._shared.disturbances += 1
        self._outcome.counts["server kills" if expected else "server stops"] += 1
        self._memory, self._swaps_since_start = None, 0
        self._started_at = self._shared.answers

    def _look_at_memory(self) -> None:
        # It is warm after some thousand answers.
        if self._memory is None and self._shared.answers - self._started_at > 3000:
            self._memory = self._server.memory()
            self._descriptors = self._server.descriptors()
            self._swaps_since_start = 0

    def _check_memory(self) -> None:
        if self._memory is None:
            return
        growth = self._server.memory() - self._memory
        if growth > _GROWTH + self._swaps_since_start * _GROWTH_A_SWAP:
            answers = self._shared.answers - self._started_at
            self._fault(
                f"took {growth / 2**20:.0f} MiB more after {self._swaps_since_start} swaps and "
                f"{answers} answers"
            )
        descriptors = self._server.descriptors()
        if descriptors > self._descriptors + _MORE_DESCRIPTORS:
            self._fault(f"has {descriptors} descriptors open, before {self._descriptors}")

    def _check_log(self) -> None:
        # The record is for others: where this machine keeps its files is none of their business.
        text = self._server.log.read_text(errors="replace").replace(f"{Path.cwd()}/", "")
        if "Traceback" in text:
            self._fault(f"has left a traceback: {text[text.index('Traceback') :][:1500]}")

    def _check_folder(self) -> None:
        stray = [p.name for p in self._server.base.iterdir() if not p.name.isdecimal()]
        if stray:
            self._fault(f"has left {stray}")

    def _fault(self, sentence: str) -> None:
        self._outcome.faults.append(f"The server {sentence}")


@contextlib.contextmanager
def _dripping(server: served.Server, number: int, draw: random.Random) -> Iterator[None]:
    """Keeps a number of connections open that send a byte from time to time, or nothing."""

    def drip() -> int:
        head = (
            b"POST /v1/models/m:predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n"
        )
        slow: list[tuple[socket.socket, bytes]] = []
        while True:
            while len(slow) < number:
                with contextlib.suppress(OSError):
                    port = draw.choice([server.port, server.rest_port])
                    slow.append((socket.create_connection(("127.0.0.1", port), 10), head))
            for place in range(len(slow) - 1, -1, -1):
                opened, left = slow[place]
                try:
                    opened.setblocking(False)
                    opened.send(left[:1] or b"{")
                    slow[place] = opened, left[1:]
                except BlockingIOError:
                    continue
                except OSError:
                    opened.close()
                    del slow[place]
            time.sleep(0.5)

    process = forks.fork(drip)
    try:
        yield
    finally:
        forks.end(process)


def _free_ports() -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(2)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
