"""What a node of a cluster does: a run in a folder of its own, which nobody else knows.

Its lines and checkpoints are told to the process that asked for it, which alone writes to the run's
real folder. What an attempt that was given up still has to tell, that process does not listen to.
"""

import contextlib
import functools
import io
import json
import os
import sys
import tarfile
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import tensorflow as tf

from keras_stackrnn.training import run_folder
from keras_stackrnn.training.checkpoints import Checkpoints, to_bytes
from keras_stackrnn.training.cluster.nodes import description, differences
from keras_stackrnn.training.configs import config_class
from keras_stackrnn.training.files import RunError
from keras_stackrnn.training.interrupts import InterruptedRunError
from keras_stackrnn.training.run import search, train

_SECONDS_BETWEEN = 0.5


class Asked(NamedTuple):
    """What is asked of a node.

    Attributes:
        config: The run's configuration, as JSON has it.
        only_search: Whether the search is all of it.
        begun: `config.json` of the run's folder.
        checkpoint: The checkpoint to go on from.
        called_in: The folder that paths in the configuration are meant from.
        like: The name and the description of a node that this one has to be like; `None`: any.
    """

    config: dict
    only_search: bool
    begun: bytes
    checkpoint: bytes
    called_in: str
    like: tuple[str, dict[str, str]] | None


class Told(NamedTuple):
    """What is told of a run: the node that it begins on, its last line, or its last checkpoint."""

    node: str = ""
    node_id: str = ""
    line: str = ""
    checkpoint: bytes = b""


class Finished(NamedTuple):
    """What is left in the end: a tar of the run's folder, and the last checkpoint."""

    tar: bytes
    checkpoint: bytes


def describe() -> dict[str, str]:
    """What this node's results depend on."""
    _use_one_core()
    return description()


def carry_out(asked: Asked, node: str, tell: Callable[[Told], object]) -> Finished | str:
    """Does what is asked; a sentence if that cannot be done."""
    _use_one_core()
    wrong = asked.like and differences(node, description(), *asked.like)
    if wrong:
        return wrong[0]
    with tempfile.TemporaryDirectory(prefix="keras-stackrnn-") as name:
        folder = Path(name)
        (folder / run_folder.CONFIG).write_bytes(asked.begun)
        checkpoints = Checkpoints(folder / run_folder.CHECKPOINTS)
        checkpoints.save_bytes(asked.checkpoint)
        values = {**asked.config, "output_dir": name}
        with _called_in(asked.called_in), _telling(checkpoints, tell) as lines:
            try:
                config = config_class(values["task"]).from_json(values)
                (search if asked.only_search else train)(
                    config, resume=True, output=lines, log="json"
                )
            except InterruptedRunError as interruption:
                # The node is about to go: to Ray, and so to who has asked, this is a loss.
                sys.exit(128 + interruption.signal_number)
            except (RunError, ValueError) as error:
                return str(error)
        return Finished(_packed(folder), to_bytes(checkpoints.load()))


def _packed(folder: Path) -> bytes:
    """All but what is at home already."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for path in sorted(folder.iterdir()):
            if path.name not in (run_folder.CONFIG, run_folder.CHECKPOINTS):
                tar.add(path, path.name)
    return content.getvalue()


class _Lines:
    """A stream that keeps the last line that is written to it."""

    def __init__(self):
        self.last = ""

    def write(self, text: str) -> None:
        if json.loads(text)["event"] == "progress":
            self.last = text

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False


@contextlib.contextmanager
def _telling(checkpoints: Checkpoints, tell: Callable[[Told], object]) -> Iterator[_Lines]:
    """While it is entered, the last line and the last checkpoint are told, now and then."""
    lines, is_over = _Lines(), threading.Event()

    def go_on() -> None:
        line, newest = "", checkpoints.newest()
        while not is_over.wait(_SECONDS_BETWEEN):
            if lines.last != line:
                line = lines.last
                tell(Told(line=line))
            # One that was replaced in the meantime is none.
            with contextlib.suppress(FileNotFoundError):
                if checkpoints.newest() != newest:
                    newest = checkpoints.newest()
                    tell(Told(checkpoint=newest.read_bytes()))

    teller = threading.Thread(target=go_on, daemon=True)
    teller.start()
    try:
        yield lines
    finally:
        is_over.set()
        teller.join()


@contextlib.contextmanager
def _called_in(folder: str) -> Iterator[None]:
    """In the folder that the command was called in, where there is one like it."""
    if os.path.isdir(folder):
        with contextlib.chdir(folder):
            yield
    else:
        yield


@functools.cache
def _use_one_core() -> None:
    """Its other cores have runs of their own."""
    # Where TensorFlow is in use already, it has all of them.
    with contextlib.suppress(RuntimeError):
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
