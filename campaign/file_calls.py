"""The calls by which a process changes files, each shown to another process before it happens.

The kernel asks (seccomp's user notification), so that it makes no difference whether Python, Keras
or TensorFlow's own C++ writes. Who is asked lets the call happen, makes it fail, or kills.
"""

import ctypes
import errno
import fcntl
import os
import platform
import select
import signal
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from campaign import forks

# By the names of Linux: numbers on x86_64 and aarch64, -1 where there is no such call.
_CALLS = {
    "write": (1, 64),
    "pwrite64": (18, 68),
    "writev": (20, 66),
    "sendfile": (40, 71),
    "fsync": (74, 82),
    "fdatasync": (75, 83),
    "truncate": (76, 45),
    "ftruncate": (77, 46),
    "rename": (82, -1),
    "mkdir": (83, -1),
    "rmdir": (84, -1),
    "unlink": (87, -1),
    "mkdirat": (258, 34),
    "unlinkat": (263, 35),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "copy_file_range": (326, 285),
}
_OPEN = {"open": (2, -1), "openat": (257, 56)}
# Of each, which of the two numbers are its own, and that of seccomp itself.
_ARCHITECTURES = {"x86_64": (0, 317), "aarch64": (1, 277)}
_COLUMN, _SECCOMP = _ARCHITECTURES.get(platform.machine(), (0, 317))
_NAMES = {each[_COLUMN]: name for name, each in {**_CALLS, **_OPEN}.items() if each[_COLUMN] >= 0}

# Which argument is the descriptor of a file, a folder and a name in it, or a name alone.
_DESCRIPTOR = {
    **dict.fromkeys(("write", "pwrite64", "writev", "sendfile"), 0),
    **dict.fromkeys(("fsync", "fdatasync", "ftruncate"), 0),
    "copy_file_range": 2,
}
_AT = ("mkdirat", "unlinkat", "renameat", "renameat2", "openat")
_AT_FDCWD = -100

_PR_SET_NO_NEW_PRIVS = 38
_SET_MODE_FILTER = 1
# A signal waits until the call that was asked about is over, as it would without asking.
_NEW_LISTENER = 8 | 32
_ALLOW, _NOTIFY = 0x7FFF0000, 0x7FC00000
_LOAD, _EQUALS, _HAS_BITS, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER_AT, _ARGUMENTS_AT = 0, 16
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_GO_ON = 1
_LOOK_SECONDS = 0.2


class FileCall(NamedTuple):
    """A call that is about to happen.

    Attributes:
        name: that of the system's call.
        path: what it changes, below the folder that is watched.
        process: the id of the process.
    """

    name: str
    path: str
    process: int

    @property
    def kind(self) -> str:
        """The file or the folder that it belongs to: the first part of its path."""
        return (*Path(self.path).parts, ".")[0].removeprefix("partial-")


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def unavailable() -> str:
    """Why calls cannot be watched here; empty if they can."""
    if platform.system() != "Linux" or platform.machine() not in _ARCHITECTURES:
        return f"calls are watched on Linux alone, not on {platform.system()} {platform.machine()}"
    try:
        watched(lambda: 0, Path("/"), lambda call: 0)
    except OSError as error:
        return f"this system lets no process watch another one's calls ({error.strerror})"
    return ""


def watched(
    function: Callable[[], int],
    folder: Path,
    before: Callable[[FileCall], int],
    log: Path | None = None,
    kill_after: float | None = None,
) -> int:
    """Runs `function` in a forked process; returns its exit code, negative for a signal.

    Args:
        function: what the process does.
        folder: calls that change something below it are shown, and no others.
        before: called with each of them; an error's number makes it fail, 0 lets it happen.
        log: where the process's output goes.
        kill_after: it is killed after so many seconds.
    """
    ours, its = socket.socketpair()

    def run() -> int:
        ours.close()
        listener = _install_filter()
        socket.send_fds(its, [b"."], [listener])
        os.close(listener)
        its.close()
        return function()

    process = forks.fork(run, log)
    its.close()
    try:
        data, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
        if not data:
            os.waitpid(process, 0)
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        return _attend(process, descriptors[0], folder, before, kill_after)
    finally:
        ours.close()


