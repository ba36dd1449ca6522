"""The page of a trace in a real browser: keys, slider, columns, bars, and no network."""

import re

import browser
import keras
import pytest
from axe_playwright_python.sync_playwright import Axe
from trace_case import COUNTED, counter, random_model

if keras.backend.backend() != "tensorflow":
    pytest.skip("traces are tested on TensorFlow alone", allow_module_level=True)

from keras_stackrnn import trace

LEFT, RIGHT, HOME, END = "ArrowLeft", "ArrowRight", "Home", "End"
HOSTILE = ["</script>", "<b>x</b>", "&amp;", "${1}", "<!--", "'\""]


class Page(browser.Tab):
    """A page under test."""

    def stack(self, name="stack1"):
        """The elements of a stack from its floor to its top, and their places on the screen."""
        slots = self.all(
            f".memory[data-name={name}] .slot", "[each.textContent, each.getBoundingClientRect().y]"
        )
        return [value for value, _ in sorted(slots, key=lambda slot: -slot[1])]


@pytest.fixture(scope="module")
def running():
    with browser.browsing() as started:
        yield started


@pytest.fixture
def page(running, tmp_path):
    opened = []

    def open_page(record, **options):
        path = tmp_path / "trace.html"
        record.to_html(path)
        opened.append(Page(running, **options))
        opened[-1].page.goto(path.as_uri())
        return opened[-1]

    yield open_page
    for each in opened:
        each.close()


def test_arrow_keys_step_through_the_text(page):
    shown = page(trace(counter(), COUNTED))
    assert shown.text("#position") == "symbol 1 of 4"
    for keys, position in (
        ([RIGHT], 2),
        ([RIGHT, RIGHT], 4),
        ([RIGHT], 4),
        ([LEFT], 3),
        ([HOME], 1),
        ([LEFT], 1),
        ([END], 4),
    ):
        shown.press(*keys)
        assert shown.text("#position") == f"symbol {position} of 4"
        assert shown.all("#text .current", "[...each.parentNode.children].indexOf(each)") == [
            position - 1
        ]
        assert shown.page.input_value("#slider") == str(position - 1)


def test_stacks_grow_and_shrink(page):
    shown = page(trace(counter(), "aaabbb"))
    depths = []
    for _ in range(6):
        depths.append(len(shown.stack()))
        shown.press(RIGHT)
    assert depths == [1, 2, 3, 2, 1, 0]
    assert shown.text(".memory .badge") == "- POP"


def test_a_long_text_and_a_deep_stack(page):
    count = 400
    shown = page(trace(counter(rounding=True), "a" * count + "b" * count))
    shown.page.click(f"#text button:nth-child({count})")
    assert len(shown.stack()) == count
    shown.press(END)
    assert shown.stack() == []
    assert shown.errors == []


def test_elements_lie_in_their_order(page):
    model = random_model(rounding=True, memories=3, seed=3, no_op=True)
    record = trace(model, "1011+11=01101.")
    shown = page(record)
    for step in range(len(record.symbols)):
        for name in shown.all(".memory", "each.dataset.name"):
            elements = [value for value in record.memory(name).contents[step] if value > -1]
            assert shown.stack(name) == [f"{value:.2f}" for value in reversed(elements)]
        shown.press(RIGHT)


def test_bars_are_as_long_as_symbols_are_probable(page):
    record = trace(counter(), COUNTED)
    shown = page(record)
    for step, probabilities in enumerate(record.probabilities):
        tracks = shown.all(".bar .track", "each.clientWidth")
        widths = shown.page.evaluate(
            "document.getAnimations().forEach(each => each.finish()),"
            "[...document.querySelectorAll('.fill')].map(each => each.clientWidth)"
        )
        for width, track, probability in zip(widths, tracks, probabilities, strict=True):
            assert width == pytest.approx(track * probability, abs=1)
        assert shown.all(".bar .symbol") == ["a", "b"]
        assert shown.all(".bar.came .symbol") == [record.upcoming[step]]
        shown.press(RIGHT)


def test_words_about_the_prediction(page):
    shown = page(trace(counter(), COUNTED, force={"stack1": {2: "PUSH"}}))
    said = []
    for _ in range(4):
        said.append(shown.text("#verdict"))
        shown.press(RIGHT)
    assert said == [
        "Predicted a; a came, which nothing tells beforehand.",
        "Predicted a; b came, which nothing tells beforehand.",
        "Predicted b, and b came.",
        "Predicted b, but a came.",
    ]
    assert shown.all("#verdict.missed") == said[-1:]
    assert shown.all("#text .known") == ["b"]


