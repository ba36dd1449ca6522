"""The course of a run, round by round: `metrics.csv`, and events for TensorBoard."""

import csv
import math
from pathlib import Path

import tensorflow as tf

from keras_stackrnn.trace.image_summary import write_png
from keras_stackrnn.training.files import write_aside
from keras_stackrnn.training.run_folder import EVENTS, METRICS


class Metrics:
    """`metrics.csv` and TensorBoard's events: a row for each round of the search.

    Args:
        folder: The run's folder.
        status: Where the search is, and what the rows are made of. Rows from beyond, which a killed
            run has left, are dropped.
    """

    def __init__(self, folder: Path, status):
        self._path = folder / METRICS
        self._columns = ["seconds", *status.row()]
        rows = [self._columns, *self._rows_up_to(status.updates)]
        text = "".join(",".join(row) + "\n" for row in rows)
        write_aside(self._path, lambda aside: aside.write_text(text))
        self._events = tf.summary.create_file_writer(str(folder / EVENTS))

    def add(self, status, seconds: float) -> None:
        """Notes a status after so many seconds of search."""
        values = {"seconds": round(seconds, 3), **status.row()}
        with open(self._path, "a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow(values[name] for name in self._columns)
        with self._events.as_default(step=status.updates):
            for name, value in values.items():
                if math.isfinite(value):
                    _write_scalar(name, value)

    def add_trace(self, png: bytes, updates: int) -> None:
        """A picture of what the memories do by now."""
        with self._events.as_default(step=updates):
            write_png("trace", png)

    def close(self) -> None:
        self._events.close()

    def _rows_up_to(self, updates: int) -> list[list[str]]:
        if not self._path.exists():
            return []
        with open(self._path, newline="") as file:
            rows = list(csv.reader(file))[1:]
        whole = [row for row in rows if len(row) == len(self._columns)]
        return [row for row in whole if int(row[self._columns.index("updates")]) <= updates]


def _write_scalar(name: str, value: float) -> None:
    # What `tf.summary.scalar` does, which is only there where TensorBoard is installed.
    metadata = tf.compat.v1.SummaryMetadata(
        plugin_data=tf.compat.v1.SummaryMetadata.PluginData(plugin_name="scalars")
    )
    tf.summary.write(name, tf.constant(value, tf.float32), metadata=metadata)
