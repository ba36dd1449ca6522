"""The playground in a real browser: every control, each kind and form, and what goes wrong."""

import re
import socket

import browser
import keras
import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from test_case import randomise
from trace_case import random_model

if keras.backend.backend() != "tensorflow":
    pytest.skip("models are served with TensorFlow alone", allow_module_level=True)

from keras_stackrnn import gallery, trace
from keras_stackrnn.playground.server import playing
from keras_stackrnn.playground.sources import Sources
from keras_stackrnn.task_models import Recognizer, Transducer
from keras_stackrnn.trace.asking import blame_source

TEXT = "1011+11=10"
KINDS = {"tape": {"no_op": True}, "editor": {"element_size": 2}, "queue": {}}
HOSTILE = ["</script>", "<b>x</b>", "&amp;"]


def transducer():
    return Transducer(
        "stack", ["0", "1", "<answer>"], 6, outputs="01", task="chomsky/reverse_string"
    )


def recognizer():
    return Recognizer(
        "stack", ["0", "1", "<end>"], 6, labels=["no", "yes"], task="recognition/parity"
    )


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Models that nobody trained, in files."""
    folder = tmp_path_factory.mktemp("models")
    made = {kind: random_model(kind, memories=2, seed=5, **more) for kind, more in KINDS.items()}
    made["words"] = random_model(vocabulary=HOSTILE)
    made["lstm"] = random_model("lstm")
    made["transducer"], made["recognizer"] = transducer(), recognizer()
    for name in ("transducer", "recognizer"):
        randomise(made[name], seed=1, scale=2)
    for name, model in made.items():
        model.save(folder / f"{name}.keras")
    return folder, made


@pytest.fixture(scope="module")
def server(models):
    folder, made = models
    live = {name: gallery.path_of(name) for name in ("anbn", "anb2n", "anbn-list", "memorize")}
    live |= {name: folder / f"{name}.keras" for name in made}
    with playing(Sources(live=live)) as running:
        yield running


@pytest.fixture(scope="module")
def running():
    with browser.browsing() as started:
        yield started


class Playground(browser.Tab):
    """The page under test."""

    def __init__(self, running, port, **options):
        super().__init__(running, **options)
        self.origin = f"http://127.0.0.1:{port}/"

    def open(self, model="anbn", **values):
        """Follows a link, for which there is no tour."""
        fragment = "&".join(f"{name}={value}" for name, value in {"model": model, **values}.items())
        self.page.goto("about:blank")
        self.page.goto(f"{self.origin}#{fragment}")
        self.is_done()
        return self

    def is_done(self):
        self.page.wait_for_selector("body[aria-busy=false]")

    def write(self, text):
        self.page.fill("#text", text)
        self.is_done()

    def click(self, selector):
        self.page.click(selector)
        self.is_done()

    def cell(self, memory, place):
        return f".score-row:nth-child({memory + 3}) .cell:nth-child({place + 2})"

    def slots(self, name, panel=1):
        """What a memory is drawn to hold: values by their places."""
        drawn = self.all(
            f".panel:nth-child({panel}) .memory[data-name={name}] .slot",
            "[Number(each.dataset.place), Number(each.title.split(' = ')[1])]",
        )
        return dict(drawn)


@pytest.fixture
def page(running, server):
    opened = []

    def open_page(model="anbn", options=None, **values):
        opened.append(Playground(running, server.rest_api_port, **(options or {})))
        return opened[-1].open(model, **values)

    yield open_page
    for each in opened:
        assert each.errors == []
        each.close()


def test_a_newcomer_is_shown_how_in_three_steps_and_once(running, server):
    tab = Playground(running, server.rest_api_port)
    tab.page.goto(tab.origin)
    tab.is_done()

    titles = []
    for _ in range(3):
        titles.append(tab.text("#tour-title"))
        tab.click("#tour-on")
    assert [title[:6] for title in titles] == ["1 of 3", "2 of 3", "3 of 3"]
    assert not tab.page.is_visible("#tour-card")
    tab.page.goto("about:blank")
    tab.page.goto(tab.origin)
    tab.is_done()
    assert not tab.page.is_visible("#tour-card")
    tab.click("#tour")
    assert tab.page.is_visible("#tour-card")
    # Nothing but this server was asked, and one's own models stand before the gallery's.
    assert [each for each in tab.requests if not each.startswith((tab.origin, "data:"))] == []
    assert tab.page.input_value("#model") == "tape"
    assert tab.errors == []
    tab.close()


def test_keys_buttons_and_the_slider_step(page):
    tab = page(text="aaabbb")
    assert tab.text("#position") == "symbol 6 of 6"
    assert tab.text("#right") == "2 of 2 predictable symbols are right."
    depths = []
    for key in ["Home", *["ArrowRight"] * 5]:
        tab.press(key)
        depths.append(len(tab.slots("stack1")))
    assert depths[:3] == [1, 2, 3]
    assert depths[3:5] == [2, 1]
    tab.press("ArrowRight", "ArrowLeft")
    assert tab.text("#position") == "symbol 5 of 6"
    tab.page.click("#on")
    tab.page.click("#back")
    tab.page.click("#back")
    assert tab.text("#position") == "symbol 4 of 6"
    tab.page.focus("#slider")
    tab.press("Home", "ArrowRight")
    assert tab.text("#position") == "symbol 2 of 6"
    tab.page.click("#play")
    assert tab.text("#play") == "Pause"
    tab.page.wait_for_selector("#position:text-is('symbol 6 of 6')")
    tab.page.wait_for_selector("#play:text-is('Play')")
    tab.page.evaluate("document.activeElement.blur()")
    tab.press(" ", " ")
    # At the end it begins again, and was stopped there.
    assert tab.text("#position") == "symbol 1 of 6"


def test_what_is_typed_is_read_on_from_where_it_was(page):
    tab = page(text="aaab")
    tab.requests.clear()
    tab.page.focus("#text")
    tab.press("End", "b")
    tab.is_done()
    assert tab.text("#position") == "symbol 5 of 5"
    assert [each for each in tab.requests if each.endswith(":predict")] != []
    tab.requests.clear()
    tab.press("Backspace")
    tab.is_done()
    # What was there before is known.
    assert [each for each in tab.requests if each.endswith(":predict")] == []
    assert tab.text("#position") == "symbol 4 of 4"


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_drawn_as_a_trace_has_it_soft_and_rounded(page, models, kind):
    soft = models[1][kind]
    tab = page(kind, text=TEXT.replace("+", "%2B"), compare=1)
    tab.page.wait_for_selector(".panel:nth-child(2)")
    assert tab.all(".panel > h2") == ["Soft", "Rounded"]
    records = [trace(soft.twin(rounding=rounding), TEXT) for rounding in (False, True)]
    for place in range(len(TEXT) - 1, -1, -3):
        tab.page.click(f".score-row:first-child .cell:nth-child({place + 2})")
        for panel, record in enumerate(records, start=1):
            for memory in record.memories:
                contents = memory.contents[place]
                head = memory.kind.head(len(contents))
                held = {
                    i - head: round(float(value), 2)
                    for i, value in enumerate(contents)
                    if value + 1 >= 0.01
                }
                drawn = tab.slots(memory.name, panel)
                assert drawn.keys() == held.keys()
                np.testing.assert_allclose(
                    [drawn[each] for each in held], list(held.values()), atol=0.011
                )


def test_an_action_is_forced_by_a_cell_a_button_and_the_keyboard(page):
    tab = page(text="aaaabbbb", at=3)
    tab.click(tab.cell(0, 2))
    assert tab.text("#orders button") == "stack1 POP at 3 ✕"
    assert tab.all(".panel > h2") == ["With forced actions", "As it was without"]
    assert (len(tab.slots("stack1", 1)), len(tab.slots("stack1", 2))) == (1, 3)
    assert re.match(r"1 of 8 predictions change: .* a instead of b\.", tab.text("#consequence"))
    assert tab.all(".score-row .differs, .score-row .ordered", "each.ariaLabel")[0].endswith(
        "POP, forced"
    )
    assert "force=stack1%402%3DPOP" in tab.page.url
    tab.click(tab.cell(0, 2))
    assert not tab.page.is_visible("#forced")
    tab.click(".panel .line:nth-child(2)")
    assert tab.text("#orders button") == "stack1 POP at 3 ✕"
    assert tab.all(".line[aria-pressed=true]") == ["POP1.00"]
    tab.click("#free")
    assert not tab.page.is_visible("#forced")
    tab.page.focus(".score-row [tabindex='0']")
    tab.press("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "Enter")
    tab.is_done()
    assert tab.text("#orders button") == "stack1 POP at 4 ✕"


def test_a_link_carries_everything(page):
    tab = page(text="aaabbb", force="stack1@1=POP,stack1@2=POP,stack9@1=POP", at=4, compare=1)
    assert tab.text("#position") == "symbol 4 of 6"
    assert len(tab.all("#orders button")) == 2
    tab.page.wait_for_selector(".panel:nth-child(3)")
    again = page()
    again.page.goto("about:blank")
    again.page.goto(tab.page.url)
    again.page.wait_for_selector(".panel:nth-child(3)")
    for each in ("#position", "#consequence", "#score"):
        assert again.text(each) == tab.text(each)


def test_a_random_sequence_of_a_thousand_is_scored(page):
    tab = page()
    tab.page.fill("#size", "1000")
    tab.click("#random")
    assert tab.text("#position") == "symbol 2000 of 2000"
    assert tab.text("#right") == "999 of 999 predictable symbols are right."
    assert tab.page.is_visible("#overview")
    tab.page.click("#overview", position={"x": 3, "y": 3})
    place = int(tab.text("#position").split()[1])
    assert place < 20
    tab.page.click("#later")
    assert int(tab.text("#position").split()[1]) > place
    tab.page.fill("#size", "1001")
    tab.page.click("#random")
    assert tab.text("#problem") == "n is a whole number from 1 to 1000, got 1001."


def test_a_list_is_accepted_or_rejected(page):
    tab = page()
    tab.page.fill("#list", "aabb\naab\naabbb\naacb\n")
    tab.click("#check")
    rows = tab.all("#checked tbody tr", "[...each.cells].map(cell => cell.textContent)")
    assert [row[:3] for row in rows] == [
        ["aabb", "accepted", "in"],
        ["aab", "unfinished", "not in"],
        ["aabbb", "rejected", "not in"],
        ["aacb", "rejected", "not in"],
    ]
    assert rows[2][3] == "symbol 5 is b, expected a"
    tab.click("#checked tbody tr:nth-child(1) button")
    assert tab.page.input_value("#text") == "aabb"


def test_it_goes_on_from_the_current_symbol(page):
    tab = page(text="aaabbb", at=4)
    tab.page.fill("#count", "3")
    tab.page.fill("#temperature", "0")
    tab.click("#generate")
    assert tab.page.input_value("#text") == "aaabbba"
    # The first symbol that is new.
    assert tab.text("#position") == "symbol 5 of 7"


def test_blame_says_what_the_command_says(page):
    tab = page("anb2n", text="aabbb")
    tab.click("#blame")
    sentences = tab.all("#blamed li", "each.firstChild.textContent")
    assert sentences == [each.sentence for each in blame_source("gallery:anb2n", "aabbb")]
    tab.click("#blamed li:nth-child(2) button")
    assert len(tab.all("#orders button")) == 1
    assert "a instead of b" in tab.text("#consequence")


@pytest.mark.parametrize("form", ["transducer", "recognizer"])
def test_inputs_get_answers(page, models, form):
    record = trace(models[1][form], "0110")
    tab = page(form, text="0110")
    said = [each for each in record.predictions if each is not None]
    assert tab.text("#answer").endswith(
        f": {' '.join(said) if form != 'transducer' else ''.join(said)}"
    )
    assert tab.text("#position") == f"symbol {len(record.symbols)} of {len(record.symbols)}"
    assert len(tab.all(".given.mark")) == len(said)
    assert not tab.page.is_visible("#generate-section")
    tab.page.fill("#size", "6")
    tab.click("#random")
    assert "; right is " in tab.text("#answer")
    assert re.match(r"\d of \d answers (is|are) right\.", tab.text("#right"))
    tab.page.fill("#list", "01\n10")
    tab.click("#check")
    assert len(tab.all("#checked tbody tr")) == 2


def test_a_model_without_a_memory_predicts_all_the_same(page):
    tab = page("lstm", text="101")
    assert len(tab.all(".bar")) == 5
    assert tab.all(".memory") == []
    assert not tab.page.is_visible("#blame-section")


def test_odd_input_gets_a_sentence_and_stays_text(page):
    tab = page()
    tab.write("aa😀b")
    assert tab.text("#problem") == (
        "Symbol 3, 😀, is none that the model knows: expected one of a b."
    )
    tab.write("a" * 1_000_000)
    assert tab.text("#problem") == ("The page reads up to 5,000 symbols, got 1,000,000 characters.")
    tab.write("")
    assert tab.text("#position") == "nothing was read yet"
    tab.write("aab")
    assert tab.text("#position") == "symbol 3 of 3"
    assert not tab.text("#problem")
    tab = page("words", text="%3C/script%3E %3Cb%3Ex%3C/b%3E")
    assert tab.all(".given") == HOSTILE[:2]
    assert tab.all("main b, main script") == []
    # What a server refuses is shown without what TensorFlow writes around it.
    tab = page()
    tab.page.fill("#count", "2")
    tab.page.fill("#temperature", "-1")
    tab.click("#generate")
    assert tab.text("#trouble") == "Expected a temperature of 0 or more, got -1."
    tab.errors.clear()
    tab.open("nosuch")
    assert "nosuch" in tab.text("#trouble")
    # The browser itself says that something was not found.
    assert len(tab.errors) == 1
    tab.errors.clear()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 380])
def test_it_is_accessible_and_fits(page, scheme, width):
    size = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme}
    tab = page("anbn-list", size, text="aaabbb", force="list1@2=RIGHT", compare=1, at=4)
    tab.page.wait_for_selector(".panel:nth-child(3)")
    tab.click("#blame")
    tab.click("#check")
    tab.click("#tour")
    found = Axe().run(tab.page).response["violations"]
    assert [(each["id"], each["impact"]) for each in found] == []
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width


def test_ten_stacks_are_one_row(page):
    tab = page("anbn", {"viewport": {"width": 1200, "height": 800}, "reduced_motion": "reduce"})
    tab.page.select_option("#model", "memorize")
    tab.is_done()
    assert tab.text("#shows") == gallery.about("memorize").shows
    rows = tab.all(".memory", "each.getBoundingClientRect().y")
    assert len(rows) == 10
    assert len(set(rows)) == 1
    # Stacks that are shallow take as much height as they need.
    tab.write("1")
    assert tab.page.eval_on_selector(".slots", "e => e.clientHeight") < 100
    assert tab.page.eval_on_selector(".fill", "e => getComputedStyle(e).transitionDuration") == "0s"


def test_a_server_that_goes_away_and_comes_back(running):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    sources = Sources(live={"anbn": gallery.path_of("anbn")})
    tab = Playground(running, port)
    with playing(sources, port):
        tab.open(text="aab")
    tab.page.fill("#text", "aabb")
    tab.page.wait_for_selector("#trouble:has-text('Trying again')")
    assert tab.page.get_attribute("body", "aria-busy") == "true"
    with playing(sources, port):
        tab.is_done()
        assert not tab.page.is_visible("#trouble")
        assert tab.text("#position") == "symbol 4 of 4"
        tab.close()
