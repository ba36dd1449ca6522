"""What is served in the campaign: two models in turn, whose weights differ, and their answers."""

import dataclasses
import http.client
import json
import os
import shutil
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from absl import flags

from campaign import forks
from keras_stackrnn.export import export
from keras_stackrnn.models import NextSymbolModel
from keras_stackrnn.serving import server

MODEL = "m"
SYMBOLS = "abcd"
_START_SECONDS = 120.0
_FLAGS = (
    f"--model_name={MODEL}",
    "--enable_batching",
    f"--batching_parameters_file={Path(server.__file__).with_name('batching.config')}",
    "--file_system_poll_wait_seconds=0.2",
    "--load_retry_interval_micros=100000",
    "--read_seconds=5",
    "--session_idle_seconds=60",
    "--max_message_bytes=1048576",
)


def export_both(folder: Path) -> None:
    """Writes both models; that of even versions is `exports/1`, that of odd ones `exports/2`."""
    for parity in (0, 1):
        export(_model(parity), folder / "exports", version=parity + 1)


def answers(texts: Sequence[str]) -> np.ndarray:
    """Probabilities after each text, `[2, texts, symbols]`, from the Keras models themselves."""
    longest = max(map(len, texts))
    tokens = np.array([[*map(SYMBOLS.index, text), *[0] * (longest - len(text))] for text in texts])
    found = []
    for parity in (0, 1):
        logits = np.asarray(_model(parity)(tokens), np.float64)
        last = logits[np.arange(len(texts)), [len(text) - 1 for text in texts]]
        exponentials = np.exp(last - last.max(-1, keepdims=True))
        found.append(exponentials / exponentials.sum(-1, keepdims=True))
    return np.array(found)


def _model(parity: int) -> NextSymbolModel:
    kind = {"kind": "stack", "memories": 2, "rounding": True} if parity else {"kind": "rnn"}
    model = NextSymbolModel(vocabulary=SYMBOLS, units=6, **kind)
    normal = np.random.default_rng(parity).normal
    model.set_weights([normal(size=weight.shape) for weight in model.weights])
    return model


@dataclasses.dataclass
class Server:
    """The embedded server as a process of its own, and its folder of versions."""

    folder: Path
    base: Path
    port: int
    rest_port: int
    version: int = 0
    process: int | None = None

    @property
    def log(self) -> Path:
        return self.folder / f"server-{self.port}.log"

    def install(self) -> None:
        """Puts the next version beside the last; it is whole as soon as it is there."""
        self.version += 1
        self.base.mkdir(exist_ok=True)
        aside = self.base / f"partial-{self.version}"
        shutil.copytree(self.folder / "exports" / str(self.version % 2 + 1), aside)
        aside.rename(self.base / str(self.version))
        for path in self.base.iterdir():
            if path.name.isdecimal() and int(path.name) < self.version - 3:
                shutil.rmtree(path)

    def start(self) -> None:
        """Starts it; it answers when this returns."""
        self.process = forks.fork(self._serve, self.log)
        due = time.monotonic() + _START_SECONDS
        while not self._is_available():
            if time.monotonic() > due or os.waitpid(self.process, os.WNOHANG)[0]:
                raise RuntimeError(f"The server does not start: {self.log.read_text()[-2000:]}")
            time.sleep(0.05)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ends it by a signal; returns its exit code."""
        os.kill(self.process, number)
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])

    def memory(self) -> int:
        """Bytes of its memory that are in use."""
        pages = Path(f"/proc/{self.process}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGESIZE")

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process}/fd"))

    def available(self) -> int | None:
        """The latest version that answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.rest_port, timeout=30)
        try:
            connection.request("GET", f"/v1/models/{MODEL}")
            states = json.loads(connection.getresponse().read())["model_version_status"]
        except (OSError, KeyError, http.client.HTTPException):
            return None
        finally:
            connection.close()
        found = [int(each["version"]) for each in states if each["state"] == "AVAILABLE"]
        return max(found, default=None)

    def _is_available(self) -> bool:
        return self.available() is not None

    def _serve(self) -> int:
        values = flags.FlagValues()
        server.define_flags(values)
        places = {
            "model_base_path": self.base,
            "port": self.port,
            "rest_api_port": self.rest_port,
        }
        values(["server", *_FLAGS, *(f"--{name}={value}" for name, value in places.items())])
        flags.FLAGS = values
        server.main(["server"])
        return 0
