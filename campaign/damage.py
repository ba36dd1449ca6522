"""Damaged files, and what may be said of them: one sentence, and never nonsense."""

import contextlib
import dataclasses
import io
import os
import random
import shutil
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ClassVar

from campaign import file_calls, forks, tiny_runs, whole_runs
from campaign.part import Outcome
from keras_stackrnn import model_files
from keras_stackrnn.training import RunError, run_folder
from keras_stackrnn.training.interrupts import Interrupts
from keras_stackrnn.training.logs import LOGS
from keras_stackrnn.training.run import TASKS, Run

_FILES = 100
_FILES_A_PROCESS = 20
_SECONDS_A_FILE = 30.0
# More than that, and a file has made a process absurdly large.
_MOST_MEMORY = 4 * 2**30


class DamagedFiles:
    """Files of runs, models and exports that were damaged are refused in a sentence, or are read as
    what they were."""

    name = "damage"
    targets: ClassVar = {"damaged files": 2000}

    def unavailable(self) -> str:
        return file_calls.unavailable()

    def run(self, draw: random.Random, scale: float, folder: Path) -> Outcome:
        outcome = Outcome()
        name = draw.choice(sorted(tiny_runs.CONFIGS))
        whole_runs.whole(name, folder)
        damages = [
            (name, draw.choice(list(_USES)), draw.getrandbits(64))
            for _ in range(max(1, round(scale * _FILES)))
        ]
        while damages:
            some, damages = damages[:_FILES_A_PROCESS], damages[_FILES_A_PROCESS:]
            self._try(some, folder, outcome)
        return outcome

    def _try(self, damages: list[tuple], folder: Path, outcome: Outcome) -> None:
        log = folder / f"damage-{os.getpid()}.log"
        seconds = _SECONDS_A_FILE * len(damages)
        try:
            results = forks.answer_of(lambda: _results(damages, folder), seconds, log)
        except forks.DiedError as error:
            if len(damages) > 1:
                for damage in damages:
                    self._try([damage], folder, outcome)
                return
            results = [("died", f"{damages[0]}: {error}")]
        for kind, fault in results:
            outcome.counts["damaged files"] += 1
            outcome.details[kind] += 1
            outcome.faults += [fault] if fault else []
        log.unlink(missing_ok=True)


def _results(damages: Iterable[tuple], folder: Path) -> list[tuple[str, str]]:
    """Of each: what became of it, and what was wrong with that."""
    _bound_memory()
    return [_result(name, use, random.Random(seed), folder) for name, use, seed in damages]


def _result(name: str, use: str, draw: random.Random, folder: Path) -> tuple[str, str]:
    work = folder / f"damaged-{os.getpid()}"
    shutil.copytree(folder / f"whole-{name}", work, symlinks=True)
    try:
        files = filter(Path.is_file, work.glob(_PATTERNS[use]))
        target = draw.choice(sorted(files))
        how = _damage(target, work, draw)
        story = f"{how} in {target.relative_to(work)} of a {name} run"
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            said = _USES[use](work, name)
    finally:
        shutil.rmtree(work)
    if said is None:
        ending = "read as it was, with a warning" if warned else "read as it was"
        return f"{use}: {ending}", ""
    sentence, error = said
    if error is not None or len(sentence.splitlines()) != 1:
        return f"{use}: no sentence", f"After {story}: {sentence} {error or ''}"
    return f"{use}: a sentence", ""


def _damage(target: Path, run: Path, draw: random.Random) -> str:
    """Does something to a file; returns what."""
    data = bytearray(target.read_bytes())
    kind = draw.choice(
        [
            "flipped bit",
            "changed bytes",
            "cut",
            "zeros",
            "longer",
            "other",
            "folder",
            "link",
            "loop",
        ]
    )
    place = draw.randrange(max(1, len(data)))
    size = draw.randrange(1, 65)
    if kind == "folder":
        target.unlink()
        target.mkdir()
    elif kind in ("link", "loop"):
        target.unlink()
        target.symlink_to("nowhere" if kind == "link" else target.name)
    elif kind == "other":
        others = [path for path in sorted(run.rglob("*")) if path.is_file()]
        shutil.copyfile(draw.choice(others), target.with_name("other"))
        os.replace(target.with_name("other"), target)
    else:
        if kind == "flipped bit" and data:
            data[place] ^= 1 << draw.randrange(8)
        elif kind == "changed bytes":
            data[place : place + size] = draw.randbytes(size)
        elif kind == "cut":
            del data[place:]
        elif kind == "zeros":
            data[place : place + size] = bytes(size)
        else:
            data += draw.randbytes(size)
        target.write_bytes(data)
    return f"{kind} at {place}"


def _resume(work: Path, name: str) -> tuple[str, object] | None:
    """Does all that a resumed run does before its first update."""
    try:
        config = dataclasses.replace(run_folder.read_config(work), output_dir=str(work))
        progress = LOGS["none"](config.minutes, io.StringIO())
        run_folder.check_same_run(config, work)
        task = TASKS[type(config)](config, progress.say)
        Run(config, work, progress, Interrupts(""), task).search()
        model = task.best_model()
    except RunError as error:
        return str(error), None
    except OSError as error:
        return f"Cannot write {error.filename}: {error.strerror}", None
    except Exception as error:
        return type(error).__name__, error
    whole = work.parent / f"whole-{name}"
    if tiny_runs.metrics(work) != tiny_runs.metrics(whole):
        return "The rows of metrics.csv are other ones", ValueError()
    return _difference(model, whole)


def _load(work: Path, name: str) -> tuple[str, object] | None:
    """Loads the model as every command does."""
    try:
        model = model_files.load(str(work / "model.keras"))
    except ValueError as error:
        return str(error), None
    except Exception as error:
        return type(error).__name__, error
    return _difference(model, work.parent / f"whole-{name}")


def _difference(model, whole: Path) -> tuple[str, object] | None:
    expected = model_files.load(str(whole / run_folder.MODEL))
    pairs = zip(model.get_weights(), expected.get_weights(), strict=True)
    names = {"name": None}  # Keras counts them up.
    configs = [each.get_config() | names for each in (model, expected)]
    if configs[0] != configs[1] or any((a != b).any() for a, b in pairs):
        return "It is another model", ValueError()
    return None


def _serve(work: Path, name: str) -> tuple[str, object] | None:
    """Loads the SavedModel as the server does, warm-up included."""
    from keras_stackrnn.serving import config, models, status
    from keras_stackrnn.serving.server import ModelServer, ServerOptions

    base = next((work / run_folder.SERVING).iterdir())
    options = models.Options(file_system_poll_wait_seconds=0)
    server = ServerOptions(config.single_model("m", base), port=0, versions=options)
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            with ModelServer(server):
                return None
        except status.ServingError as error:
            return " ".join(error.message.split()), None
        except Exception as error:
            return type(error).__name__, error


def _bound_memory() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))


# What is done with damaged files, and which they are.
_USES: dict[str, Callable[[Path, str], tuple[str, object] | None]] = {
    "config.json": _resume,
    "metrics.csv": _resume,
    "checkpoints": _resume,
    "events": _resume,
    "model.keras": _load,
    "exports": _serve,
}
_PATTERNS = {
    "config.json": "config.json",
    "metrics.csv": "metrics.csv",
    "checkpoints": "checkpoints/*",
    "events": "events/*",
    "model.keras": "model.keras",
    "exports": "serving/**/*",
}