def _attend(process, listener, folder, before, kill_after) -> int:
    due = None if kill_after is None else time.monotonic() + kill_after
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    try:
        while True:
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            if due is not None and time.monotonic() >= due:
                os.kill(process, signal.SIGKILL)
                due = None
            for _, event in poll.poll(_LOOK_SECONDS * 1000):
                if event & select.POLLIN:
                    _answer(process, listener, folder, before)
                elif event & select.POLLHUP:
                    time.sleep(0.01)
    except BaseException:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        raise
    finally:
        os.close(listener)


def _answer(process, listener, folder, before) -> None:
    request = bytearray(80)
    try:
        fcntl.ioctl(listener, _RECEIVE, request)
    except OSError:  # The process is gone.
        return
    ticket, thread, _, number, _, _, *arguments = struct.unpack("QIIiIQ6Q", request)
    refused = 0
    try:
        path = os.path.relpath(_path_of(thread, _NAMES[number], arguments), folder)
        if not path.startswith(".."):
            refused = before(FileCall(_NAMES[number], path, process))
    except OSError:  # A pipe, or the process is gone.
        pass
    answer = struct.pack("QqiI", ticket, 0, -refused, 0 if refused else _GO_ON)
    try:
        fcntl.ioctl(listener, _SEND, bytearray(answer))
    except OSError:  # It was killed meanwhile.
        return


def _path_of(thread: int, name: str, arguments: list[int]) -> str:
    if name in _DESCRIPTOR:
        return os.readlink(f"/proc/{thread}/fd/{arguments[_DESCRIPTOR[name]]}")
    if name not in _AT:
        return os.path.join(os.readlink(f"/proc/{thread}/cwd"), _text_at(thread, arguments[0]))
    folder = ctypes.c_int(arguments[0] & 0xFFFFFFFF).value
    where = "cwd" if folder == _AT_FDCWD else f"fd/{folder}"
    return os.path.join(os.readlink(f"/proc/{thread}/{where}"), _text_at(thread, arguments[1]))


def _text_at(thread: int, address: int) -> str:
    with open(f"/proc/{thread}/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        data = b""
        while b"\0" not in data:
            # A page at most: the next one may not be there.
            chunk = memory.read(4096 - (address + len(data)) % 4096)
            if not chunk:
                break
            data += chunk
    return os.fsdecode(data.partition(b"\0")[0])


def _install_filter() -> int:
    """Has the kernel ask before these calls of this process; returns where it asks."""
    instructions = b"".join(_filter())
    buffer = ctypes.create_string_buffer(instructions, len(instructions))
    program = _Program(len(instructions) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    listener = libc.syscall(_SECCOMP, _SET_MODE_FILTER, _NEW_LISTENER, ctypes.byref(program))
    if listener < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return listener


def _filter() -> list[bytes]:
    """Asks before all of `_CALLS`, and before files are opened to be made anew or emptied."""
    numbers = [number for number, name in _NAMES.items() if name in _CALLS]
    opens = [(number, 1 + (name in _AT)) for number, name in _NAMES.items() if name in _OPEN]
    lines: list[tuple] = [(_LOAD, _NUMBER_AT)]
    ask = len(numbers) + 4 * len(opens) + 2
    lines += [(_EQUALS, number, ask - place - 1) for place, number in enumerate(numbers, 1)]
    for number, flags in opens:
        skip = (_EQUALS, number, 0, 3)
        lines += [
            skip,
            (_LOAD, _ARGUMENTS_AT + 8 * flags),
            (_HAS_BITS, os.O_CREAT | os.O_TRUNC, ask - len(lines) - 3),
            (_LOAD, _NUMBER_AT),
        ]
    lines += [(_RETURN, _ALLOW), (_RETURN, _NOTIFY)]
    return [_instruction(*line) for line in lines]


def _instruction(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_so, if_not, value)
