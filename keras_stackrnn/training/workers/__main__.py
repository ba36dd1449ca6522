"""One of the workers that a launcher starts: `launcher.py` says how it is told what to train."""

import json
import os
import signal
import sys
import threading

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from keras_stackrnn.training.files import RunError
from keras_stackrnn.training.interrupts import InterruptedRunError
from keras_stackrnn.training.language_config import LanguageModelConfig
from keras_stackrnn.training.run import train
from keras_stackrnn.training.workers import place
from keras_stackrnn.training.workers.group import WorkerLostError
from keras_stackrnn.training.workers.launcher import LOST


def main() -> None:
    values, log = json.loads(sys.stdin.readline())
    config = LanguageModelConfig.from_json(values)
    is_first = place.of_environment().index == 0
    if is_first:
        threading.Thread(target=_end_with_launcher, daemon=True).start()
    try:
        train(config, resume=True, log=log)
    except InterruptedRunError as interruption:
        sys.exit(128 + interruption.signal_number)
    except WorkerLostError:
        sys.exit(LOST)
    except RunError as error:
        # The others have nothing to say that the first does not.
        sys.exit(str(error) if is_first else LOST)


def _end_with_launcher() -> None:
    """Where the launcher is gone, nobody can stop the workers: the run is saved and ends."""
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
