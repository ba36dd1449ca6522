"""Requests that arrive together run together: the queue, the padding and the splitting."""

import bisect
import dataclasses
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import tensorflow as tf

from keras_stackrnn.serving import config, status
from keras_stackrnn.serving.inference import Plan
from keras_stackrnn.serving.saved_model import SavedModel

Outputs = dict[str, np.ndarray]

# The lane of what cannot be merged, after those of what can.
ALONE = 2

# Of the time that a batch may wait: when nothing happens for so long, nobody else will come.
_QUIET_SHARE = 0.1


class DirectRunner:
    """Runs each request by itself, on a pool of threads.

    Args:
        num_threads: how many run at a time.
        lane: which of a session's threads run them.
    """

    def __init__(self, num_threads: int, lane: int = 0):
        self._lane = lane
        self._pool = ThreadPoolExecutor(num_threads, "run")

    def submit(self, model: SavedModel, plan: Plan, deadline: float | None = None) -> Future:
        """Runs `plan` as soon as a thread is free.

        Args:
            model: the graph to run.
            plan: what to feed and fetch.
            deadline: in seconds of `time.monotonic()`, or None.

        Returns:
            The fetched arrays by tensor name. Cancelled before it runs, it is not run.
        """
        return self._pool.submit(run_plan, model, plan, deadline, self._lane)

    def close(self) -> None:
        self._pool.shutdown()


@dataclasses.dataclass(frozen=True)
class BatchingOptions:
    """TensorFlow Serving's batching parameters, with its defaults."""

    max_batch_size: int = 1000
    batch_timeout_seconds: float = 0.0
    max_enqueued_batches: int = 10
    num_batch_threads: int = os.cpu_count() or 1
    allowed_batch_sizes: tuple[int, ...] = ()
    pad_variable_length_inputs: bool = False

    @classmethod
    def from_proto(cls, proto: config.BatchingParameters) -> "BatchingOptions":
        """Reads `BatchingParameters`; a parameter that is not given keeps its default."""
        given = {
            name: getattr(proto, name).value
            for name in ("max_batch_size", "max_enqueued_batches", "num_batch_threads")
            if proto.HasField(name)
        }
        for name, value in given.items():
            if value < 1:
                raise ValueError(f"{name} must be a positive integer, got {value}.")
        if proto.batch_timeout_micros.value < 0:
            raise ValueError(
                "batch_timeout_micros must not be negative, "
                f"got {proto.batch_timeout_micros.value}."
            )
        options = cls(
            **given,
            batch_timeout_seconds=proto.batch_timeout_micros.value / 1e6,
            allowed_batch_sizes=tuple(proto.allowed_batch_sizes),
            pad_variable_length_inputs=proto.pad_variable_length_inputs,
        )
        sizes = options.allowed_batch_sizes
        if sizes and (sorted(set(sizes)) != list(sizes) or sizes[-1] != options.max_batch_size):
            raise ValueError(
                "allowed_batch_sizes must increase and end with max_batch_size "
                f"({options.max_batch_size}), got {list(sizes)}."
            )
        return options


@dataclasses.dataclass(eq=False, slots=True)
class _Task:
    plan: Plan
    size: int
    deadline: float | None
    future: Future


@dataclasses.dataclass(eq=False)
class _Batch:
    model: SavedModel
    key: tuple
    due: float
    tasks: list[_Task] = dataclasses.field(default_factory=list)
    size: int = 0


