"""Tests that the page about your own problem runs by copy and paste, at a tiny size."""

import importlib
import json
import re
import shlex
import urllib.request

import keras
import pytest
from absl import flags

if keras.backend.backend() != "tensorflow":
    pytest.skip("the page trains on TensorFlow", allow_module_level=True)

import serving_fixtures as fixtures
from training_case import REPOSITORY

from keras_stackrnn.serving import config
from keras_stackrnn.tasks import registry
from keras_stackrnn.training import command as train

PAGE = (REPOSITORY / "docs" / "your_own_problem.md").read_text(encoding="utf-8")
TINY = [
    *("--units=4", "--memories=1", "--restarts=2", "--lanes=2", "--validation_sequences=2"),
    *("--updates=8", "--lifetime=8", "--updates_a_round=4", "--episode=4"),
]

pytestmark = pytest.mark.usefixtures("one_block_of_steps")


class Shell:
    """Runs the page's commands in this process, which has imported everything already."""

    def __init__(self, monkeypatch, capsys):
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        self._server = None

    def run(self, block) -> dict[str, str]:
        """What each command printed."""
        printed = {}
        scripts = re.compile(r"python - <<'END'\n(.*?)\nEND\n", re.DOTALL)
        for script in scripts.findall(block):
            exec(script, {})
        for line in scripts.sub("", block).splitlines():
            printed[line] = self._line(*shlex.split(line))
        return printed

    def _line(self, program, *words):
        if program == "curl":
            _, body, address = words
            path = address.partition("/")[2]
            url = f"{self._server.rest_url}/{path}"
            with urllib.request.urlopen(url, body.encode()) as response:
                return response.read().decode()
        if words[0] == "train.py":
            return self._command(train, *words[1:], *TINY)
        _, name, *words = words
        if name.endswith("serving.server"):
            options = dict(word.removeprefix("--").split("=") for word in words[:-1])
            models = config.single_model(options["model_name"], options["model_base_path"])
            self._server = fixtures.RunningServer(models).__enter__()
            return ""
        if name.endswith("serving.client"):
            words = [f"--server={self._server.address}", *words]
        module = importlib.import_module(name)
        if not hasattr(module, "define_flags"):
            module = importlib.import_module(f"{name}.__main__")
        return self._command(module, *words)

    def _command(self, module, *words):
        values = flags.FlagValues()
        module.define_flags(values)
        arguments = values(["command", *words])
        self._monkeypatch.setattr(flags, "FLAGS", values)
        if "values" in module.main.__annotations__:
            module.main(arguments, values)
        else:
            module.main(arguments)
        return self._capsys.readouterr().out

    def close(self):
        if self._server is not None:
            self._server.__exit__(None, None, None)


def blocks_of(heading: str) -> list[str]:
    """The commands of a section."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^```sh\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)


@pytest.fixture
def shell(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "_tasks", dict(registry._tasks))
    shell = Shell(monkeypatch, capsys)
    yield shell
    shell.close()


def said(printed: dict[str, str], words: str) -> str:
    """What the first command with these words printed."""
    return next(text for line, text in printed.items() if words in line)


def check_run(folder, task):
    assert (folder / "serving" / task / "1" / "saved_model.pb").exists()
    evaluation = json.loads((folder / "evaluation.json").read_text())
    assert len(evaluation["rounded"]["per_n"]) > 1


def test_from_labelled_strings_to_a_served_classifier(shell, tmp_path):
    printed = {}
    for block in blocks_of("Labelled strings, to a served classifier"):
        printed |= shell.run(block)
    trained = said(printed, "train.py")
    assert "is held out for the validation and one for the test, as there are no files" in trained
    assert "Sequences all right" in trained
    check_run(tmp_path / "runs/recognition", "recognition")
    assert "Answer: " in said(printed, "keras_stackrnn.trace")
    asked = said(printed, "serving.client")
    assert asked.startswith("(()())\n")
    assert asked.count("%") == 4
    predictions = json.loads(said(printed, "brackets:predict"))["predictions"]
    assert {row["label"] for row in predictions} <= {"yes", "no"}
    (labels,) = json.loads(said(printed, "brackets:classify"))["results"]
    assert [label for label, _ in labels] == ["no", "yes"]


@pytest.mark.slow
def test_strings_pairs_and_rules(shell, tmp_path):
    (program,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    (tmp_path / "my_tasks.py").write_text(program)
    printed = {}
    headings = ("500 strings, to a traced model", "Inputs and their answers", "A rule of your own")
    for heading in headings:
        for block in blocks_of(heading):
            printed |= shell.run(block)
    for task, score in (
        ("strings", "Probability of a symbol"),
        ("transduction", "Sequences all right"),
        ("even_a", "Sequences all right"),
    ):
        assert score in said(printed, f"--task={task}")
        check_run(tmp_path / "runs" / task, task)
    assert "strings: 8 symbols, rounded actions" in said(printed, "--model=runs/strings")
    assert (tmp_path / "dyck.html").stat().st_size > 10_000
    assert len(said(printed, "--text=aab").rpartition("Answer: ")[2].split()) == 3
    assert re.fullmatch(r"([ab]{6} (yes|no)\n){5}", said(printed, "--show=even_a"))
