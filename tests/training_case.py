"""What the tests of training share: runs so small that they take a second once compiled."""

from pathlib import Path

import numpy as np
import tensorflow as tf

from keras_stackrnn.training import TrainingConfig, run_folder
from keras_stackrnn.training.search_status import SearchStatus

REPOSITORY = Path(__file__).resolve().parents[1]

TINY = {
    "units": 4,
    "lanes": 2,
    "window": 10,
    "episode": 5,
    "population": 2,
    "lifetime": 20,
    "updates": 20,
    "updates_a_round": 5,
    "max_n": 6,
    "validation_sequences": 2,
    "checkpoint_seconds": 1e-3,
}


def tiny_config(folder, **values) -> TrainingConfig:
    """Two restarts of a SimpleRNN, 20 updates each, in rounds of 5."""
    values = {"task": "anbn", "model": "rnn", "output_dir": str(folder), **TINY, **values}
    return TrainingConfig.from_recipe(**values)


def status(**values) -> SearchStatus:
    usual = {
        "updates": 100,
        "symbols": 40_000,
        "n_range": (1, 12),
        "alive": 16,
        "solved": 3,
        "best_entropy": 0.01234,
        "soft_accuracy": 0.5,
        "rounded_accuracy": 1.0,
    }
    return SearchStatus(**{**usual, **values})


def events_of(folder) -> list[tuple[str, int, np.ndarray]]:
    """Every value in a run's events: its tag, its step, and itself."""
    found = []
    for path in sorted((folder / run_folder.EVENTS).iterdir()):
        for record in tf.data.TFRecordDataset(str(path)):
            event = tf.compat.v1.Event.FromString(record.numpy())
            for value in event.summary.value:
                found.append((value.tag, event.step, tf.make_ndarray(value.tensor)))
    return found


def assert_same_arrays(these, those):
    assert len(these) == len(those)
    for this, that in zip(these, those, strict=True):
        np.testing.assert_array_equal(this, that)