class BatchingRunner:
    """Merges requests for the same tensors of the same model into one run.

    A batch starts when a thread is free and the batch is full, holds as many requests as there were
    at a time lately, has waited for `batch_timeout_seconds`, or when for a tenth of that time
    nobody asked and nobody was answered: whoever asks alone never waits for company, a crowd is
    answered together, and one that has gone is not waited for.

    Where TensorFlow Serving would fail the request, this one still answers it: inputs without a
    common batch dimension run by themselves, a batch that fails is run again one by one so that
    only the guilty request fails, and shapes that cannot be merged are never put together.

    Args:
        options: sizes, times and padding.
        lane: which of a session's threads run them; lanes.py has two of these.
    """

    def __init__(self, options: BatchingOptions, lane: int = 0):
        self._options = options
        self._lane = lane
        self._changed = threading.Condition()
        self._closed = False
        self._waiting: deque[_Batch] = deque()
        self._open: dict[tuple, _Batch] = {}
        self._enqueued: dict[tuple, int] = {}
        self._running_tasks = 0
        self._waiting_tasks = 0
        self._recent_crowd = 0
        self._last_event = time.monotonic()  # somebody asked, or was answered
        # Outputs whose first dimension turned out not to be the batch.
        self._unsplittable = weakref.WeakKeyDictionary()
        self._loners = DirectRunner(options.num_batch_threads, ALONE)
        self._threads = [
            threading.Thread(target=self._work, name=f"batch-{index}", daemon=True)
            for index in range(options.num_batch_threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, model: SavedModel, plan: Plan, deadline: float | None = None) -> Future:
        """Runs `plan` in company; see `DirectRunner.submit`."""
        size = _common_batch_size(plan.feeds.values())
        if size is None or plan.fetches in self._unsplittable.get(model, ()):
            return self._loners.submit(model, plan, deadline)
        if size > self._options.max_batch_size:
            raise status.invalid_argument(
                f"Task size {size} is larger than maximum input batch size "
                f"{self._options.max_batch_size}"
            )
        task = _Task(plan, size, deadline, Future())
        with self._changed:
            self._enqueue(model, task)
        return task.future

    def close(self) -> None:
        """Runs what is still queued, then ends the threads."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        self._loners.close()

    def _enqueue(self, model: SavedModel, task: _Task) -> None:
        key = (id(model), task.plan.fetches, self._merge_key(task.plan.feeds))
        batch = self._open.get(key)
        opened = batch is None or batch.size + task.size > self._options.max_batch_size
        if opened:
            enqueued = self._enqueued.get(key, 0)
            if enqueued >= self._options.max_enqueued_batches:
                raise status.resource_exhausted(
                    "The batch scheduling queue to which this task was submitted is full; "
                    f"currently {enqueued} batches enqueued and max_enqueued_batches is "
                    f"{self._options.max_enqueued_batches}"
                )
            batch = _Batch(model, key, time.monotonic() + self._options.batch_timeout_seconds)
            self._waiting.append(batch)
            self._open[key] = batch
            self._enqueued[key] = enqueued + 1
        batch.tasks.append(task)
        batch.size += task.size
        self._waiting_tasks += 1
        self._last_event = time.monotonic()
        self._recent_crowd = max(self._recent_crowd, self._waiting_tasks + self._running_tasks)
        # A thread that waits has to hear of a new due time or a full batch, and of nothing else.
        if opened or self._is_gathered(batch):
            self._changed.notify()

    def _merge_key(self, feeds: Mapping[str, np.ndarray]) -> tuple:
        """Arrays of equal keys can be concatenated, after padding if that is on."""
        padded = self._options.pad_variable_length_inputs
        return tuple(
            (name, array.dtype, array.ndim if padded else array.shape[1:])
            for name, array in feeds.items()
        )

    def _work(self) -> None:
        while True:
            with self._changed:
                batch = self._next_batch()
            if batch is None:
                return
            try:
                results = self._results(batch)
            except BaseException as error:
                results = [error] * len(batch.tasks)
            with self._changed:
                self._running_tasks -= len(batch.tasks)
                self._last_event = time.monotonic()
            _deliver(batch.tasks, results)
            # Nobody else holds them while this thread waits for the next batch.
            del batch, results

    def _next_batch(self) -> _Batch | None:
        """Waits for a batch that is ready; returns None when there will be no more."""
        while True:
            now = time.monotonic()
            batch = next((b for b in self._waiting if self._is_ready(b, now)), None)
            if batch is not None:
                self._dequeue(batch)
                if batch.tasks:
                    self._running_tasks += len(batch.tasks)
                    return batch
            elif self._closed:
                return None
            else:
                due = min((self._due(b) for b in self._waiting), default=None)
                self._changed.wait(None if due is None else due - now)

    def _is_ready(self, batch: _Batch, now: float) -> bool:
        return (
            self._is_gathered(batch)
            or self._open.get(batch.key) is not batch
            or now >= self._due(batch)
            or self._closed
        )

    def _due(self, batch: _Batch) -> float:
        """When to wait no longer."""
        quiet = self._options.batch_timeout_seconds * _QUIET_SHARE
        return min(batch.due, self._last_event + quiet)

    def _is_gathered(self, batch: _Batch) -> bool:
        full = batch.size >= self._options.max_batch_size
        return full or len(batch.tasks) >= self._recent_crowd

    def _dequeue(self, batch: _Batch) -> None:
        self._waiting.remove(batch)
        if self._open.get(batch.key) is batch:
            del self._open[batch.key]
        self._enqueued[batch.key] -= 1
        if not self._enqueued[batch.key]:
            del self._enqueued[batch.key]
        # A crowd that has gone is forgotten within a few batches.
        self._recent_crowd = max(
            self._waiting_tasks + self._running_tasks, self._recent_crowd * 3 // 4
        )
        self._waiting_tasks -= len(batch.tasks)
        batch.tasks = [task for task in batch.tasks if not task.future.cancelled()]

    def _results(self, batch: _Batch) -> list[Outputs | Exception]:
        tasks = batch.tasks
        if len(tasks) > 1 or self._options.allowed_batch_sizes:
            try:
                return self._run_merged(batch)
            except tf.errors.DeadlineExceededError as error:
                return [error] * len(tasks)
            except Exception as error:
                if len(tasks) == 1 and not isinstance(error, _UnsplittableError):
                    return [error]
        return [self._result_or_error(batch.model, task) for task in tasks]

    def _run_merged(self, batch: _Batch) -> list[Outputs]:
        sizes = [task.size for task in batch.tasks]
        feeds = {
            name: _concatenate(
                [task.plan.feeds[name] for task in batch.tasks], self._padded_rows(sum(sizes))
            )
            for name in batch.tasks[0].plan.feeds
        }
        deadlines = [task.deadline for task in batch.tasks]
        plan = Plan(feeds, batch.tasks[0].plan.fetches)
        outputs = run_plan(
            batch.model, plan, None if None in deadlines else max(deadlines), self._lane
        )
        rows = len(next(iter(feeds.values())))
        if any(array.ndim == 0 or len(array) != rows for array in outputs.values()):
            with self._changed:
                self._unsplittable.setdefault(batch.model, set()).add(plan.fetches)
            raise _UnsplittableError
        results, start = [], 0
        for size in sizes:
            results.append({n: array[start : start + size] for n, array in outputs.items()})
            start += size
        return results

    def _result_or_error(self, model: SavedModel, task: _Task) -> Outputs | Exception:
        try:
            return run_plan(model, task.plan, task.deadline, self._lane)
        except Exception as error:
            return error

    def _padded_rows(self, rows: int) -> int:
        sizes = self._options.allowed_batch_sizes
        return sizes[bisect.bisect_left(sizes, rows)] if sizes else rows


class _UnsplittableError(Exception):
    """The first dimension of an output is not the batch."""


def run_plan(model: SavedModel, plan: Plan, deadline: float | None, lane: int = 0) -> Outputs:
    """Runs `plan` now, bounded by `deadline` in seconds of `time.monotonic()`."""
    timeout = None
    if deadline is not None:
        timeout = deadline - time.monotonic()
        if timeout <= 0:
            raise status.deadline_exceeded("The deadline passed before the run began")
    arrays = model.run(plan.feeds, plan.fetches, timeout, lane)
    return dict(zip(plan.fetches, arrays, strict=True))


def _deliver(tasks: list[_Task], results: list[Outputs | BaseException]) -> None:
    for task, result in zip(tasks, results, strict=True):
        if not task.future.set_running_or_notify_cancel():
            continue
        if isinstance(result, BaseException):
            task.future.set_exception(result)
        else:
            task.future.set_result(result)


def _common_batch_size(arrays) -> int | None:
    """Returns the first dimension that all arrays share, or None when there is no such thing."""
    sizes = {len(array) if array.ndim else 0 for array in arrays}
    return sizes.pop() or None if len(sizes) == 1 else None


def _concatenate(arrays: Sequence[np.ndarray], rows: int) -> np.ndarray:
    """Stacks the arrays along the batch; fills up with copies of the last request's first row."""
    shapes = {array.shape[1:] for array in arrays}
    if len(shapes) > 1:
        lengths = tuple(max(sizes) for sizes in zip(*shapes, strict=True))
        arrays = [_pad(array, lengths) for array in arrays]
    missing = rows - sum(len(array) for array in arrays)
    if missing:
        arrays = [*arrays, np.repeat(arrays[-1][:1], missing, axis=0)]
    return np.concatenate(arrays)


def _pad(array: np.ndarray, lengths: tuple[int, ...]) -> np.ndarray:
    """Pads every dimension but the first with the array's first element, as TF Serving does."""
    if array.shape[1:] == lengths:
        return array
    zero = b"" if array.dtype == np.object_ else 0
    filler = array.flat[0] if array.size else zero
    padded = np.full((len(array), *lengths), filler, array.dtype)
    padded[tuple(slice(length) for length in array.shape)] = array
    return padded
