"""What workers share: their part of the lanes, sums over all of them, and messages of the first."""

import contextlib
import functools
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from keras_stackrnn.training.files import RunError
from keras_stackrnn.training.workers import place

# The last word that is told.
END = 0


class WorkerLostError(RunError):
    """Another worker has ended: nothing can be added up any more, and all have to begin anew."""


class Alone:
    """A process that trains by itself."""

    index, count = place.ALONE

    @property
    def is_first(self) -> bool:
        """Whether this is the worker that leads."""
        return self.index == 0

    def lanes(self, of_all: int) -> slice:
        """This worker's part of so many lanes."""
        share, left_over = divmod(of_all, self.count)
        if left_over:
            raise RunError(
                f"Workers share the lanes evenly: expected lanes that {self.count} workers divide, "
                f"got {of_all}."
            )
        return slice(self.index * share, (self.index + 1) * share)

    def mean(self, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        """The mean of each tensor over all workers."""
        return tensors

    def gathered(self, part: np.ndarray) -> np.ndarray:
        """The parts of all workers, one after the other along the first axis."""
        return part

    def of_first(self, measure: Callable[[], float]) -> float:
        """What the first worker measures; the others do not."""
        return measure()

    def close(self) -> None:
        """The first worker lets the others go."""


class Group(Alone):
    """A worker of several: what one of them asks for, all have to ask for, in the same order.

    It has to be made before anything else is done with TensorFlow.
    """

    def __init__(self):
        self.index, self.count = place.of_environment()
        options = tf.distribute.experimental
        try:
            self._strategy = tf.distribute.MultiWorkerMirroredStrategy(
                communication_options=options.CommunicationOptions(
                    implementation=options.CommunicationImplementation.RING
                )
            )
        except RuntimeError as error:
            raise RunError(
                f"Workers have to be joined before TensorFlow is used in their process: {error}"
            ) from error
        devices = self._strategy.num_replicas_in_sync
        if devices != self.count:
            raise RunError(
                f"{self.count} workers train on one device each, got {devices} devices: show each "
                "worker one of them, as with CUDA_VISIBLE_DEVICES=0."
            )
        self._sums: dict[tuple, tf.types.experimental.ConcreteFunction] = {}

    def mean(self, tensors):
        return [total / self.count for total in self._totals(*tensors)]

    def gathered(self, part):
        whole = np.zeros((self.count, *part.shape), part.dtype)
        whole[self.index] = part
        [whole] = self._totals(tf.constant(whole))
        return whole.numpy().reshape(-1, *part.shape[1:])

    def of_first(self, measure):
        measured = measure() if self.is_first else 0.0
        [measured] = self._totals(tf.constant(measured, tf.float64))
        return float(measured)

    def close(self):
        if self.is_first:
            # Whoever is gone already needs not be told.
            with contextlib.suppress(WorkerLostError):
                self.tell(END)

    def tell(self, word: int, content: bytes = b"") -> None:
        """Says a word to all others; the first worker alone does."""
        self._totals(tf.constant([word, len(content)], tf.int64))
        if content:
            self._totals(tf.constant(_as_numbers(content)))

    def hear(self) -> tuple[int, bytes]:
        """Waits for what the first worker has to `tell`."""
        [heard] = self._totals(tf.zeros([2], tf.int64))
        word, size = heard.numpy().tolist()
        if not size:
            return word, b""
        [content] = self._totals(tf.zeros_like(_as_numbers(bytes(size))))
        return word, content.numpy().tobytes()[:size]

    def _totals(self, *tensors):
        specs = tuple(tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in tensors)
        if specs not in self._sums:
            program = tf.function(self._summed, autograph=False)
            self._sums[specs] = program.get_concrete_function(*specs)
        try:
            return self._sums[specs](*tensors)
        except tf.errors.OpError as error:
            raise WorkerLostError(
                f"Worker {self.index} of {self.count} cannot reach another one any more: restart "
                "all of them with --resume."
            ) from error

    def _summed(self, *tensors):
        def of_all(*tensors):
            # Sums want tensors that are on the replica's own device.
            own = [tf.identity(tensor) for tensor in tensors]
            return tf.distribute.get_replica_context().all_reduce("SUM", own)

        return self._strategy.run(of_all, args=tensors)


@functools.cache
def join() -> Alone:
    """The group that this process belongs to, for as long as it lives."""
    return Group() if place.of_environment().count > 1 else Alone()


def _as_numbers(content: bytes) -> np.ndarray:
    """Bytes as integers, which can be added up; filled up with zeros."""
    return np.frombuffer(content + bytes(-len(content) % 4), np.int32)
