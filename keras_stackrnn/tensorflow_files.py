"""What TensorFlow says of files that it cannot write, in Python's words."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf

_NUMBERS = {os.strerror(number): number for number in errno.errorcode}


@contextlib.contextmanager
def as_os_errors(path: Path) -> Iterator[None]:
    """Raises the OSError that Python itself would raise where TensorFlow cannot write files.

    Args:
        path: what the error is to name; TensorFlow's own files may have names that nobody knows.
    """
    try:
        yield
    except tf.errors.OpError as error:
        # As in "/models/1/saved_model.pb.tmp123; No space left on device".
        reason = (error.message or "").rpartition("; ")[-1]
        number = _NUMBERS.get(reason)
        if number is None:
            raise
        raise OSError(number, reason, str(path)) from error
