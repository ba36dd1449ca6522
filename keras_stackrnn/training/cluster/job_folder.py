"""The folder of a job that runs elsewhere: nobody but this process writes there."""

import contextlib
import io
import os
import shutil
import tarfile
from pathlib import Path

from keras_stackrnn.training import run_folder
from keras_stackrnn.training.checkpoints import Checkpoints, to_bytes
from keras_stackrnn.training.cluster.remote import Finished
from keras_stackrnn.training.files import RunError, locked
from keras_stackrnn.training.sweep.job import Job


class JobFolder:
    """The folder of a job, which is this process' own while it is open."""

    def __init__(self, job: Job):
        self._job = job
        self._checkpoints = Checkpoints(job.folder / run_folder.CHECKPOINTS)
        self._open = contextlib.ExitStack()

    def open(self) -> None:
        """Begins the run there, unless it is begun."""
        folder = self._job.folder
        with _faults_told(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._open.enter_context(locked(folder))
            if (folder / run_folder.CONFIG).exists():
                run_folder.check_same_run(self._job.config, folder)
            else:
                run_folder.begin(self._job.config, folder, overwrite=False)

    def close(self) -> None:
        """Lets others have it."""
        self._open.close()

    def begun(self) -> tuple[bytes, bytes]:
        """What a node needs to go on: `config.json`, and the last checkpoint."""
        config = (self._job.folder / run_folder.CONFIG).read_bytes()
        return config, to_bytes(self._checkpoints.load())

    def save(self, checkpoint: bytes) -> None:
        """Keeps a checkpoint."""
        with _faults_told(self._job.folder):
            self._checkpoints.save_bytes(checkpoint)

    def publish(self, finished: Finished) -> None:
        """Puts what a run has left in its place; what says that it is finished comes last."""
        folder = self._job.folder
        self.save(finished.checkpoint)
        aside = folder / "partial-run"
        with _faults_told(folder):
            shutil.rmtree(aside, ignore_errors=True)
            with tarfile.open(fileobj=io.BytesIO(finished.tar)) as tar:
                tar.extractall(aside, filter="data")
            last = (run_folder.OUTCOME, run_folder.EVALUATION)
            for path in sorted(aside.iterdir(), key=lambda path: path.name in last):
                _move(path, folder / path.name)
            aside.rmdir()


def _move(source: Path, target: Path) -> None:
    """Gives a file or a folder its name; of a folder that is there, to all in it."""
    if not (source.is_dir() and target.is_dir()):
        os.replace(source, target)
        return
    for each in source.iterdir():
        _move(each, target / each.name)
    source.rmdir()


@contextlib.contextmanager
def _faults_told(folder: Path):
    try:
        yield
    except OSError as error:
        raise RunError(f"Cannot write {error.filename or folder}: {error.strerror}") from error
