"""Trains as standard input says: what runs in a `TrainerProcess`."""

import json
import os
import signal
import sys
import threading
from pathlib import Path

from keras_stackrnn.training import InterruptedRunError, RunError, run_folder
from keras_stackrnn.training.configs import config_class
from keras_stackrnn.training.run import search, train
from keras_stackrnn.training.trainer_process import LOST
from keras_stackrnn.training.workers import place
from keras_stackrnn.training.workers.group import WorkerLostError


def main() -> None:
    """Goes on with a run, or begins it, as long as standard input is open."""
    values, log, only_search = json.loads(sys.stdin.readline())
    config = config_class(values["task"]).from_json(values)
    is_first = place.of_environment().index == 0
    if is_first:
        threading.Thread(target=_end_with_stdin, daemon=True).start()
    try:
        is_begun = (Path(config.output_dir) / run_folder.CONFIG).exists()
        carry_out = search if only_search else train
        carry_out(config, resume=is_begun or not is_first, log=log)
    except InterruptedRunError as interruption:
        sys.exit(128 + interruption.signal_number)
    except WorkerLostError:
        sys.exit(LOST)
    except RunError as error:
        # The other workers have nothing to say that the first does not.
        sys.exit(str(error) if is_first else LOST)


def _end_with_stdin() -> None:
    """Where whoever started this is gone, nobody could stop it: the run is saved and ends."""
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
