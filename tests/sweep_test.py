"""Many runs, one on each core: each as if it had been started alone, whatever stops them."""

import io
import json
import os
import signal
import threading
import time

import keras
import pytest
from absl import flags
from training_case import assert_same_arrays, tiny_config

from keras_stackrnn.training import InterruptedRunError, RunError, run_folder, train
from keras_stackrnn.training.sweep import Sweep, results
from keras_stackrnn.training.sweep import __main__ as command


def weights_in(folder):
    return keras.models.load_model(folder / run_folder.MODEL).get_weights()


def stop_when(is_there):
    """Has this process get a SIGTERM as soon as something is there."""

    def wait():
        while not is_there():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def test_a_sweep_that_was_stopped_goes_on_and_says_what_failed(tmp_path):
    good, bad = (tiny_config(tmp_path / name) for name in ("good", "bad"))
    (tmp_path / "bad").write_text("in the way")
    finished = []
    options = {"processes": 1, "on_finished": lambda: finished.append(len(finished))}
    checkpoints = tmp_path / "good" / run_folder.CHECKPOINTS

    thread = stop_when((checkpoints / "00000002.checkpoint").exists)
    with pytest.raises(InterruptedRunError, match="everything is saved, go on with: again"):
        Sweep([good, bad], "again", output=io.StringIO(), **options).run()
    thread.join()
    assert not finished
    output = io.StringIO()
    sweep = Sweep([good, bad], "again", output=output, **options)
    [failed] = sweep.run()

    assert finished == [0]
    assert failed.config is bad
    assert failed.words.startswith(f"Cannot write {tmp_path / 'bad'}")
    assert "finished" in output.getvalue().splitlines()[0]
    assert f"Cannot write {tmp_path / 'bad'}" in output.getvalue().splitlines()[1]
    [row] = results.write(sweep.jobs, tmp_path / "table")
    assert (row["task"], row["model"], row["seed"]) == ("anbn", "rnn", good.seed)
    assert row["restarts"] >= row["solved"]
    assert json.loads((tmp_path / "table" / results.DATA).read_text()) == [row]
    assert len((tmp_path / "table" / results.TABLE).read_text().splitlines()) == 3

    # A run of a sweep is the run that it is alone; and a sweep that is done has nothing to do.
    alone = train(tiny_config(tmp_path / "alone"), output=io.StringIO())
    assert_same_arrays(weights_in(tmp_path / "good"), alone.model.get_weights())
    assert Sweep([good], "again", output=io.StringIO()).run() == []


def test_a_finished_run_of_another_configuration_is_a_sentence(tmp_path):
    run_folder.begin(tiny_config(tmp_path / "run"), make(tmp_path / "run"), overwrite=False)

    with pytest.raises(RunError, match="has units=4 and cannot go on with 5"):
        Sweep([tiny_config(tmp_path / "run", units=5)], "again").run()


def make(folder):
    folder.mkdir()
    return folder


def test_two_runs_in_one_folder_are_a_sentence(tmp_path):
    with pytest.raises(RunError, match="cannot share a folder"):
        Sweep([tiny_config(tmp_path), tiny_config(tmp_path, seed=2)], "again")


def test_no_processes_are_a_sentence():
    with pytest.raises(ValueError, match="1 or more processes, got 0"):
        Sweep([], "again", processes=0).run()


def configs(*arguments):
    values = flags.FlagValues()
    command.define_flags(values)
    values(["sweep", *arguments])
    return command.configs_from_flags(values)


def test_flags_name_tasks_models_and_seeds_and_what_holds_for_all():
    found = configs("--tasks=anbn,memorize", "--models=stack,list", "--seeds=1-2,5", "--units=7")

    named = [(config.seed, config.model, config.task) for config in found]
    assert named == [
        (seed, model, task)
        for seed in (1, 2, 5)
        for model in ("stack", "list")
        for task in ("anbn", "memorize")
    ]
    assert {config.units for config in found} == {7}
    assert found[1].output_dir == "runs/sweep/memorize-stack-1"
    assert len({config.output_dir for config in found}) == len(found)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--seeds=1"], "--tasks is missing"),
        (["--tasks=anbn", "--seeds=a"], "got 'a'"),
        (["--tasks=anbn", "--seeds=3-1"], "from low to high, got '3-1'"),
        (["--tasks=anbn", "--seeds=1,1"], "got '1,1'"),
        (["--tasks=anbm"], "anbm"),
        (["--tasks=anbn", "--epochs=3"], "no value 'epochs'"),
    ],
)
def test_flags_that_are_wrong_are_a_sentence(arguments, words):
    with pytest.raises(ValueError, match=words):
        configs(*arguments)


def test_scores_that_only_some_have_are_columns_all_the_same():
    rows = [{"task": "anbn", "soft": 100.0}, {"task": "text", "test_perplexity": 4.25}]

    assert results.table_of(rows) == [
        "| task | soft | test_perplexity |",
        "| --- | --- | --- |",
        "| anbn | 100.0 | - |",
        "| text | - | 4.2 |",
    ]