def test_the_slider_the_buttons_and_the_text_can_be_clicked(page):
    shown = page(trace(counter(), "aaabbb"))
    shown.page.click("#slider")
    assert shown.text("#position") in ("symbol 3 of 6", "symbol 4 of 6")
    # The slider has the keyboard now, and must not step twice.
    before = int(shown.text("#position").split()[1])
    shown.press(RIGHT)
    assert shown.text("#position") == f"symbol {before + 1} of 6"
    shown.page.click("#text button:nth-child(2)")
    assert shown.text("#position") == "symbol 2 of 6"
    shown.page.click("#on")
    assert shown.text("#position") == "symbol 3 of 6"
    shown.page.click("#back")
    shown.page.click("#back")
    assert shown.text("#position") == "symbol 1 of 6"


def test_a_list_moves_past_its_head(page):
    model = random_model("list", rounding=True, memories=2, seed=11)
    record = trace(model, "1011+11=")
    shown = page(record)
    for step in range(len(record.symbols)):
        for name in shown.all(".memory", "each.dataset.name"):
            contents = record.memory(name).contents[step]
            head = len(contents) // 2
            expected = {i - head: v for i, v in enumerate(contents) if v > -1}
            places = shown.all(f".memory[data-name={name}] .slot", "Number(each.dataset.place)")
            assert sorted(places) == sorted(expected)
        shown.press(RIGHT)


def test_ten_stacks_are_one_row_and_no_higher_than_they_are_deep(page):
    record = trace(random_model(memories=10, seed=4), "1011+11=")
    shown = page(record, viewport={"width": 1200, "height": 800})
    boxes = shown.all(".memory", "each.getBoundingClientRect().y")
    assert len(boxes) == 10
    assert len(set(boxes)) == 1
    deepest = max(memory.contents.shape[1] for memory in record.memories)
    heights = shown.all(".slots", "each.clientHeight")
    assert max(heights) <= 22 * (deepest + 4)


def test_it_is_accessible(page):
    for kind in ("stack", "list", "queue"):
        for scheme in ("light", "dark"):
            shown = page(
                trace(random_model(kind, memories=2, seed=11), "1011+11="), color_scheme=scheme
            )
            found = Axe().run(shown.page).response["violations"]
            assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []


def test_texts_are_texts(page):
    record = trace(random_model(vocabulary=HOSTILE), " ".join(HOSTILE))
    shown = page(record)
    assert shown.all("#text button") == HOSTILE
    assert shown.all(".bar .symbol") == HOSTILE
    assert shown.page.evaluate("document.querySelectorAll('#text b, #bars b').length") == 0
    assert shown.errors == []


def test_it_asks_the_network_for_nothing(page, tmp_path):
    shown = page(trace(random_model(memories=20, rounding=True), "1011+110=10001." * 4))
    shown.press(*[RIGHT] * 5)
    assert shown.requests == [(tmp_path / "trace.html").as_uri()]
    assert shown.errors == []
    assert shown.page.screenshot().startswith(b"\x89PNG")


def test_the_page_names_no_address():
    text = trace(counter(), COUNTED).to_html()
    assert re.findall(r"https?:|//[a-z]|src=|href=|url\(", text) == []
    assert text == trace(counter(), COUNTED).to_html()


def test_of_a_large_vocabulary_the_most_probable_and_what_came_have_bars(page):
    vocabulary = [f"w{i}" for i in range(30)]
    record = trace(random_model(vocabulary=vocabulary), "w3 w29")
    shown = page(record)
    bars = shown.all(".bar .symbol")
    assert len(bars) == 10
    assert "w29" in bars
    assert record.predictions[0] in bars


def test_idle_memories_are_words(page):
    record = trace(counter(), "aaa")
    assert page(record).all(".memory", "each.dataset.name") == ["stack1"]  # all are idle
    record = trace(random_model(memories=10, rounding=True), "1011+11=")
    shown = page(record)
    drawn = shown.all(".memory", "each.dataset.name")
    assert drawn
    for memory in record.memories:
        assert (memory.name in drawn) != (memory.name in re.findall(r"\w+", shown.text("#idle")))
