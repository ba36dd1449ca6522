"""Lanes: what takes long has threads of its own, so that nobody waits behind it for long."""

from collections.abc import Mapping
from concurrent.futures import Future

import numpy as np
import tensorflow as tf

from keras_stackrnn.serving.batching import BatchingOptions, BatchingRunner
from keras_stackrnn.serving.inference import Plan
from keras_stackrnn.serving.saved_model import SavedModel

# A model that reads symbol by symbol takes its time for each of a row's, and for all together.
_LARGE_LENGTH = 256
_LARGE_SIZE = 8192
_SMALL, _LARGE = range(2)
_LANES = 2


class LanedRunner:
    """Merges requests as a `BatchingRunner` does, small ones with small ones and large with large.

    Args:
        options: of each of the two.
    """

    def __init__(self, options: BatchingOptions):
        self._runners = [BatchingRunner(options, lane) for lane in range(_LANES)]

    def submit(self, model: SavedModel, plan: Plan, deadline: float | None = None) -> Future:
        """Runs `plan` in its lane; see `BatchingRunner.submit`."""
        runner = self._runners[_LARGE if is_large(plan.feeds) else _SMALL]
        return runner.submit(model, plan, deadline)

    def close(self) -> None:
        """Runs what is still queued, then ends the threads."""
        for runner in self._runners:
            runner.close()


def is_large(feeds: Mapping[str, np.ndarray]) -> bool:
    """Whether a run that is fed these arrays may take long."""
    return any(_is_large(array) for array in feeds.values())


def _is_large(array: np.ndarray) -> bool:
    if array.dtype == np.object_:
        lengths = [len(text) for text in array.flat]
        return max(lengths, default=0) > _LARGE_LENGTH or sum(lengths) > _LARGE_SIZE
    return array.size > _LARGE_SIZE or max(array.shape[1:], default=0) > _LARGE_LENGTH


def give_threads(session_config: tf.compat.v1.ConfigProto, threads: int) -> None:
    """Has a model's session run each lane on threads of its own.

    Args:
        session_config: is changed.
        threads: for each lane; those that run alone count as a lane, too.
    """
    for _ in range(_LANES + 1):
        session_config.session_inter_op_thread_pool.add(num_threads=threads)
