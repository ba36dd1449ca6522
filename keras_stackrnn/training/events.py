"""TensorBoard's event files: what a killed run wrote after its checkpoint is taken out of them."""

from pathlib import Path

import tensorflow as tf

from keras_stackrnn.training.files import write_aside


def purge(folder: Path, updates: int) -> None:
    """Takes out all points after so many updates: the run that goes on writes them again.

    A file that is cut off or damaged is kept up to there.
    """
    for path in folder.glob("events.out.tfevents.*"):
        if not path.is_file():
            continue
        records, is_whole = _records(path)
        kept = [each for each in records if tf.compat.v1.Event.FromString(each).step <= updates]
        if not is_whole or len(kept) < len(records):
            write_aside(path, lambda aside, kept=kept: _write(aside, kept))


def _records(path: Path) -> tuple[list[bytes], bool]:
    """The records of a file, and whether that is all of it."""
    records = []
    try:
        for record in tf.data.TFRecordDataset(str(path)):
            records.append(record.numpy())
    except tf.errors.DataLossError:
        return records, False
    return records, True


def _write(path: Path, records: list[bytes]) -> None:
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in records:
            writer.write(record)
