"""Sequences that a client sends symbol by symbol: the state travels, or the server keeps it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from absl import app

if TYPE_CHECKING:
    from keras_stackrnn.serving.client import Client

Arrays = dict[str, np.ndarray]

_START, _END = 1, 2
_MOST_PROBABLE = 10


class Session:
    """Sequences that grow symbol by symbol; the server keeps nothing, the state travels.

    A step sends only the new symbols, so the thousandth costs what the first did. The state
    belongs to one version of the model, and every step goes to that version.

    Args:
        client: asks the model.
        batch_size: how many sequences go side by side.

    Example:

    >>> session = client.session()
    >>> session.step([[0, 0]])["probabilities"]
    >>> session.step([[1]])["probabilities"]
    """

    def __init__(self, client: "Client", batch_size: int):
        if batch_size < 1:
            raise ValueError(f"batch_size must be a positive integer, got {batch_size}.")
        self._client = client
        self._batch_size = batch_size
        rows = client._shaped("initial_state", "batch_size", batch_size, batch_size)
        response = client._predict("initial_state", {"batch_size": rows})
        self._version = response.model_spec.version.value
        self.state: Arrays = client._arrays(response)

    def step(self, sequences: Sequence[Sequence[int]]) -> Arrays:
        """Reads more symbols of each sequence.

        Args:
            sequences: the new token ids of each sequence; an empty list reads nothing.

        Returns:
            `probabilities` of the next symbol, and whatever else `step` gives besides the state.
        """
        if len(sequences) != self._batch_size:
            raise ValueError(
                f"A session of {self._batch_size} sequences got {len(sequences)} of them."
            )
        inputs = {**padded(sequences), **self.state}
        outputs = self._client.call("step", inputs, version=self._version)
        self.state = {name: outputs.pop(name) for name in self.state}
        return outputs


class KeptSession:
    """Sequences whose state the embedded server keeps, as OpenVINO's model server does.

    A step sends the new symbols and a number. The session stays on the version that it started on,
    and ends with `end`, or some time after its last step.

    Args:
        client: asks the model.
        batch_size: how many sequences go side by side.
        session_id: the number of a session that has been started; 0: `start` gets one.

    Example:

    >>> with client.kept_session() as session:
    ...     session.step([[0, 0]])["probabilities"]
    ...     session.step([[1]])["probabilities"]
    """

    def __init__(self, client: "Client", batch_size: int = 1, session_id: int = 0):
        if batch_size < 1:
            raise ValueError(f"batch_size must be a positive integer, got {batch_size}.")
        self.id = session_id
        self._client = client
        self._nothing = [()] * batch_size
        self._version: int | None = None

    def start(self, state: Mapping[str, np.ndarray] | None = None) -> "KeptSession":
        """Starts the session on the server, from `state` if there is one."""
        self._ask(self._nothing, _START, state)
        return self

    def step(self, sequences: Sequence[Sequence[int]]) -> Arrays:
        """Reads more symbols of each sequence; see `Session.step`."""
        return self._ask(sequences)

    def state(self) -> Arrays:
        """Returns the state as it is, for `put_back` or `start`, here or elsewhere."""
        names = list(self._client.signatures()["initial_state"].outputs)
        return self._ask(self._nothing, outputs=names)

    def put_back(self, state: Mapping[str, np.ndarray]) -> None:
        """Replaces the state."""
        self._ask(self._nothing, state=state)

    def move(self, version: int) -> None:
        """Goes on on another version of the model, if its state has the same shapes."""
        self._version = version
        self._ask(self._nothing)

    def end(self) -> None:
        """Frees the session's place on the server."""
        self._ask(self._nothing, _END)

    def __enter__(self) -> "KeptSession":
        return self

    def __exit__(self, *error) -> None:
        self.end()

    def _ask(self, sequences, control=0, state=None, outputs=()) -> Arrays:
        inputs = {
            **padded(sequences),
            "sequence_id": np.array([self.id], np.uint64),
            "sequence_control_input": np.array([control], np.uint32),
            **(state or {}),
        }
        response = self._client._predict("step", inputs, outputs, self._version)
        # The client may be one of the latest version, and the session is on its own.
        self._version = response.model_spec.version.value
        answer = self._client._arrays(response)
        self.id = answer.pop("sequence_id").item()
        return answer


def padded(sequences: Sequence[Sequence[int]]) -> Arrays:
    """Token ids as the inputs `tokens`, padded with 0, and `lengths`."""
    lengths = np.array([len(sequence) for sequence in sequences], np.int32)
    tokens = np.zeros((len(sequences), lengths.max(initial=0)), np.int32)
    for row, sequence in enumerate(sequences):
        tokens[row, : len(sequence)] = sequence
    return {"tokens": tokens, "lengths": lengths}


def token_ids(argument: str) -> list[int]:
    """Reads the token ids of a command line."""
    try:
        return [int(token) for token in argument.split(",")]
    except ValueError:
        raise app.UsageError(f"Expected token ids like 0,0,1, got {argument!r}.") from None


def run_command(client: "Client", arguments: Sequence[str]) -> None:
    """Does what `session start`, or `step`, `save`, `load`, `move` or `end` with a number, say."""
    usage = (
        "Expected session start, step ID TOKENS, save ID FILE, load ID FILE, move ID VERSION or "
        f"end ID, got session {' '.join(arguments)}."
    )
    command, *operands = arguments
    session = KeptSession(client)
    if operands and operands[0].isdecimal():
        session.id = int(operands.pop(0))
    elif operands:
        raise app.UsageError(usage)
    match command, operands:
        case "start", []:
            print(session.start().id)
        case "step", [tokens]:
            [probabilities] = session.step([token_ids(tokens)])["probabilities"]
            for token in np.argsort(-probabilities)[:_MOST_PROBABLE]:
                print(f"{token:6d} {probabilities[token]:6.1%}")
        case "save", [path]:
            with open(path, "wb") as file:
                np.savez(file, **session.state())
        case "load", [path]:
            with np.load(path) as state:
                session.put_back(dict(state))
        case "move", [version] if version.isdecimal():
            session.move(int(version))
        case "end", []:
            session.end()
        case _:
            raise app.UsageError(usage)
