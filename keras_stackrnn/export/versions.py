"""Version folders that are there as a whole or not at all."""

import contextlib
import errno
import fcntl
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from keras_stackrnn.tensorflow_files import as_os_errors

# Servers look at folders whose names are integers, and at no others.
_ASIDE = "partial-"


def write_version(base_path: Path, version: int | None, write: Callable[[Path], object]) -> Path:
    """Has `write` fill a folder beside the versions, then makes it one of them in one step.

    Whatever stops it, and whoever else is writing, a version folder is complete and stays as it is.

    Args:
        base_path: The model's folder.
        version: The version; `None`: one more than the latest.
        write: Called with the folder to fill.

    Returns:
        The version's folder.
    """
    if version is not None:
        _refuse_if_taken(base_path / str(version))
    base_path.mkdir(parents=True, exist_ok=True)
    _clear(base_path)
    with _locked_aside(base_path) as aside:
        try:
            with as_os_errors(base_path):
                write(aside)
            _sync(aside)
            return _rename(aside, base_path, version)
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def next_version(base_path: Path) -> int:
    """One more than the latest version, 1 of none."""
    names = [path.name for path in base_path.iterdir()]
    return max((int(name) for name in names if name.isdecimal()), default=0) + 1


@contextlib.contextmanager
def _locked_aside(base_path: Path) -> Iterator[Path]:
    """A folder beside the versions; it is somebody's for as long as it is locked."""
    while True:
        aside = base_path / f"{_ASIDE}{uuid.uuid4().hex}"
        aside.mkdir()
        descriptor = _lock(aside)
        if descriptor is not None and aside.exists():
            break
    try:
        yield aside
    finally:
        os.close(descriptor)


def _clear(base_path: Path) -> None:
    """Takes away what a killed export has left."""
    for aside in base_path.glob(f"{_ASIDE}*"):
        descriptor = _lock(aside)
        if descriptor is not None:
            shutil.rmtree(aside, ignore_errors=True)
            os.close(descriptor)


def _lock(folder: Path) -> int | None:
    """What holds the lock until it is closed, or until the process ends; None if others hold it."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _rename(aside, base_path, version):
    while True:
        path = base_path / str(next_version(base_path) if version is None else version)
        try:
            os.rename(aside, path)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            # Another export was faster.
            if version is not None:
                _refuse_if_taken(path)
        else:
            return path


def _refuse_if_taken(path):
    if path.exists():
        raise FileExistsError(
            f"There is a version {path.name} in {path.parent} already: expected a new number, or "
            "none for the next free one."
        )


def _sync(folder):
    """Has the files on the disk before their folder gets its name."""
    for path in folder.rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.fsync(file.fileno())
