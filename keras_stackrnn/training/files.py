"""Files that are there as a whole or not at all, and a folder for one run at a time."""

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path


class RunError(Exception):
    """A run cannot begin or go on; the message is one sentence for the person who started it."""


def write_aside(path: Path, write: Callable[[Path], object]) -> None:
    """Has `write` make a file beside `path`, then gives it that name in one step.

    Whatever stops it, `path` is afterwards either what it was before or the whole new file.
    """
    aside = path.with_name(f"partial-{path.name}")
    try:
        write(aside)
        with open(aside, "rb") as file:
            os.fsync(file.fileno())
        os.replace(aside, path)
        _sync_folder(path.parent)
    except OSError as error:
        # Some libraries raise it with nothing but a text.
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        aside.unlink(missing_ok=True)


def clear_partial(folder: Path, names: Iterable[str]) -> None:
    """Takes away what a killed process has left half written of files with these names."""
    for name in names:
        for path in folder.glob(f"partial-{name}"):
            path.unlink()


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keeps other processes out of a run's folder; the system lifts it when the process ends."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise RunError(f"Another process is training in {folder} right now.") from None
    try:
        yield
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
