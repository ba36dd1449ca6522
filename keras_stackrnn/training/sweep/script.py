"""A sweep as the whole of a program: what it finds is written as it comes, faults end it."""

import shlex
import sys
from collections.abc import Callable, Iterable
from typing import Any

from keras_stackrnn.training.configs import AnyConfig
from keras_stackrnn.training.files import RunError
from keras_stackrnn.training.interrupts import InterruptedRunError
from keras_stackrnn.training.sweep.job import Job
from keras_stackrnn.training.sweep.sweep import Sweep


def measure(
    configs: Callable[[], Iterable[AnyConfig]],
    called: str,
    write: Callable[[list[Job]], object],
    **places: Any,
) -> None:
    """Runs what is left to run.

    Args:
        configs: Gives the runs' configurations; ValueError and RunError end the program.
        called: How the program is called, as in "python reproduce/patterns.py".
        write: Writes what the finished ones of these runs found; is called after each, and in the
            end, before the program ends with the sentences of those that failed.
        **places: Where they run: what `places.places` takes.
    """
    try:
        sweep = Sweep(
            list(configs()),
            f"{called} {shlex.join(sys.argv[1:])}".strip(),
            **places,
            on_finished=lambda: write(sweep.jobs),
        )
        failed = sweep.run()
    except InterruptedRunError as interruption:
        print(interruption, file=sys.stderr)
        sys.exit(128 + interruption.signal_number)
    except (RunError, ValueError) as error:
        sys.exit(str(error))
    write(sweep.jobs)
    if failed:
        lines = [f"  {job.name}: {job.words}" for job in failed]
        sys.exit("\n".join([f"{len(failed)} of {len(sweep.jobs)} runs failed:", *lines]))
