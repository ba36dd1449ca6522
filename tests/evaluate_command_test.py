"""`keras-stackrnn evaluate`: a model on its task, and what can be wrong with the command line."""

import json

import keras
import pytest

if keras.backend.backend() != "tensorflow":
    pytest.skip("models are evaluated with TensorFlow", allow_module_level=True)

from test_case import run_command

from keras_stackrnn import Recognizer, evaluate


def test_a_model_of_the_gallery_is_right_where_it_says(tmp_path, capsys):
    output = tmp_path / "evaluation.json"
    run_command(
        evaluate, "--model=gallery:anb2n", "--n=1-3,30", "--sequences=2", f"--output={output}"
    )
    printed = capsys.readouterr().out
    assert printed.splitlines() == [
        "Sequences all right, in percent:",
        "       n    1    2    3   30",
        "    soft  100  100  100  100",
        " rounded  100  100  100  100",
        "soft: every sequence right at 100.0% of the n (2 sequences each)",
        "rounded: every sequence right at 100.0% of the n (2 sequences each)",
    ]
    written = json.loads(output.read_text())
    assert (written["task"], written["split"]) == ("anb2n", "test")
    assert written["rounded"]["per_n"] == dict.fromkeys(("1", "2", "3", "30"), 1.0)


def test_one_way_and_another_split(capsys):
    run_command(evaluate, "--model=gallery:anbn", "--n=2", "--split=validation", "--norounding")
    assert "rounded" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--model is missing: --help shows examples."),
        (["--model=none"], "There is no model 'none': expected "),
        (["--model=gallery:anbn", "--n=x"], "--n wants sizes with commas between, as in 1-60,200"),
        (["--model=gallery:anbn", "--n=3-1"], "--n wants ranges from small to large, got '3-1'."),
        (["--model=gallery:anbn", "--task=anbm"], "There is no task 'anbm'"),
        (["--model=gallery:anbn", "anbn"], "Everything is a flag, got 'anbn'."),
    ],
)
def test_bad_command_lines(arguments, message):
    with pytest.raises(SystemExit) as ended:
        run_command(evaluate, *arguments)
    assert ended.value.code.startswith(message)


def test_a_task_of_other_symbols_is_a_sentence():
    with pytest.raises(SystemExit) as ended:
        run_command(evaluate, "--model=gallery:anbn", "--task=anbncn")
    assert "anbncn" in ended.value.code


def test_a_model_of_files_is_tested_on_another_file(tmp_path, capsys):
    def written(name, strings):
        lines = (f"{string}\t{'yes' if string.endswith('a') else 'no'}\n" for string in strings)
        (tmp_path / name).write_text("".join(lines))
        return tmp_path / name

    train = written(
        "train.tsv", [f"{n:05b}".replace("0", "a").replace("1", "b") for n in range(30)]
    )
    test = written("test.tsv", ["a", "b", "ab", "ba", "bb"])
    model = Recognizer(
        "stack", ["a", "b", "<end>"], 2, memories=1, labels=["no", "yes"], task="recognition"
    )
    model.save(tmp_path / "model.keras")

    files = [f"--train_file={train}", f"--test_file={test}"]
    run_command(evaluate, f"--model={tmp_path}/model.keras", *files, "--rounding")

    printed = capsys.readouterr().out
    assert printed.splitlines()[:2] == ["Sequences all right, in percent:", "       n    1    2"]
    with pytest.raises(SystemExit, match="train_file is missing: task='recognition' learns"):
        run_command(evaluate, f"--model={tmp_path}/model.keras", f"--test_file={test}")
