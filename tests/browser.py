"""Headless Chromium for tests, through Playwright: pages that note what goes wrong in them."""

import contextlib
import shutil
from collections.abc import Iterator

import pytest
from playwright import sync_api

NAMES = ("chromium", "chromium-browser", "google-chrome")
_ARGUMENTS = (
    "--no-sandbox",  # it refuses to run as root with one
    "--disable-gpu",
    "--disable-dev-shm-usage",
)


def find() -> str | None:
    """The browser's command, if there is one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextlib.contextmanager
def browsing() -> Iterator[sync_api.Browser]:
    """The system's browser, which ends with the context; without one the test is skipped."""
    command = find()
    if command is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=command, args=_ARGUMENTS)
        try:
            yield launched
        finally:
            launched.close()


class Tab:
    """A page in a context of its own.

    Attributes:
        page: Playwright's page.
        requests: The addresses that it asked.
        errors: What it threw, or wrote to its console as an error.
    """

    def __init__(self, running: sync_api.Browser, **options):
        self._context = running.new_context(
            **{"viewport": {"width": 1100, "height": 800}, **options}
        )
        self.page = self._context.new_page()
        self.page.set_default_timeout(60_000)
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._said)

    def close(self) -> None:
        self._context.close()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def text(self, selector: str) -> str:
        return self.page.text_content(selector)

    def all(self, selector: str, of: str = "each.textContent") -> list:
        """What a JavaScript expression gives for each element."""
        return self.page.eval_on_selector_all(selector, f"all => all.map(each => {of})")

    def _said(self, message: sync_api.ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(message.text)
