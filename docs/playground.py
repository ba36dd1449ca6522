"""Makes docs/pictures/playground.gif with the system's chromium: `python docs/playground.py`.

It steps through a sequence and forces an action; --still makes playground.png, one picture of it.
Needs what the tests need: pip install -e '.[test]'.
"""

import argparse
import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from keras_stackrnn import gallery
from keras_stackrnn.playground.server import playing
from keras_stackrnn.playground.sources import Sources

FOLDER = Path(__file__).parent / "pictures"
SIZE = {"width": 960, "height": 760}
MODEL, TEXT, FORCED = "anb2n", "aaabbbbbb", (1, 5)
SECONDS, LAST_SECONDS = 0.7, 3.0
COLORS = 64


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--still", action="store_true", help="one picture instead of many")
    asked = parser.parse_args()
    command = shutil.which("chromium") or shutil.which("google-chrome")
    if command is None:
        sys.exit("There is no chromium: install it first.")
    sources = Sources(live={MODEL: gallery.path_of(MODEL)})
    with playing(sources) as server, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=command, args=["--no-sandbox"])
        page = chromium.new_page(viewport=SIZE, reduced_motion="reduce")
        page.goto(f"http://127.0.0.1:{server.rest_api_port}/#model={MODEL}&text={TEXT}&at=1")
        _is_done(page)
        frames = [_frame(page)]
        for _ in TEXT[1:]:
            page.keyboard.press("ArrowRight")
            frames.append(_frame(page))
        memory, place = FORCED
        page.click(f".score-row:nth-child({memory + 3}) .cell:nth-child({place + 2})")
        _is_done(page)
        page.keyboard.press("End")
        frames.append(_frame(page))
        chromium.close()
    if asked.still:
        _save(FOLDER / "playground.png", frames[-2])
        return
    seconds = [*[SECONDS] * (len(frames) - 2), LAST_SECONDS, LAST_SECONDS]
    _save(
        FOLDER / "playground.gif",
        frames[0],
        save_all=True,
        append_images=frames[1:],
        duration=[round(1000 * each) for each in seconds],
        loop=0,
    )


def _is_done(page: Page) -> None:
    page.wait_for_selector("body[aria-busy=false]")


def _frame(page: Page) -> Image.Image:
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    return picture.quantize(COLORS, dither=Image.Dither.NONE)


def _save(path: Path, picture: Image.Image, **more) -> None:
    picture.save(path, optimize=True, **more)
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
