"""Runs on files of every form: killed, resumed, evaluated, traced, exported and served."""

import json
import random
import signal
import subprocess
import sys
import time

import keras
import pytest

if keras.backend.backend() != "tensorflow":
    pytest.skip("runs train on TensorFlow", allow_module_level=True)

import serving_fixtures as fixtures
from training_case import REPOSITORY

from keras_stackrnn import trace
from keras_stackrnn.serving import config
from keras_stackrnn.serving.client import Client
from keras_stackrnn.training.run_folder import CHECKPOINTS

TINY = [
    *("--units=4", "--memories=1", "--restarts=2", "--lanes=2", "--validation_sequences=2"),
    *("--lifetime=4", "--updates_a_round=4", "--episode=4", "--checkpoint_seconds=0.0001"),
]


def written(path, form):
    rng = random.Random(3)
    lines = []
    for _ in range(60):
        string = "".join(rng.choices("ab", k=rng.randint(1, 8)))
        others = {
            "strings": [],
            "transduction": [string[::-1]],
            "recognition": [str(len(string) % 2)],
        }
        lines.append("\t".join([string, *others[form]]))
    path.write_text("\n".join(lines))
    return path


def started(*flags):
    return subprocess.Popen(
        [sys.executable, "train.py", *flags],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("form", ["strings", "transduction", "recognition"])
def test_a_run_is_killed_goes_on_and_is_served(form, tmp_path):
    folder = tmp_path / "run"
    source = written(tmp_path / "examples.tsv", form)
    task = [f"--task={form}", f"--train_file={source}", f"--output_dir={folder}"]
    process = started(*task, *TINY, "--updates=1000000")
    while process.poll() is None and len(list((folder / CHECKPOINTS).glob("[0-9]*"))) < 2:
        time.sleep(0.01)
    process.kill()
    _, errors = process.communicate()
    assert process.returncode == -signal.SIGKILL, errors

    process = started(f"--output_dir={folder}", "--resume", "--minutes=0.02")
    printed, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert "is held out for the validation" in printed
    evaluation = json.loads((folder / "evaluation.json").read_text())
    assert all(0 <= share <= 1 for share in evaluation["rounded"]["per_n"].values())
    assert evaluation["restarts"][0]["learned_accuracy"] is not None

    model = keras.models.load_model(folder / "model.keras")
    record = trace(model, "#ab" if form == "strings" else "ab")
    assert len(record.answers) == {"strings": 0, "transduction": 2, "recognition": 1}[form]
    models = config.single_model("m", folder / "serving" / form)
    with fixtures.RunningServer(models) as server, Client(server.address, "m") as client:
        if form == "strings":
            assert len(client.generate(["#a"], max_symbols=5)[0]) == 5
        elif form == "transduction":
            assert client.transduce(["ab"]) == ["".join(record.answers)]
        else:
            assert next(iter(client.classify(["ab"])[0])) == record.answers[0]
