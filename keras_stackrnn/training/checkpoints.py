"""Checkpoints: the last two states of a run, each whole or not there, and checked when read.

A file is a line of text, `keras_stackrnn checkpoint 1 <SHA-256 of the rest>`, and then a NumPy
archive with the arrays and, as JSON, the plain values.
"""

import dataclasses
import hashlib
import io
import json
import re
import warnings
import zipfile
from pathlib import Path

import numpy as np

from keras_stackrnn.training.files import RunError, clear_partial, write_aside

_MAGIC = b"keras_stackrnn checkpoint 1 "
_META = "meta.json"
_KEPT = 2
# What NumPy and JSON raise of bytes that are something else.
_NO_ARCHIVE = (ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile)
_PATTERN = "[0-9]*.checkpoint"
_OUR_NAME = re.compile(r"[0-9]{8,18}\.checkpoint")


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A state: arrays by name, and values that are fit for JSON."""

    arrays: dict[str, np.ndarray]
    meta: dict


class Checkpoints:
    """The checkpoints of one run.

    Args:
        folder: Where they are kept; made when the first is saved.
    """

    def __init__(self, folder: Path):
        self.folder = folder

    def save(self, checkpoint: Checkpoint) -> None:
        """Saves a checkpoint, then removes all but the last two."""
        self.save_bytes(to_bytes(checkpoint))

    def save_bytes(self, content: bytes) -> None:
        """The same with a checkpoint's `to_bytes`."""
        # Not the run's own: one that was taken away is not begun anew in the middle.
        self.folder.mkdir(exist_ok=True)
        paths = self._paths()
        # After those that are no files, too, so that no name is in the way.
        number = _number(paths[-1]) + 1 if paths else 0
        path = self.folder / f"{number:08d}.checkpoint"
        write_aside(path, lambda aside: aside.write_bytes(content))
        for old in [*filter(Path.is_file, paths), path][:-_KEPT]:
            old.unlink()
        clear_partial(self.folder, [_PATTERN])

    def newest(self) -> Path | None:
        """The file of the last one."""
        return max(self._paths(), key=_number, default=None)

    def load(self) -> Checkpoint:
        """The last checkpoint that is whole; damaged ones are passed over with a warning."""
        paths = self._paths()
        if not paths:
            raise RunError(
                f"There is no checkpoint in {self.folder} to resume from: leave out --resume."
            )
        for path in reversed(paths):
            try:
                return _read(path)
            except ValueError as error:
                warnings.warn(
                    f"The checkpoint {path} {error} and is passed over.", RuntimeWarning, 2
                )
        raise RunError(
            f"No checkpoint in {self.folder} can be read: start the run anew with --overwrite."
        )

    def _paths(self) -> list[Path]:
        named = (path for path in self.folder.glob(_PATTERN) if _OUR_NAME.fullmatch(path.name))
        return sorted(named, key=_number)


def _number(path: Path) -> int:
    return int(path.stem)


def to_bytes(checkpoint: Checkpoint) -> bytes:
    """A checkpoint as a file has it."""
    meta = np.frombuffer(json.dumps(checkpoint.meta).encode(), np.uint8)
    archive = io.BytesIO()
    np.savez(archive, **{_META: meta}, **checkpoint.arrays)
    content = archive.getvalue()
    return _MAGIC + hashlib.sha256(content).hexdigest().encode() + b"\n" + content


def _read(path: Path) -> Checkpoint:
    """The checkpoint in a file; ValueError says what is wrong with it."""
    if not path.is_file():
        raise ValueError("is no file")
    try:
        return from_bytes(path.read_bytes())
    except OSError as error:
        raise ValueError(f"cannot be read ({error.strerror})") from error


def from_bytes(data: bytes) -> Checkpoint:
    """The checkpoint in these bytes; ValueError says what is wrong with them."""
    header, _, content = data.partition(b"\n")
    if not header.startswith(_MAGIC):
        raise ValueError("is not one that this version can read")
    if header.removeprefix(_MAGIC) != hashlib.sha256(content).hexdigest().encode():
        raise ValueError("is damaged")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        meta = json.loads(arrays.pop(_META).tobytes())
    except (
        ValueError,
        KeyError,
        AttributeError,
        EOFError,
        zipfile.BadZipFile,
        MemoryError,
    ) as error:
        raise ValueError("was not written by a training") from error
    return Checkpoint(arrays, meta)
