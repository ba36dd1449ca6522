"""How soon the playground can be used, and how soon it answers a keystroke.

    python benchmarks/playground.py

Start: from the command to a page that shows a prediction, against a program that loads TensorFlow
and the same model; in turn, medians. Keystrokes: from the key to the page that shows it, after
200 symbols, with ten stacks.
"""

import argparse
import shutil
import statistics
import subprocess
import sys
import time

from playwright.sync_api import sync_playwright

BARE = "from keras_stackrnn import gallery; gallery.load('anbn')"
LENGTH = 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="starts of each")
    parser.add_argument("--keys", type=int, default=40, help="keystrokes")
    asked = parser.parse_args()
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        bare, started = [], []
        for _ in range(asked.rounds):
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", BARE], check=True, stderr=subprocess.DEVNULL)
            bare.append(time.perf_counter() - begin)
            server, page, seconds = start(chromium)
            started.append(seconds)
            if len(started) < asked.rounds:
                stop(server, page)
        keys = keystrokes(page, asked.keys)
        stop(server, page)
        chromium.close()
    ratio = statistics.median(started) / statistics.median(bare)
    print(f"TensorFlow and the model alone: {statistics.median(bare):.2f} s")
    print(f"to a page that can be used:     {statistics.median(started):.2f} s, {ratio:.2f} times")
    print(
        f"a keystroke after {LENGTH} symbols:  {1000 * statistics.median(keys):.0f} ms, "
        f"slowest of {len(keys)}: {1000 * max(keys):.0f} ms"
    )


def start(chromium):
    """The server's process, its page, and the seconds until the page showed a prediction."""
    begin = time.perf_counter()
    server = subprocess.Popen(
        [sys.executable, "-m", "keras_stackrnn.playground", "--nobrowser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    address = server.stdout.readline().split()[-1]
    page = chromium.new_page()
    page.goto(address)
    page.wait_for_selector(".memory .slot")
    return server, page, time.perf_counter() - begin


def keystrokes(page, count: int) -> list[float]:
    """Seconds from each key to the page that shows it."""
    word = "12" * (LENGTH // 4)
    address = page.url.partition("#")[0]
    page.goto("about:blank")
    page.goto(f"{address}#model=memorize&text={word}%3D{word[::-1]}")
    page.wait_for_selector("#position:has-text(' of ')")
    page.wait_for_selector("body[aria-busy=false]")
    page.focus("#text")
    page.keyboard.press("Control+End")
    seconds = []
    for each in range(count):
        begin = time.perf_counter()
        page.keyboard.press("1")
        page.wait_for_selector(
            f"#position:text-is('symbol {LENGTH + 2 + each} of {LENGTH + 2 + each}')"
        )
        seconds.append(time.perf_counter() - begin)
    return seconds


def stop(server, page) -> None:
    page.close()
    server.terminate()
    server.wait()


if __name__ == "__main__":
    main()
