"""Signals: a run that gets one is saved before it ends."""

import signal
import threading

from keras_stackrnn.training.files import RunError


class InterruptedRunError(RunError):
    """A signal has ended the run, which is saved and can be resumed."""

    def __init__(self, message: str, signal_number: int):
        super().__init__(message)
        self.signal_number = signal_number


class Interrupts:
    """While it is entered, the first SIGINT, SIGTERM or SIGHUP is noted; a second one acts at once.

    Args:
        resume_command: The command that goes on with the run.
    """

    def __init__(self, resume_command: str):
        self._resume_command = resume_command
        self._handlers = {}
        self.pending: int | None = None

    def __enter__(self):
        # Python hands signals to the main thread alone.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                # What nohup has a process ignore, it goes on ignoring.
                nohup = number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN
                if not nohup:
                    self._handlers[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, kind, *_):
        self._restore()
        if self.pending and kind is None:
            # It came too late to stop this run, not to stop what would follow.
            signal.raise_signal(self.pending)

    def check(self) -> None:
        """Raises if there was a signal."""
        if self.pending:
            raise InterruptedRunError(
                f"Stopped; everything is saved, go on with: {self._resume_command}",
                self.pending,
            )

    def _note(self, number, _):
        self.pending = number
        self._restore()

    def _restore(self):
        while self._handlers:
            signal.signal(*self._handlers.popitem())
