"""Runs that an earlier version began go on: the folders in `old_runs` were left by one of them."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from language_case import write_texts

from keras_stackrnn.training import run_folder
from keras_stackrnn.training.checkpoints import Checkpoints
from keras_stackrnn.training.language_task import LanguageTask
from keras_stackrnn.training.metrics import Metrics
from keras_stackrnn.training.search_task import SearchTask

OLD_RUNS = Path(__file__).parent / "old_runs"


def assert_holds(found, written):
    """Raises unless all that was written is there again; values of later versions may be, too."""
    if isinstance(written, dict):
        assert found.keys() >= written.keys()
        for name, value in written.items():
            assert_holds(found[name], value)
    elif isinstance(written, list):
        assert len(found) == len(written)
        for pair in zip(found, written, strict=True):
            assert_holds(*pair)
    else:
        assert found == written


@pytest.mark.parametrize(("name", "task"), [("stack", SearchTask), ("text", LanguageTask)])
def test_old_runs_go_on(name, task, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_texts(Path("."))
    folder = Path(shutil.copytree(OLD_RUNS / name, name))
    written = json.loads((folder / "config.json").read_text())
    checkpoint = Checkpoints(folder / run_folder.CHECKPOINTS).load()

    config = run_folder.read_config(folder)
    search = task(config, print).search()
    search.restore(checkpoint.arrays, checkpoint.meta["search"])
    metrics = Metrics(folder, search.status())
    metrics.add(search.status(), 9.0)
    metrics.close()

    # Later versions have values that earlier ones did not: these stand for what was done then.
    assert config.to_json().items() >= written["config"].items()
    arrays, meta = search.state()
    assert_holds(json.loads(json.dumps(meta)), checkpoint.meta["search"])
    assert arrays.keys() == checkpoint.arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, checkpoint.arrays[name], err_msg=name)
    assert any(np.any(weights) for weights in search.best_model().get_weights())
    before, after = ((each / "metrics.csv").read_text() for each in (OLD_RUNS / folder, folder))
    assert after.startswith(before)
    # The row that was there is the same as that of the status now, but for the seconds.
    *_, last, again = after.splitlines()
    assert last.partition(",")[2] == again.partition(",")[2]
