"""Tests that every block of code in README.md and docs/ runs, and that what they show is so.

Python runs as it stands, page by page. Of commands, those on the gallery run and print what is
shown; all others are checked word by word: flags, configurations, files, targets of make.
"""

import functools
import importlib
import re
import shlex
from pathlib import Path

import grpc
import keras
import numpy as np
import pytest
import tensorflow_datasets as tfds

if keras.backend.backend() != "tensorflow":
    pytest.skip("the examples train with XLA on TensorFlow", allow_module_level=True)

from absl import flags
from serving_fixtures import RunningServer
from test_case import run_command

from keras_stackrnn import StackCell, StackRNN, cli, command_line, gallery
from keras_stackrnn.export import export
from keras_stackrnn.serving import config as serving_config
from keras_stackrnn.training import command as training_command

REPOSITORY = Path(__file__).resolve().parents[1]
# These have tests of their own, in which their blocks run.
ELSEWHERE = {"suites.md": "suites_docs_test.py", "your_own_problem.md": "own_problem_docs_test.py"}
PAGES = [
    REPOSITORY / "README.md",
    REPOSITORY / "CONTRIBUTING.md",
    REPOSITORY / "serving/README.md",
    *(page for page in sorted((REPOSITORY / "docs").glob("*.md")) if page.name not in ELSEWHERE),
]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# What runs, and fast enough: a model of the gallery or a task, looked at.
RUN = ("trace", "extract", "evaluate")
# Programs of others, for which nothing stands in.
FOREIGN = {
    "curl",
    "docker",
    "kubectl",
    "pip",
    "git",
    "ray",
    "twine",
    "sphinx-build",
    "systemd-run",
    ".ci/run",
}
PROGRAMS = ("keras-stackrnn", "python", "make", *FOREIGN)
MODULES = {command.module.removesuffix(".__main__"): name for name, command in cli.COMMANDS.items()}


def blocks(page, *languages):
    text = page.read_text(encoding="utf-8")
    return [block for language, block in BLOCK.findall(text) if language in languages]


def name_of(page):
    return str(page.relative_to(REPOSITORY))


def commands():
    """The commands of all pages, each once, with what is shown behind them."""
    found = {}
    for page in PAGES:
        for block in blocks(page, "", "sh", "shell", "bash", "console"):
            if block.startswith("$ "):
                first, shown = block[2:].split("\n", 1)
                found[first] = shown.strip()
                continue
            for line in joined(block):
                words = re.sub(r"\s#\s.*", "", line).strip().removesuffix("&").strip()
                if re.match(rf"({'|'.join(map(re.escape, PROGRAMS))})\b|[A-Z]+=", words):
                    found.setdefault(words, None)
    return found


def joined(block):
    """The commands of a block: lines that end within quotes or with a backslash go on."""
    line = ""
    for each in block.splitlines():
        line += each.removesuffix("\\")
        if not each.endswith("\\") and line.count("'") % 2 == 0:
            yield line
            line = ""


COMMANDS = commands()


def taken_apart(line):
    """A command as its name and arguments, where it is one of this package's."""
    inner = re.search(r"\$\((.*)\)", line)
    words = shlex.split(inner[1] if inner else line)
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        words = words[1:]
    match words:
        case ["keras-stackrnn", name, *arguments] if name in cli.COMMANDS:
            return name, arguments
        case ["python", "train.py", *arguments]:
            return "train", arguments
        case ["python", "-m", module, *arguments] if module in MODULES:
            return MODULES[module], arguments
    return None, words


def module_of(name):
    return importlib.import_module(cli.COMMANDS[name].module)


RUNNABLE = [
    line
    for line in COMMANDS
    if taken_apart(line)[0] in RUN and any("gallery:" in word for word in taken_apart(line)[1])
]


