"""The course of a run, round by round: `metrics.csv`, and events for TensorBoard."""

import contextlib
import math
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf

from keras_stackrnn.tensorflow_files import as_os_errors
from keras_stackrnn.trace.image_summary import write_png
from keras_stackrnn.training import events
from keras_stackrnn.training.files import write_aside
from keras_stackrnn.training.run_folder import EVENTS, METRICS


class Metrics:
    """`metrics.csv` and TensorBoard's events: a row for each round of the search.

    Args:
        folder: The run's folder.
        status: Where the search is, and what the rows are made of. Rows and events from beyond,
            which a killed run has left, are dropped.
        rows: `rows` as they were when the search was there, or `None` if nobody knows. A file that
            says something else is set aside and written anew.

    Attributes:
        rows: The lines of `metrics.csv`, without the first.
    """

    def __init__(self, folder: Path, status, rows: list[str] | None = None):
        self._path = folder / METRICS
        self._columns = ["seconds", *status.row()]
        found, is_damaged = self._found(status.updates, rows)
        self.rows = found if rows is None else list(rows)
        if is_damaged:
            self._set_aside()
        write_aside(self._path, lambda aside: aside.write_text(self._text()))
        self._events_folder = folder / EVENTS
        with as_os_errors(self._events_folder):
            events.purge(self._events_folder, status.updates)
            self._events = tf.summary.create_file_writer(str(self._events_folder))

    def add(self, status, seconds: float) -> None:
        """Notes a status after so many seconds of search."""
        values = {"seconds": round(seconds, 3), **status.row()}
        self.rows.append(",".join(repr(values[name]) for name in self._columns))
        with open(self._path, "a") as file:
            file.write(f"{self.rows[-1]}\n")
        with self._writing_events(status.updates):
            for name, value in values.items():
                if math.isfinite(value):
                    _write_scalar(name, value)

    def add_trace(self, png: bytes, updates: int) -> None:
        """A picture of what the memories do by now."""
        with self._writing_events(updates):
            write_png("trace", png)

    def close(self) -> None:
        with as_os_errors(self._events_folder):
            self._events.close()

    @contextlib.contextmanager
    def _writing_events(self, updates: int) -> Iterator[None]:
        with as_os_errors(self._events_folder), self._events.as_default(step=updates):
            yield

    def _text(self) -> str:
        return "".join(f"{line}\n" for line in (",".join(self._columns), *self.rows))

    def _found(self, updates: int, rows: list[str] | None) -> tuple[list[str], bool]:
        """The whole rows in the file up to an update, and whether the file is damaged."""
        if not os.path.lexists(self._path):
            return [], False
        if not self._path.is_file():
            return [], True
        # The last line has no end if the process was killed while it wrote it.
        *lines, _ = self._path.read_bytes().split(b"\n")
        if rows is not None:
            expected = [",".join(self._columns), *rows]
            return rows, lines[: len(expected)] != [line.encode() for line in expected]
        found = [line.decode() for line in lines[1:] if self._updates_of(line) is not None]
        upto = [line for line in found if self._updates_of(line.encode()) <= updates]
        is_damaged = lines[:1] != [",".join(self._columns).encode()] or len(found) < len(lines) - 1
        return upto, is_damaged

    def _updates_of(self, line: bytes) -> int | None:
        """The updates that a row was written after; `None` if it is no row."""
        try:
            values = dict(zip(self._columns, map(float, line.decode().split(",")), strict=True))
            return int(values["updates"])
        except (ValueError, OverflowError):
            return None

    def _set_aside(self) -> None:
        aside = self._path.with_name(f"damaged-{METRICS}")
        os.replace(self._path, aside)
        warnings.warn(
            f"{self._path} is damaged: it is kept as {aside.name}, and written anew.",
            RuntimeWarning,
            3,
        )


def _write_scalar(name: str, value: float) -> None:
    # What `tf.summary.scalar` does, which is only there where TensorBoard is installed.
    metadata = tf.compat.v1.SummaryMetadata(
        plugin_data=tf.compat.v1.SummaryMetadata.PluginData(plugin_name="scalars")
    )
    tf.summary.write(name, tf.constant(value, tf.float32), metadata=metadata)
