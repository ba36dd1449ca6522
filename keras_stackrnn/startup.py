"""What a command shows while TensorFlow starts: its errors, and none of its small talk.

A program that merely imports the package sees what it always saw.
"""

import contextlib
import faulthandler
import glob
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

PROGRAM = "keras-stackrnn"
_LOG_LEVEL = "TF_CPP_MIN_LOG_LEVEL"
_TRAIN = Path(__file__).parents[1] / "train.py"
# What TensorFlow writes before its own log level counts: see tensorflow/tensorflow#100442.
_SMALL_TALK = re.compile(
    rb"WARNING: All log messages before absl::InitializeLog\(\)"
    rb"|I\d{4} \d\d:\d\d:\d\d"
    rb"|\d{4}-\d\d-\d\d [\d:.]+: I "
    rb"|To enable the following instructions: "
)
_NO_DRIVER = b"failed call to cuInit"


def is_command() -> bool:
    """Whether this process is one of the package's own commands."""
    program = sys.argv[0] if sys.argv else ""
    # Python says -m while it looks for the module to run, which is when the package is imported.
    return program == "-m" or is_installed_command() or Path(program).absolute() == _TRAIN


def is_installed_command() -> bool:
    """Whether this process is `keras-stackrnn`."""
    return bool(sys.argv) and Path(sys.argv[0]).name.partition(".")[0] in (
        PROGRAM,
        f"{PROGRAM}-script",
    )


def training_call() -> str:
    """How a training is called by whoever reads what this process prints."""
    return f"{PROGRAM} train" if is_installed_command() else "python train.py"


def asks_for_overview() -> bool:
    """Whether the command line asks for nothing but words, for which nothing has to be loaded."""
    if not is_installed_command() and sys.orig_argv[-2:] != ["-m", "keras_stackrnn"]:
        return False
    return not sys.argv[1:] or sys.argv[1] in ("-h", "--help", "--version", "completion")


@contextlib.contextmanager
def only_errors() -> Iterator[None]:
    """While TensorFlow is imported: what it writes to stderr comes out afterwards, filtered.

    Whoever sets TF_CPP_MIN_LOG_LEVEL to 0 wants to see what it says, and gets all of it.
    """
    if not is_command() or os.environ.get(_LOG_LEVEL) == "0":
        yield
        return
    os.environ.setdefault(_LOG_LEVEL, "2")
    with filtered_stderr():
        yield
        # Looks for GPUs, about which there is more to be said.
        if (tensorflow := sys.modules.get("tensorflow")) is not None:
            tensorflow.config.list_physical_devices()


@contextlib.contextmanager
def filtered_stderr() -> Iterator[None]:
    """Holds back what is written to file descriptor 2, and lets out what is worth reading."""
    try:
        stderr = os.dup(2)
    except OSError:  # there is none
        yield
        return
    with tempfile.TemporaryFile() as written:
        os.dup2(written.fileno(), 2)
        # A crash takes the file with it: say at least where it was.
        crashes = not faulthandler.is_enabled()
        if crashes:
            faulthandler.enable(stderr)
        try:
            yield
        finally:
            if crashes:
                faulthandler.disable()
            sys.stderr.flush()
            os.dup2(stderr, 2)
            written.seek(0)
            for line in written:
                if not is_small_talk(line):
                    os.write(2, line)
            os.close(stderr)


def is_small_talk(line: bytes) -> bool:
    """Whether nobody has to read a line of TensorFlow's."""
    if _NO_DRIVER in line:
        # Where there is no GPU, there is nothing wrong with not having found one.
        return not glob.glob("/dev/nvidia[0-9]*")
    return _SMALL_TALK.match(line) is not None
