"""Runs of tasks that are no patterns from beginning to end, at sizes that take seconds."""

import io
import json

import keras
import pytest
from training_case import TINY

from keras_stackrnn import tasks
from keras_stackrnn.tasks.task import Task
from keras_stackrnn.training import TrainingConfig, search_task, train

pytestmark = pytest.mark.usefixtures("one_block_of_steps")

# Of each a few small sizes of the test.
RUNS = {
    "chomsky/reverse_string": ("symbols", ["sequences"]),
    "dyck_1": ("valid next symbols", ["sequences", "cross-entropy"]),
}


@pytest.fixture(params=RUNS)
def run(request, tmp_path, monkeypatch):
    """A run of two restarts on a task whose test is short; and what it printed."""
    monkeypatch.setattr(search_task, "tested_sizes", lambda task: list(task.test_sizes)[:3])
    monkeypatch.setattr(search_task, "_MOST_MOVES", 100_000)
    name = request.param
    sizes = {"max_n": 3, "window": 12, "episode": 1, "capacity": 10, "lifetime": 5, "updates": 10}
    values = {**TINY, **sizes, "memories": 1, "output_dir": str(tmp_path)}
    config = TrainingConfig.from_recipe(name, **values)
    output = io.StringIO()
    return train(config, output=output), output.getvalue()


def test_a_run_has_its_tasks_scores(run):
    result, printed = run
    name = result.config.task
    first, further = RUNS[name]
    written = json.loads((result.output_dir / "evaluation.json").read_text())
    assert written["score"] == first
    for way in ("soft", "rounded"):
        sizes = [str(n) for n in tasks.get(name).test_sizes[:3]]
        assert list(written[way]["per_n"]) == sizes
        assert list(written[way]["further"]) == further
        assert all(0 <= share <= 1 for share in written[way]["per_n"].values())
    assert written["rounded"]["sequences"] == tasks.get(name).test_sequences
    assert 1 <= written["soft"]["sequences"] < written["rounded"]["sequences"]
    assert {path.name for path in result.output_dir.iterdir()} >= {"accuracy.png", "trace.png"}
    assert keras.models.load_model(result.output_dir / "model.keras").task == name
    assert f"({written['soft']['sequences']} sequences each)" in printed


def test_a_test_of_very_many_symbols_is_thinned_out():
    sizes = search_task.tested_sizes(tasks.get("small/anbn_100"))
    assert sizes[:40] == list(range(1, 41))
    assert sizes[-1] == 15_000
    assert len(sizes) < 400
    assert search_task.tested_sizes(tasks.get("chomsky/duplicate_string")) == list(range(41, 501))


def test_what_is_read_in_a_picture_is_not_of_the_test(monkeypatch):
    asked = set()
    samples = Task.samples

    def noting(task, split, *arguments):
        asked.add(split)
        return samples(task, split, *arguments)

    monkeypatch.setattr(Task, "samples", noting)
    text = tasks.get("chomsky/reverse_string").as_read(6)
    assert len(text) == 6
    assert set(text) <= set("01")
    assert asked == {"validation"}
