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


@pytest.fixture(scope="module")
def blocks():
    found = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return [code for language, code in found if language == "sh"], [
        code for language, code in found if language == "python"
    ]


def test_the_page_runs_as_it_stands(blocks, tmp_path, monkeypatch, capsys):
    commands, (program,) = blocks
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "_tasks", dict(registry._tasks))
    (tmp_path / "my_tasks.py").write_text(program)
    shell, printed = Shell(monkeypatch, capsys), {}
    try:
        for block in commands:
            printed |= shell.run(block)
    finally:
        shell.close()
    said = {_name_of(line): text for line, text in printed.items()}
    assert "One in 10 of the different ones is held out" in said["train recognition"]
    assert "Probability of a symbol" in said["train strings"]
    assert "Symbols right" in said["train transduction"]
    assert "Sequences all right" in said["train even_a"]
    for task in ("recognition", "strings", "transduction", "even_a"):
        folder = tmp_path / "runs" / task
        assert (folder / "serving" / task / "1" / "saved_model.pb").exists()
        evaluation = json.loads((folder / "evaluation.json").read_text())
        assert len(evaluation["rounded"]["per_n"]) > 1
    assert (tmp_path / "dyck.html").stat().st_size > 10_000
    traced = [text for line, text in printed.items() if "keras_stackrnn.trace" in line]
    assert "Answer: " in traced[0]
    assert "strings: 8 symbols, rounded actions" in traced[1]
    assert len(traced[3].rpartition("Answer: ")[2].split()) == 3
    answers = [json.loads(text) for line, text in printed.items() if line.startswith("curl")]
    assert {row["label"] for row in answers[0]["predictions"]} <= {"yes", "no"}
    assert [label for label, _ in answers[1]["results"][0]] == ["no", "yes"]
    (asked,) = (text for line, text in printed.items() if "classify" in line and "client" in line)
    assert asked.startswith("(()())\n")
    assert asked.count("%") == 4
    (shown,) = (text for line, text in printed.items() if "datasets" in line)
    assert re.fullmatch(r"([ab]{6} (yes|no)\n){5}", shown)


def _name_of(line: str) -> str:
    task = re.search(r"--task=(\w+)", line)
    return f"train {task[1]}" if task and "train.py" in line else line
