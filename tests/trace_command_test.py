"""`python -m keras_stackrnn.trace`: runs, files, SavedModels, servers, and what can go wrong."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
from absl import flags
from test_case import raises_only
from trace_case import COUNTED, counter, one_hot_model, random_model

if keras.backend.backend() != "tensorflow":
    pytest.skip("traces are tested on TensorFlow alone", allow_module_level=True)

import serving_fixtures
import tensorflow as tf

from keras_stackrnn import StackRNN, command_line, trace
from keras_stackrnn.export import export
from keras_stackrnn.export.next_symbol import NextSymbolSignatures
from keras_stackrnn.export.reader import Reader
from keras_stackrnn.export.symbols import Symbols
from keras_stackrnn.models import NextSymbolModel
from keras_stackrnn.serving import config
from keras_stackrnn.trace import __main__ as command
from keras_stackrnn.trace.exported import record_of, trace_server
from keras_stackrnn.trace.force import parse
from keras_stackrnn.trace.sources import trace_source

REPOSITORY = Path(__file__).resolve().parents[1]
TEXT = "101+1=011."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run's folder, and models of all kinds beside it."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "run").mkdir()
    counter().save(folder / "run/model.keras")
    lstm = NextSymbolModel("lstm", "ab", units=3, name="lstm")
    lstm.save(folder / "lstm.keras")
    one_hot_model(StackRNN(4, return_sequences=True)).save(folder / "plain.keras")
    (folder / "damaged.keras").write_text("nothing")
    (folder / "empty").mkdir()
    export(counter(rounding=True), folder / "counter")
    export(lstm, folder / "lstm")
    return folder


@pytest.fixture(scope="module")
def server(folder):
    models = config.single_model("counter", folder / "counter")
    model = models.model_config_list.config.add()
    model.name, model.base_path, model.model_platform = "lstm", str(folder / "lstm"), "tensorflow"
    with serving_fixtures.RunningServer(models) as running:
        yield running


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """Runs the command in the folder and returns what it printed."""
    monkeypatch.chdir(folder)

    def run(*arguments):
        values = flags.FlagValues()
        command.define_flags(values)
        command.main(command_line.parse(["trace", *arguments], values), values)
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize("model", ["run", "run/model.keras"])
def test_it_prints_the_table(model, run):
    assert run(f"--model={model}", "--text=aabb") == trace(counter(), "aabb").to_text()


@pytest.mark.parametrize("model", ["counter", "counter/1"])
def test_a_saved_model(model, run):
    assert (
        run(f"--model={model}", "--text=aabb") == trace(counter(), "aabb", rounding=True).to_text()
    )


def test_a_server(server, run):
    printed = run(f"--model={server.address}/counter", "--text=aabb", "--task=anbn")
    expected = trace(counter(), "aabb", rounding=True).to_text()
    assert printed == expected.replace("anbn: 4 symbols", "counter: 4 symbols")


@pytest.mark.parametrize(
    "options",
    [
        {"memories": 3, "rounding": True, "layers": 2, "no_op": True},
        {"kind": "list", "memories": 2, "use_bias": True, "embedding_size": 3},
        {"memories": 2, "vocabulary": ["one", "plus", "<unk>"]},
    ],
    ids=["rounded", "list", "words"],
)
def test_what_is_exported_does_what_the_model_does(options):
    model = random_model(**options)
    text = "one plus two one" if "vocabulary" in options else TEXT
    ours = trace(model, text, depth=3)
    signatures = NextSymbolSignatures(Reader(model), Symbols(model.vocabulary))
    outputs = signatures.trace(tf.constant([text]))
    outputs = {name: output.numpy() for name, output in outputs.items()}
    theirs = record_of(outputs, "exported", depth=3)
    assert theirs.symbols == ours.symbols
    assert theirs.vocabulary == ours.vocabulary
    assert theirs.rounded == ours.rounded
    np.testing.assert_allclose(theirs.probabilities, ours.probabilities, atol=1e-5)
    for one, other in zip(theirs.memories, ours.memories, strict=True):
        assert (one.name, one.kind, one.actions) == (other.name, other.kind, other.actions)
        for name in ("weights", "values", "tops", "contents"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-5)


def test_of_a_server_as_many_elements_as_wanted(server):
    record = trace_server(server.address, "counter", "aab")
    assert record.memories[0].tops.tolist() == [[0.5], [0.5], [0.5]]
    assert record.deterministic is None
    record = trace_server(server.address, "counter", "aab", depth=3)
    assert record.memories[0].tops.tolist() == [[0.5, -1, -1], [0.5, 0.5, -1], [0.5, -1, -1]]


@pytest.mark.parametrize(
    ("name", "start"), [("x.png", b"\x89PNG"), ("x.svg", b"<?xml"), ("x.html", b"<!doctype html>")]
)
def test_it_writes_files(name, start, run, tmp_path):
    path = tmp_path / name
    assert run("--model=run", "--text=aabb", f"--output={path}") == ""
    assert path.read_bytes().startswith(start)


def test_it_writes_csv(run, tmp_path):
    run("--model=run", "--text=aabb", f"--output={tmp_path / 'x.CSV'}", "--depth=3")
    assert (tmp_path / "x.CSV").read_text() == trace(counter(), "aabb", depth=3).to_csv()


@pytest.mark.parametrize(
    ("figure", "more"), [("memory", ["--memory=stack1"]), ("probabilities", [])]
)
def test_it_draws_any_figure(figure, more, run, tmp_path):
    run("--model=run", "--text=aabb", f"--figure={figure}", *more, f"--output={tmp_path / 'x.png'}")
    trace(counter(), "aabb").plot(tmp_path / "y.png", figure)
    assert (tmp_path / "x.png").read_bytes() == (tmp_path / "y.png").read_bytes()


def test_it_draws_runs(run, tmp_path):
    evaluation = {
        "task": "anbn",
        "model": "stack",
        "soft": {"per_n": {"1": 1.0, "2": 0.5}},
        "rounded": None,
        "restarts": [{"outcome": "solved"}],
    }
    (tmp_path / "evaluation.json").write_text(json.dumps(evaluation))
    for figure in ("accuracy", "restarts"):
        path = tmp_path / f"{figure}.svg"
        run(f"--runs={tmp_path},{tmp_path}", f"--figure={figure}", f"--output={path}")
        assert path.read_bytes().startswith(b"<?xml")


def test_options_reach_the_trace(run):
    printed = run("--model=run", "--text=aabb", "--rounding", "--force=stack1@2-3=PUSH")
    forced = {"stack1": {2: "PUSH", 3: "PUSH"}}
    assert printed == trace(counter(), "aabb", rounding=True, force=forced).to_text()
    printed = run("--model=plain.keras", "--text=aabb", "--vocabulary=abc", "--task=anbn")
    assert "[b]" in printed
    printed = run("--model=plain.keras", "--text=x yy x", "--vocabulary=x yy zzz")
    assert "yy" in printed


@pytest.mark.parametrize(
    ("orders", "force"),
    [
        ([], {}),
        (["stack2=POP"], {"stack2": "POP"}),
        (["list1@3=NO-OP", "list1@5-6=LEFT"], {"list1": {3: "NO-OP", 5: "LEFT", 6: "LEFT"}}),
    ],
)
def test_orders(orders, force):
    assert parse(orders) == force


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("environment", "colors"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
        ({}, False),
    ],
)
def test_a_terminal_gets_its_width_and_colours(environment, colors, run, monkeypatch):
    for name in ("TERM", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {**environment, "COLUMNS": "50"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", Terminal())
    run("--model=run", "--text=aabb")
    assert sys.stdout.getvalue() == trace(counter(), "aabb").to_text(50, colors)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--model is missing: --help shows examples."),
        (["--model=run"], "--text is missing: --help shows examples."),
        (
            ["--model=run", "--text="],
            "There is nothing to trace: expected a text with symbols, got ''.",
        ),
        (
            ["--model=counter", "--text="],
            "There is nothing to trace: expected a text with symbols, got none.",
        ),
        (
            ["--model=run", "--text=abc"],
            "Unknown symbol in the text: expected one of a b, got 'c'.",
        ),
        (["--model=counter", "--text=abc"], "Unknown symbol: expected one of a b, got c."),
        (
            ["--model=lstm.keras", "--text=ab"],
            "Model 'lstm' has no memory to trace: expected a StackCell, a StackRNN or the like "
            "in it.",
        ),
        (["--model=lstm", "--text=ab"], "The SavedModel in 'lstm/1' has no memory to trace."),
        (["--model=damaged.keras", "--text=ab"], "Cannot load 'damaged.keras': "),
        (
            ["--model=empty", "--text=ab"],
            "There is no model in 'empty': expected model.keras, or a SavedModel or versions of "
            "it.",
        ),
        (
            ["--model=none", "--text=ab"],
            "There is no model 'none': expected the folder of a run, a .keras file, gallery:NAME, "
            "the folder of a SavedModel, or host:port/model.",
        ),
        (["--model=127.0.0.1:1/m", "--text=ab"], "No server answers at 127.0.0.1:1."),
        (
            ["--model=run", "--text=ab", "--output=x.pdf"],
            "Cannot write 'x.pdf': expected a file that ends in .png, .svg, .html or .csv.",
        ),
        (
            ["--model=run", "--text=ab", "--output=none/x.png"],
            "Cannot write none/x.png: No such file or directory.",
        ),
        (
            ["--model=run", "--text=ab", "--output=none/x.html"],
            "Cannot write none/x.html: No such file or directory.",
        ),
        (
            ["--model=run", "--text=ab", "--figure=maps", "--output=x.png"],
            "There is no figure 'maps': expected one of actions, memory, probabilities, accuracy, "
            "restarts.",
        ),
        (
            ["--model=run", "--text=ab", "--figure=memory"],
            "--figure wants a .png or .svg as --output, got None.",
        ),
        (
            ["--model=run", "--text=ab", "--memory=stack1"],
            "--memory=stack1 goes with --figure=memory.",
        ),
        (
            ["--model=run", "--text=ab", "--task=anbm"],
            "There is no task 'anbm' (did you mean 'anbn'?); there are ",
        ),
        (
            ["--model=run", "--text=ab", "--force=stack1:POP"],
            "An action is forced as in stack2=POP, stack2@6=POP or stack2@6-9=POP, got "
            "'stack1:POP'.",
        ),
        (
            ["--model=run", "--text=ab", "--force=stack1@3-2=POP"],
            "Cannot force what 'stack1@3-2=POP' says: the places are taken or empty.",
        ),
        (
            ["--model=counter", "--text=ab", "--norounding"],
            "What is exported stays as it is: leave out rounding, or trace the model in Keras' own "
            "file instead of 'counter'.",
        ),
        (
            ["--model=plain.keras", "--text=ab"],
            "Model 'sequential",
        ),
        (
            ["--figure=accuracy", "--output=x.png"],
            "--figure=accuracy wants --runs, folders with commas between.",
        ),
        (
            ["--runs=run", "--figure=actions", "--output=x.png"],
            "--runs wants --figure=accuracy or restarts and a .png or .svg as --output, got "
            "'actions' and 'x.png'.",
        ),
        (
            ["--runs=run", "--figure=restarts", "--output=x.png"],
            "There is no finished run in 'run': expected evaluation.json in it.",
        ),
        (["--model=run", "--text=ab", "ab"], "Everything is a flag, got 'ab'."),
        (["--modle=run"], "Unknown command line flag 'modle'. Did you mean: model ?"),
    ],
)
def test_faults_are_one_sentence(arguments, message, run):
    with pytest.raises(SystemExit) as raised:
        run(*arguments)
    assert raised.value.code.startswith(message)
    assert "\n" not in raised.value.code
    assert not Path("x.png").exists()


@pytest.mark.parametrize(
    ("model", "text", "message"),
    [
        ("none", "ab", "ADDRESS says NOT_FOUND: Servable not found for request: Latest(none)"),
        ("lstm", "ab", "Model 'lstm' at ADDRESS has no memory to trace."),
        (
            "counter",
            "abc",
            "ADDRESS says INVALID_ARGUMENT: Unknown symbol: expected one of a b, got c.",
        ),
    ],
)
def test_faults_of_a_server(model, text, message, server):
    with raises_only(message.replace("ADDRESS", server.address)):
        trace_source(f"{server.address}/{model}", text)


def test_an_export_of_before_is_told(server, monkeypatch):
    from keras_stackrnn.serving.client import Client

    call = Client.call

    def without_values(self, *arguments):
        outputs = call(self, *arguments)
        del outputs["values"]
        return outputs

    monkeypatch.setattr(Client, "call", without_values)
    with raises_only(
        "'counter' was exported by another version, without values in its traces: export it again."
    ):
        trace_server(server.address, "counter", "ab")


def run_command(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "keras_stackrnn.trace", *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


def test_as_a_command(folder):
    done = run_command(f"--model={folder / 'run'}", f"--text={COUNTED}", COLUMNS="40")
    assert done.returncode == 0, done.stderr
    assert done.stdout == trace(counter(), COUNTED).to_text(40)


def test_a_fault_of_the_command_is_not_zero(folder):
    done = run_command(f"--model={folder / 'run'}", "--text=abc")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1] == (
        "Unknown symbol in the text: expected one of a b, got 'c'."
    )


def test_the_docstrings_flags_are_the_commands():
    values = flags.FlagValues()
    command.define_flags(values)
    for line in command.__doc__.splitlines():
        for word in line.split():
            if word.startswith("--"):
                assert word.removeprefix("--").partition("=")[0] in values
