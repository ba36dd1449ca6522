"""Who may use which session when: turns, numbers, bounds, and the end of those nobody uses."""

import contextlib
import dataclasses
import secrets
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Future

import grpc
import numpy as np

from keras_stackrnn.serving import status
from keras_stackrnn.serving.answers import ended
from keras_stackrnn.serving.models import Servable

# Values of `sequence_control_input`.
CONTINUE, START, END = 0, 1, 2

# JSON's numbers are exact up to here in every language.
_LARGEST_ID = 2**53
_LOOKS_AN_IDLE_TIME = 4
_SHORTEST_WAIT_SECONDS = 0.01


@dataclasses.dataclass(frozen=True)
class SessionOptions:
    """How many sessions there may be, and for how long; the names are those of the flags."""

    session_idle_seconds: float = 300.0
    max_sessions: int = 500
    max_session_bytes: int = 2**30

    def __post_init__(self):
        if not 0 <= self.session_idle_seconds < threading.TIMEOUT_MAX:
            raise ValueError(
                "session_idle_seconds must be 0, which is never, or more, "
                f"got {self.session_idle_seconds}."
            )
        for name in ("max_sessions", "max_session_bytes"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be 0 or more, got {getattr(self, name)}.")


class Session:
    """A sequence that is not over; it belongs to one request at a time.

    Attributes:
        name: the model's.
        id: its number, unique among the model's sessions.
        servable: the version it lives on; None before its first request has run.
        state: arrays by the name of the input that takes them.
    """

    def __init__(self, name: str, session_id: int):
        self.name = name
        self.id = session_id
        self.servable: Servable | None = None
        self.state: Mapping[str, np.ndarray] = {}
        self._lease = contextlib.ExitStack()
        self._bytes = 0
        self._used_at = 0.0
        self._is_busy = True
        self._is_ending = False
        self._waiters: deque[Future] = deque()

    def settle(self, servable: Servable, lease: contextlib.ExitStack) -> None:
        """Moves to a version, which `lease` keeps loaded, and lets go of the last one."""
        last, self._lease = self._lease, lease
        self.servable = servable
        last.close()


class SessionTable:
    """All sessions of a server.

    Requests for one session take turns in the order they came; those for different ones do not
    wait for each other. A session is over when its last request is answered, when its first one
    failed, when nobody has used it for a time, or with the table; whichever comes first frees its
    place, its state and its version, and the others find it gone.

    Args:
        options: see `SessionOptions`.
        clock: seconds that never go back.
    """

    def __init__(self, options: SessionOptions, clock: Callable[[], float] = time.monotonic):
        self._options = options
        self._clock = clock
        self._sessions: dict[tuple[str, int], Session] = {}
        self._bytes = 0
        self._is_closed = False
        self._changed = threading.Condition()
        self._relay = threading.local()
        self._reaper: threading.Thread | None = None

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def bytes(self) -> int:
        """What the states of all sessions take."""
        return self._bytes

    @contextlib.asynccontextmanager
    async def turn(self, name: str, session_id: int, control: int) -> AsyncIterator[Session]:
        """Hands out a session for one request, once it is this request's turn.

        A request that fails changes nothing: a session it would have begun is not there, and one
        it would have ended still is.

        Args:
            name: the model's.
            session_id: the session's; 0 with `START`: any free one.
            control: `CONTINUE`, `START` or `END`.
        """
        if control == START:
            session = self._begin(name, session_id)
        else:
            session = await self._join(name, session_id, control)
        stays = control != START
        try:
            yield session
            stays = control != END
        finally:
            self._leave(session, stays)

    def keep(self, session: Session, state: Mapping[str, np.ndarray]) -> None:
        """Replaces the state of a session whose turn it is."""
        # A row of a batch would hold all of the batch's rows.
        state = {
            name: array.copy() if isinstance(array.base, np.ndarray) else array
            for name, array in state.items()
        }
        size = sum(array.nbytes for array in state.values())
        with self._changed:
            total = self._bytes - session._bytes + size
            if size > session._bytes and total > self._options.max_session_bytes:
                raise status.resource_exhausted(
                    f"Sessions may keep {self._options.max_session_bytes} bytes together: session "
                    f"{session.id}, which goes on from before this request, needs {size}, "
                    f"and the others take {total - size}"
                )
            self._bytes, session._bytes = total, size
        session.state = state

    def close(self) -> None:
        """Ends all sessions, those under way when their request is answered."""
        with self._changed:
            self._is_closed = True
            idle = [session for session in self._sessions.values() if not session._is_busy]
            for session in idle:
                self._remove(session)
            self._changed.notify_all()
        _let_go(idle)
        if self._reaper:
            self._reaper.join()

    def _begin(self, name: str, session_id: int) -> Session:
        with self._changed:
            idle = self._remove_idle()
            try:
                session = self._new(name, session_id)
            finally:
                _let_go(idle)
            self._sessions[name, session.id] = session
            self._start_reaper()
        return session

    def _new(self, name: str, session_id: int) -> Session:
        if self._is_closed:
            raise status.ServingError(grpc.StatusCode.UNAVAILABLE, "The server is stopping")
        if present := self._sessions.get((name, session_id)):
            if present._is_ending:
                raise status.failed_precondition(
                    f"Session {session_id} of {name} is about to end: "
                    "its last request is still being answered"
                )
            raise status.ServingError(
                grpc.StatusCode.ALREADY_EXISTS, f"Session {session_id} of {name} already exists"
            )
        if len(self._sessions) >= self._options.max_sessions:
            raise status.ServingError(
                grpc.StatusCode.UNAVAILABLE,
                f"There are {len(self._sessions)} sessions, and at most "
                f"{self._options.max_sessions} are kept: end one, or try again later",
            )
        while not session_id or (name, session_id) in self._sessions:
            session_id = secrets.randbelow(_LARGEST_ID)  # nobody else guesses it
        return Session(name, session_id)

    async def _join(self, name: str, session_id: int, control: int) -> Session:
        if not session_id:
            raise status.invalid_argument(
                "sequence_id is missing: expected that of a session, or "
                f"sequence_control_input {START} to start one"
            )
        idle, waiter = [], None
        with self._changed:
            session = self._sessions.get((name, session_id))
            if session and self._is_idle(session):
                self._remove(session)
                idle, session = [session], None
            elif session and session._is_busy:
                waiter = Future()
                session._waiters.append(waiter)
            elif session:
                session._is_busy = True
        _let_go(idle)
        if session is None or (waiter and not await ended(waiter)):
            raise status.not_found(
                f"There is no session {session_id} of {name}: "
                "it was never started, has ended, or was not used for too long"
            )
        session._is_ending = control == END
        return session

    def _leave(self, session: Session, stays: bool) -> None:
        with self._changed:
            stays = stays and not self._is_closed
            woken = []
            if stays:
                session._is_ending = False
                session._used_at = self._clock()
                while session._waiters and not woken:
                    waiter = session._waiters.popleft()
                    if waiter.set_running_or_notify_cancel():
                        woken.append(waiter)
                session._is_busy = bool(woken)
            else:
                self._remove(session)
                woken = [w for w in session._waiters if w.set_running_or_notify_cancel()]
        if not stays:
            _let_go([session])
        self._wake(woken, stays)

    def _wake(self, waiters: list[Future], is_there: bool) -> None:
        """Goes on with requests that waited for their turn, one after the other on this thread.

        Who waited may be done at once, and then wakes the next from within: a thousand of them
        must not be called from within each other.
        """
        pending = getattr(self._relay, "pending", None)
        if pending is not None:
            pending += [(waiter, is_there) for waiter in waiters]
            return
        self._relay.pending = pending = deque((waiter, is_there) for waiter in waiters)
        try:
            while pending:
                waiter, result = pending.popleft()
                waiter.set_result(result)
        finally:
            self._relay.pending = None

    def _remove_idle(self) -> list[Session]:
        idle = [session for session in self._sessions.values() if self._is_idle(session)]
        for session in idle:
            self._remove(session)
        return idle

    def _is_idle(self, session: Session) -> bool:
        limit = self._options.session_idle_seconds
        return limit > 0 and not session._is_busy and self._clock() - session._used_at >= limit

    def _remove(self, session: Session) -> None:
        """Frees the session's place; whoever calls this lets go of its version."""
        del self._sessions[session.name, session.id]
        self._bytes -= session._bytes

    def _start_reaper(self) -> None:
        if self._options.session_idle_seconds and not self._reaper:
            self._reaper = threading.Thread(target=self._reap, name="session-reaper", daemon=True)
            self._reaper.start()

    def _reap(self) -> None:
        wait = max(self._options.session_idle_seconds / _LOOKS_AN_IDLE_TIME, _SHORTEST_WAIT_SECONDS)
        while True:
            with self._changed:
                if self._changed.wait_for(lambda: self._is_closed, wait):
                    return
                idle = self._remove_idle()
            _let_go(idle)


def _let_go(sessions: list[Session]) -> None:
    for session in sessions:
        session._lease.close()
