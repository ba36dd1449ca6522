"""Headless Chromium for tests: a page is opened, keys are pressed, its DOM is asked."""

import base64
import contextlib
import fcntl
import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")


def find() -> str | None:
    """The browser's command, if there is one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A browser that speaks the DevTools protocol over two pipes: JSON, each ended by a zero byte.

    Args:
        orders: File descriptor to write commands to.
        answers: File descriptor to read answers and events from.
    """

    def __init__(self, orders: int, answers: int):
        self._orders = orders
        self._answers = answers
        self._read = b""
        self._number = 0
        self._session = None
        self.requests: list[str] = []
        self.errors: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters) -> dict:
        """Sends a command and waits for its result."""
        self._number += 1
        order = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            order["sessionId"] = self._session
        data = json.dumps(order).encode() + b"\0"
        while data:
            data = data[os.write(self._orders, data) :]
        while True:
            message = self._next_message()
            if message.get("id") == self._number:
                assert "error" not in message, message["error"]
                return message["result"]

    def open(self, path: Path) -> None:
        """Opens a file and waits until it is loaded."""
        self.call("Page.navigate", url=path.resolve().as_uri())
        while self._next_message().get("method") != "Page.loadEventFired":
            pass

    def evaluate(self, expression: str):
        """The value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str, code: int) -> None:
        """Presses and releases a key, as a keyboard does."""
        for kind in ("rawKeyDown", "keyUp"):
            names = {"key": key, "code": key, "windowsVirtualKeyCode": code}
            self.call("Input.dispatchKeyEvent", type=kind, **names)

    def click(self, selector: str) -> None:
        """Presses and releases the mouse button in the middle of an element."""
        box = self.evaluate(
            f"(r => [r.x + r.width / 2, r.y + r.height / 2])"
            f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())"
        )
        for kind in ("mousePressed", "mouseReleased"):
            place = {"x": box[0], "y": box[1], "button": "left", "clickCount": 1}
            self.call("Input.dispatchMouseEvent", type=kind, **place)

    def screenshot(self) -> bytes:
        """What is to be seen, as a PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def _next_message(self) -> dict:
        while b"\0" not in self._read:
            more = os.read(self._answers, 1 << 16)
            assert more, "The browser has ended."
            self._read += more
        message, _, self._read = self._read.partition(b"\0")
        message = json.loads(message)
        parameters = message.get("params", {})
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(parameters["exceptionDetails"]["text"])
        elif message.get("method") == "Log.entryAdded":
            self.errors.append(parameters["entry"]["text"])
        return message


@contextlib.contextmanager
def browsing(
    command: str, profile: Path, width: int = 1100, height: int = 800
) -> Iterator[Browser]:
    """A browser with an empty profile, which ends with the context."""
    their_orders, orders = _pipe()
    answers, their_answers = _pipe()
    arguments = [
        command,
        "--headless=new",
        "--no-sandbox",  # it refuses to run as root with one
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--hide-scrollbars",
        f"--user-data-dir={profile}",
        f"--window-size={width},{height}",
        "--remote-debugging-pipe",
    ]
    quiet = (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)
    process = os.posix_spawn(
        command,
        arguments,
        os.environ,
        file_actions=[
            quiet,
            (os.POSIX_SPAWN_DUP2, their_orders, 3),
            (os.POSIX_SPAWN_DUP2, their_answers, 4),
        ],
    )
    os.close(their_orders)
    os.close(their_answers)
    try:
        yield Browser(orders, answers)
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(orders)
        os.close(answers)


def _pipe() -> tuple[int, int]:
    """A pipe whose ends are not the descriptors 3 and 4, where the browser wants its own."""
    ends = os.pipe()
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 5) for end in ends]
    for end in ends:
        os.close(end)
    return moved[0], moved[1]
