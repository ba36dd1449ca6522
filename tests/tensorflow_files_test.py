"""TensorFlow's faults with files are Python's own."""

import errno
from pathlib import Path

import pytest
import tensorflow as tf

from keras_stackrnn.export.versions import write_version
from keras_stackrnn.tensorflow_files import as_os_errors


def write(path) -> None:
    with tf.io.gfile.GFile(str(path), "w") as file:
        file.write("some" * 100_000)


@pytest.mark.parametrize(
    ("path", "number"),
    [("/dev/full", errno.ENOSPC), ("/dev/null/file", errno.ENOTDIR), ("/no/file", errno.ENOENT)],
)
def test_what_cannot_be_written_is_an_os_error(path, number):
    with pytest.raises(OSError, match="mine") as caught, as_os_errors(Path("mine")):
        write(path)
    assert (caught.value.errno, caught.value.filename) == (number, "mine")


def test_a_folder_of_events_that_is_none_is_an_os_error(tmp_path):
    (tmp_path / "events").write_text("no folder")
    with pytest.raises(OSError, match="events") as caught, as_os_errors(tmp_path / "events"):
        tf.summary.create_file_writer(str(tmp_path / "events"))
    assert caught.value.errno == errno.ENOTDIR


def test_what_is_said_in_several_lines_is_an_os_error():
    message = "/a/events.v2; Too many open files\n\tFailed to flush 9 events to /a/events.v2"
    with pytest.raises(OSError, match="mine") as caught, as_os_errors(Path("mine")):
        raise tf.errors.ResourceExhaustedError(None, None, message)
    assert caught.value.errno == errno.EMFILE


def test_other_faults_stay_what_they_are():
    with pytest.raises(tf.errors.InvalidArgumentError), as_os_errors(Path("mine")):
        tf.reshape([1, 2], [3])


def test_an_export_to_a_full_disk_leaves_nothing(tmp_path):
    with pytest.raises(OSError, match="No space left on device") as caught:
        write_version(tmp_path, None, lambda folder: write("/dev/full"))
    assert caught.value.filename == str(tmp_path)
    assert list(tmp_path.iterdir()) == []
