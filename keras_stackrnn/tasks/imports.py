"""Tasks of one's own: a module, or a Python file, that is imported so that its tasks are known."""

import hashlib
import importlib
import importlib.util
import sys
import traceback
from pathlib import Path

HELP = "A module or a .py file with tasks of your own, to import first."


def import_tasks(source: str | None) -> None:
    """Imports what has tasks of one's own; ValueError says what is wrong with it.

    Args:
        source: A module's name, or the path of a file that ends in `.py`; a module is also looked
            for in the current folder. `None`: nothing.
    """
    if source is None:
        return
    path = Path(source)
    is_file = path.suffix == ".py"
    if is_file and not path.is_file():
        raise ValueError(f"There is no file {source!r} to import tasks from.")
    try:
        if is_file:
            _import_file(path.resolve())
        else:
            _import_module(source)
    except Exception as error:
        raise ValueError(f"Cannot import tasks from {source!r}: {_sentence_of(error)}") from error


def _import_module(name: str) -> None:
    here = str(Path.cwd())
    # A script has its own folder on the path, and not the one it is called in.
    added = here not in sys.path
    if added:
        sys.path.append(here)
    try:
        importlib.import_module(name)
    finally:
        if added:
            sys.path.remove(here)


def _import_file(path: Path) -> None:
    # Files of the same name in different folders are different modules.
    name = f"{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise


def _sentence_of(error: Exception) -> str:
    """What went wrong, and in which line of the user's file."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.msg} in {error.filename}, line {error.lineno}."
    text = f"{type(error).__name__}: {error}".splitlines()[0].removesuffix(".")
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not _is_ours(frame.filename)]
    return f"{text} (in {theirs[-1].filename}, line {theirs[-1].lineno})." if theirs else f"{text}."


def _is_ours(filename: str) -> bool:
    package = str(Path(__file__).resolve().parents[1])
    return filename.startswith(("<frozen", package)) or "importlib" in Path(filename).parts