@pytest.mark.parametrize("line", RUNNABLE)
def test_commands_on_the_gallery_print_what_is_shown(line, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    name, arguments = taken_apart(line)

    run_command(module_of(name), *arguments)

    printed = capsys.readouterr().out.strip()
    assert COMMANDS[line] is None or printed == COMMANDS[line]
    outputs = [word.partition("=")[2] for word in arguments if word.startswith("--output=")]
    assert printed or all((tmp_path / output).stat().st_size > 0 for output in outputs)


@pytest.mark.parametrize("line", [line for line in COMMANDS if line not in RUNNABLE])
def test_commands_have_flags_files_and_targets_that_there_are(line):
    name, words = taken_apart(line)
    if name is not None:
        values = flags.FlagValues()
        module = module_of(name)
        module.define_flags(values)
        command_line.parse([name, *(word for word in words if word != "--help")], values)
        if name == "train" and not values.resume:
            training_command.config_from_flags(values)
        return
    match words:
        case ["keras-stackrnn", *rest]:
            assert not rest or rest[0] in ("--version", "completion"), line
        case ["python", script, *_]:
            assert (REPOSITORY / script).is_file(), line
        case ["make", target]:
            assert f"\n{target}:" in (REPOSITORY / "Makefile").read_text(), line
        case [program, *_]:
            assert program in FOREIGN or (REPOSITORY / program).is_file(), line


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server that has learned a^n b^n."""
    root = tmp_path_factory.mktemp("models") / "anbn"
    export(gallery.load("anbn"), root)
    with RunningServer(serving_config.single_model("anbn", root)) as running:
        yield running


def check_readme(names):
    losses = names["model"].history.history["loss"]
    assert losses[-1] < losses[0] / 2


def check_own_model(names):
    check_readme(names)
    losses = names["counter"].history.history["loss"]
    assert losses[-1] < losses[0] / 2


def check_cells(names):
    np.testing.assert_array_equal(names["tops"].shape, (32, 2))


def check_serving(names):
    assert names["probabilities"].shape == (1, 2)


CHECKS = {
    "README.md": check_readme,
    "docs/your_own_model.md": check_own_model,
    "docs/cells.md": check_cells,
    "serving/README.md": check_serving,
}
WITH_PYTHON = [page for page in PAGES if blocks(page, "python")]


@pytest.mark.usefixtures("one_block_of_steps")
@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
def test_python_runs_as_it_stands(page, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    Path("results").symlink_to(REPOSITORY / "results")
    monkeypatch.setattr(tfds.core.constants, "DATA_DIR", str(tmp_path))
    if ":8500" in "".join(blocks(page, "python")):
        lead_to(request.getfixturevalue("served").address, monkeypatch)
    names = {}
    for block in blocks(page, "python"):
        exec(compile(block, name_of(page), "exec"), names)
    if name_of(page) in CHECKS:
        CHECKS[name_of(page)](names)


def lead_to(address, monkeypatch):
    """Leads whoever asks for the usual port to the one that the test's server has."""
    usual = grpc.insecure_channel

    @functools.wraps(usual)
    def channel(target, *rest, **options):
        return usual(address if target == "127.0.0.1:8500" else target, *rest, **options)

    monkeypatch.setattr(grpc, "insecure_channel", channel)


def test_readme_is_read_to_the_end():
    assert len((REPOSITORY / "README.md").read_text(encoding="utf-8").splitlines()) <= 120
    first = blocks(REPOSITORY / "README.md", "python")[0]
    assert len([line for line in first.splitlines() if line.strip()]) <= 9


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text):
        assert re.match(r"https?://", target) or (page.parent / target).exists(), target


def run(inputs, *built_for, **options):
    rnn = keras.layers.RNN(StackCell(40))
    for earlier in built_for:
        rnn(earlier)
    rnn(inputs, **options)


SEQUENCES = np.zeros((32, 50, 8), "float32")
STATES = [np.zeros((32, 40), "float32"), np.zeros((32, 63), "float32")]
ERRORS = {
    "`StackCell(40, num_stacks=0)`": lambda: StackCell(40, num_stacks=0),
    "`StackCell(40, capacity=3, read_depth=4)`": lambda: StackCell(40, capacity=3, read_depth=4),
    "token ids of shape `(32, 50)`": lambda: run(np.zeros((32, 50), "int32")),
    "integers of shape `(32, 50, 8)`": lambda: run(SEQUENCES.astype("int32")),
    "9 features after 8": lambda: run(np.zeros((32, 50, 9), "float32"), SEQUENCES),
    "sequences of no steps, to the layer `StackRNN(40)`": lambda: StackRNN(40)(SEQUENCES[:, :0]),
    "a state of another size": lambda: run(SEQUENCES, initial_state=STATES),
}


def test_the_errors_are_the_real_ones():
    page = (REPOSITORY / "docs/cells.md").read_text(encoding="utf-8")
    table = page.split("| given | answer |\n| --- | --- |\n")[1].split("\n\n")[0]
    answers = dict(line.strip("| ").split(" | ") for line in table.splitlines())

    assert answers.keys() == ERRORS.keys()
    for given, cause in ERRORS.items():
        with pytest.raises(ValueError, match=re.escape(answers[given])):
            cause()
