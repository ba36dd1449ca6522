"""What TensorFlow says of files that it cannot write, in Python's words."""

import contextlib
import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf

_NUMBERS = {os.strerror(number): number for number in errno.errorcode}
# As in "/models/1/saved_model.pb.tmp123; No space left on device", and more lines, or as in
# "{{function_node CreateSummaryFileWriter}} Not a directory [Op:CreateSummaryFileWriter] name: ".
_REASON = re.compile(f"(?:; |}}}} |^)({'|'.join(map(re.escape, _NUMBERS))})(?= \\[|\n|$)")


@contextlib.contextmanager
def as_os_errors(path: Path) -> Iterator[None]:
    """Raises the OSError that Python itself would raise where TensorFlow cannot write files.

    Args:
        path: what the error is to name; TensorFlow's own files may have names that nobody knows.
    """
    try:
        yield
    except tf.errors.OpError as error:
        found = _REASON.search(error.message or "")
        if found is None:
            raise
        raise OSError(_NUMBERS[found[1]], found[1], str(path)) from error
