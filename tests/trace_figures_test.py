"""Figures of traces and of runs: the same bytes each time, all that is to be seen, clear errors."""

import json
import shutil
import struct

import keras
import matplotlib
import pytest
from test_case import raises_only
from trace_case import COUNTED, counter, random_model

if keras.backend.backend() != "tensorflow":
    pytest.skip("traces are tested on TensorFlow alone", allow_module_level=True)

import tensorflow as tf
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.transforms import Bbox

from keras_stackrnn import StackRNN, trace
from keras_stackrnn.memories import STACK
from keras_stackrnn.trace import figures
from keras_stackrnn.trace.figures.style import ink_on, lines_of
from keras_stackrnn.trace.image_summary import write_png
from keras_stackrnn.trace.looks import looks_of

LONG = "1011+110=10001." * 4


@pytest.fixture(scope="module")
def counted():
    return trace(counter(), COUNTED)


def texts_of(figure):
    return [text for axes in figure.axes for text in axes.texts if text.get_text()]


def words_of(figure):
    return [text.get_text() for text in texts_of(figure)]


def check_nothing_overlaps(figure):
    """No two texts run into each other, and none leaves the page."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    page = Bbox.from_bounds(-1, -1, figure.bbox.width + 2, figure.bbox.height + 2)
    boxes = []
    for text in texts_of(figure):
        box = text.get_window_extent(renderer)
        assert page.x0 <= box.x0 <= box.x1 <= page.x1, text
        assert page.y0 <= box.y0 <= box.y1 <= page.y1, text
        # The box around a slanted word is mostly empty.
        if text.get_rotation() != 60:
            boxes.append((box.padded(-1), text))
    boxes.sort(key=lambda pair: pair[0].x0)
    for place, (box, text) in enumerate(boxes):
        for other, other_text in boxes[place + 1 :]:
            if other.x0 > box.x1:
                break
            assert not box.overlaps(other), (text, other_text)


@pytest.mark.parametrize("kind", figures.KINDS)
@pytest.mark.parametrize("suffix", figures.FORMATS)
def test_the_same_trace_gives_the_same_bytes(kind, suffix, counted, tmp_path):
    for name in ("one", "other"):
        figure = counted.plot(tmp_path / f"{name}.{suffix}", kind)
        assert isinstance(figure, matplotlib.figure.Figure)
    one, other = ((tmp_path / f"{name}.{suffix}").read_bytes() for name in ("one", "other"))
    assert one == other
    assert one.startswith(b"\x89PNG" if suffix == "png" else b"<?xml")
    assert b"Matplotlib" not in one
    assert b"<dc:date>" not in one


def test_an_action_map_says_what_the_trace_does(counted):
    words = words_of(counted.plot())
    assert words[0] == "anbn: 4 symbols, soft actions"
    for word, times in {"a": 5, "b": 3, ".50": 3, "∅": 1, "stack1": 1}.items():
        assert words.count(word) == times, word
    signs = [len(signs.get_offsets()) for signs in counted.plot().axes[0].collections]
    assert signs == [2, 2]


def test_what_is_deterministic_is_bold(counted):
    bold = [text.get_text() for text in texts_of(counted.plot()) if text.get_weight() == "bold"]
    assert bold == ["anbn: 4 symbols, soft actions", "b", "b", "a"]


def test_actions_keep_apart_in_grey_print():
    shades = [matplotlib.colors.to_rgb(look.color) for look in looks_of(STACK).values()]
    greys = [0.299 * red + 0.587 * green + 0.114 * blue for red, green, blue in shades]
    assert min(abs(greys[i] - greys[j]) for i in range(3) for j in range(i)) > 0.15
    assert [ink_on(shade) for shade in shades] == ["white", "0.1", "0.1"]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (COUNTED, {"vocabulary": "ab", "rounding": True}),
        (LONG, {"memories": 20, "no_op": True, "rounding": True}),
        (LONG[:30], {"kind": "list", "memories": 3, "no_op": True}),
        (
            "the cat $sat$ extraordinarily on the <unk>",
            {"vocabulary": ["the", "cat", "$sat$", "on", "extraordinarily", "<unk>"]},
        ),
    ],
    ids=["short", "long", "list", "words"],
)
def test_nothing_overlaps(text, options):
    record = trace(random_model(**options), text)
    for kind in figures.KINDS:
        memory = record.memories[-1].name if kind == "memory" else None
        figure = record.plot(kind=kind, memory=memory)
        check_nothing_overlaps(figure)
        assert figure.get_figwidth() <= 9.01


def test_long_texts_are_broken_into_even_lines():
    record = trace(random_model(rounding=True), LONG)
    assert [len(line) for line in lines_of(record)] == [30, 30]
    assert words_of(record.plot()).count("reads") == 2


def test_idle_memories_are_words_unless_told_otherwise():
    record = trace(counter(), "aaa")
    assert "stack1" in words_of(record.plot())  # all are idle: then they are drawn
    record = trace(random_model(memories=20, rounding=True, no_op=True), LONG)
    drawn = words_of(record.plot())
    idle = [memory.name for memory in record.memories if memory.name not in drawn]
    assert idle
    everything = words_of(figures.action_map(record, fold=False))
    assert all(name in everything for name in idle)


def test_a_memory_map_shows_the_elements_that_are_there(counted):
    figure = counted.plot(kind="memory")
    assert words_of(figure).count(".50") == 4
    assert figure.axes[0].texts[0].get_text() == "stack1 of anbn: 4 symbols, soft actions"


def test_a_memory_map_of_a_long_text_is_an_image_above_which_runs_are_named():
    record = trace(counter(rounding=True), "a" * 100 + "b" * 100)
    [axes] = record.plot(kind="memory").axes
    [image] = axes.images
    pixels = image.get_array()
    assert pixels.shape == (100, 200, 3)
    is_empty = (pixels == 1).all(axis=2)
    assert (~is_empty).sum(axis=0).tolist() == [*range(1, 101), *range(99, -1, -1)]
    words = words_of(axes.figure)
    assert "a \N{MULTIPLICATION SIGN} 100" in words
    assert "b \N{MULTIPLICATION SIGN} 100" in words
    assert "a" not in words


def test_a_probability_map_frames_what_came(counted):
    frames = [
        patch
        for patch in counted.plot(kind="probabilities").axes[0].patches
        if patch.get_facecolor()[3] == 0
    ]
    assert len(frames) == 4 + 2  # one for each symbol, and two in the legend
    assert sorted(frame.get_linewidth() for frame in frames) == [0.8] * 3 + [1.8] * 3


def test_of_a_large_vocabulary_what_matters_is_drawn():
    vocabulary = [f"w{i}" for i in range(40)]
    record = trace(random_model(vocabulary=vocabulary), "w3 w7 w39")
    words = words_of(record.plot(kind="probabilities"))
    assert {"w7", "w39"} <= set(words)
    assert sum(word in vocabulary for word in words) == 12 + 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x.pdf",), "Cannot draw 'x.pdf': expected a file that ends in .png or .svg."),
        (("x",), "Cannot draw 'x': expected a file that ends in .png or .svg."),
        (
            (None, "action"),
            "There is no figure 'action': expected one of actions, memory, probabilities.",
        ),
        ((None, "memory", "list1"), "There is no memory 'list1': expected one of stack1."),
        (
            (None, "actions", "stack1"),
            "Only the figure 'memory' shows one memory, got 'actions' of 'stack1'.",
        ),
    ],
)
def test_bad_figures(arguments, message, counted):
    with raises_only(message):
        counted.plot(*arguments)


def test_one_of_several_memories_has_to_be_named():
    record = trace(random_model(memories=2), "1")
    with pytest.raises(
        ValueError, match=r"^Which memory\? Expected one of stack1, stack2, got None"
    ):
        record.plot(kind="memory")


def test_no_predictions_no_probability_map():
    model = keras.Sequential([keras.Input((None, 2)), StackRNN(4, return_sequences=True)])
    record = trace(model, "ab", vocabulary="ab")
    with pytest.raises(ValueError, match=r"^The model predicts no symbol of this vocabulary"):
        record.plot(kind="probabilities")


class TestRuns:
    @pytest.fixture
    def runs(self, tmp_path):
        """Two runs: one rounds and was right throughout, one did not learn it."""
        folders = []
        for name, share, rounded in (("stack", 1.0, True), ("lstm", 0.5, False)):
            per_n = {"per_n": {str(n): share if n > 19 else 1.0 for n in range(1, 61)}}
            evaluation = {
                "task": "anbn",
                "model": name,
                "soft": per_n,
                "rounded": per_n if rounded else None,
                "restarts": [{"outcome": outcome} for outcome in ("solved", "solved", "alive")],
            }
            folder = tmp_path / name
            folder.mkdir()
            (folder / "evaluation.json").write_text(json.dumps(evaluation))
            (folder / "config.json").write_text(
                json.dumps({"config": {"task": "anbn", "max_n": 19}})
            )
            folders.append(folder)
        return folders

    def lines(self, figure):
        [axes] = figure.axes
        return {line.get_label(): list(line.get_ydata()) for line in axes.lines}

    def test_accuracies_of_several_runs(self, runs):
        figure = figures.accuracy_of_runs(runs)
        lines = self.lines(figure)
        assert list(lines) == ["stack, rounded", "lstm, soft"]
        assert lines["stack, rounded"] == [1.0] * 60
        assert lines["lstm, soft"] == [1.0] * 19 + [0.5] * 41
        legend = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
        assert legend[0] == "trained on"

    def test_one_run_soft_and_rounded(self, runs):
        figure = figures.accuracy_of_runs(runs[:1])
        assert list(self.lines(figure)) == ["soft", "rounded"]
        assert figure.axes[0].get_title(loc="left") == "anbn, stack"

    def test_the_score_is_that_of_the_runs(self, runs):
        for folder, score in zip(runs, ("symbols", "sequences"), strict=True):
            evaluation = json.loads((folder / "evaluation.json").read_text())
            (folder / "evaluation.json").write_text(json.dumps({**evaluation, "score": score}))
        [axes] = figures.accuracy_of_runs(runs[:1]).axes
        assert axes.get_ylabel() == "symbols right"
        with pytest.raises(
            ValueError, match=r"^The runs have different scores, sequences and symb"
        ):
            figures.accuracy_of_runs(runs)

    def test_sizes_that_are_not_shown_are_not_in_the_legend(self):
        figure = figures.accuracy_by_n({"soft": {41: 1.0, 500: 0.9}}, training_range=(1, 40))
        [text] = figure.axes[0].get_legend().get_texts()
        assert text.get_text() == "soft"

    def test_every_restart_is_drawn_however_it_ended(self, runs):
        outcomes = [
            "solved",
            "failed the exam",
            "not solved",
            "taken over",
            "hopeless",
            "diverged",
            "alive",
        ]
        evaluation = json.loads((runs[0] / "evaluation.json").read_text())
        evaluation["restarts"] = [{"outcome": outcome} for outcome in outcomes]
        (runs[0] / "evaluation.json").write_text(json.dumps(evaluation))
        long_name = runs[0].rename(runs[0].with_name("binary_addition-stack-1"))
        figure = figures.success_of_restarts([long_name])
        [axes] = figure.axes
        assert [bar.get_width() for bar in axes.patches] == pytest.approx(
            [1 / len(outcomes)] * len(outcomes)
        )
        # All of the legend is on the picture.
        figure.draw_without_rendering()
        [legend] = figure.legends
        assert [text.get_text() for text in legend.get_texts()][-1].startswith("unfinished")
        inside, whole = legend.get_window_extent(), figure.bbox
        assert whole.x0 <= inside.x0 < inside.x1 <= whole.x1

    def test_runs_of_one_name_are_told_apart_by_their_paths(self, runs, tmp_path):
        other = tmp_path / "other" / "stack"
        shutil.copytree(runs[0], other)
        figure = figures.success_of_restarts([runs[0], other])
        labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
        assert labels == [str(runs[0]), str(other)]

    def test_the_way_may_be_said(self, runs):
        assert list(self.lines(figures.accuracy_of_runs(runs, ["soft"]))) == [
            "stack, soft",
            "lstm, soft",
        ]
        with pytest.raises(ValueError, match=r"^There is no accuracy, rounded, in any of the runs"):
            figures.accuracy_of_runs(runs[1:], ["rounded"])

    def test_without_its_configuration_nothing_is_shaded(self, runs):
        (runs[0] / "config.json").unlink()
        figure = figures.accuracy_of_runs(runs[:1])
        legend = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
        assert legend == ["soft", "rounded"]

    def test_success_of_restarts(self, runs):
        figure = figures.success_of_restarts(runs)
        words = words_of(figure)
        assert words.count("2 of 3 solved") == 2
        assert words.count("2") == words.count("1") == 2
        [axes] = figure.axes
        assert [label.get_text() for label in axes.get_yticklabels()] == ["stack", "lstm"]
        assert [text.get_text() for text in figure.legends[0].get_texts()] == [
            "solved",
            "unfinished when the search ended",
        ]

    @pytest.mark.parametrize("suffix", figures.FORMATS)
    def test_the_same_runs_give_the_same_bytes(self, suffix, runs, tmp_path):
        for draw in (figures.accuracy_of_runs, figures.success_of_restarts):
            for name in ("one", "other"):
                figures.save(draw(runs), tmp_path / f"{name}.{suffix}")
            one, other = ((tmp_path / f"{n}.{suffix}").read_bytes() for n in ("one", "other"))
            assert one == other

    def test_bad_runs(self, runs, tmp_path):
        with pytest.raises(ValueError, match=r"^There is no finished run in '.*': expected "):
            figures.accuracy_of_runs([tmp_path])
        for text in ("{", "{}", '{"soft": {"per_n": {}}, "rounded": null, "restarts": []}'):
            (runs[0] / "evaluation.json").write_text(text)
            with pytest.raises(
                ValueError, match=r"evaluation\.json is not the evaluation of a run"
            ):
                figures.success_of_restarts(runs)


def test_a_figure_goes_into_tensorboards_events(counted, tmp_path):
    figure = counted.plot()
    with tf.summary.create_file_writer(str(tmp_path)).as_default(step=7):
        write_png("actions", figures.to_png(figure))
    [path] = tmp_path.iterdir()
    records = list(tf.data.TFRecordDataset(str(path)).as_numpy_iterator())
    event = tf.compat.v1.Event.FromString(records[-1])
    [value] = event.summary.value
    width, height, png = tf.make_ndarray(value.tensor)
    assert event.step == 7
    assert value.tag == "actions"
    assert value.metadata.plugin_data.plugin_name == "images"
    assert png == figures.to_png(figure)
    assert struct.unpack(">II", png[16:24]) == (int(width), int(height))
