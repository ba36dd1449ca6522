"""What the playground serves: the gallery, and what a user adds to it."""

import dataclasses
import functools
import re
from collections.abc import Callable
from pathlib import Path

from keras_stackrnn import gallery, model_files

_SERVER = re.compile(r"(?P<address>[^/]+:\d+)/(?P<model>[^/]+)")
# The latest version is what is meant without one.
OTHER, OWN = 1, 2


@dataclasses.dataclass
class Sources:
    """Where models come from.

    Attributes:
        live: for each name the `.keras` file of a model that is served as it is.
        saved: for each name the folder of all versions of a SavedModel.
        servers: for each name `host:port` and the model's name there.
    """

    live: dict[str, Path] = dataclasses.field(default_factory=dict)
    saved: dict[str, Path] = dataclasses.field(default_factory=dict)
    servers: dict[str, tuple[str, str]] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, given: list[str]) -> "Sources":
        """What `--model` names, and the gallery; ValueError if there is no such thing."""
        sources = cls()
        for source in given:
            sources._add(source)
        for name in gallery.names():
            if name not in sources.names():
                sources.live[name] = gallery.path_of(name)
        return sources

    def names(self) -> tuple[str, ...]:
        return (*self.live, *self.saved, *self.servers)

    def _add(self, source: str) -> None:
        from keras_stackrnn.trace.exported import SAVED_MODEL, latest_version

        path = Path(source)
        if (file := model_files.find(source)) is not None:
            self.live[self._free_name(_name_of(source, file))] = file
        elif path.is_dir() and (version := latest_version(path)) is not None:
            base = path.resolve()
            if (path / SAVED_MODEL).exists():
                if not version.resolve().name.isdecimal():
                    raise ValueError(
                        f"A version of a SavedModel lies in a folder whose name is a number, got "
                        f"{source!r}."
                    )
                base = base.parent
            self.saved[self._free_name(_allowed(base.name))] = base
        elif (server := _SERVER.fullmatch(source)) and not path.exists():
            name = self._free_name(_allowed(server["model"]))
            self.servers[name] = server["address"], server["model"]
        else:
            *others, last = model_files.SOURCES
            raise ValueError(
                f"There is no model {source!r}: expected {', '.join(others)}, {last}, the folder "
                "of a SavedModel, or host:port/model of a server's REST API."
            )

    def _free_name(self, name: str) -> str:
        number, free = 2, name
        while free in self.names():
            number, free = number + 1, f"{name}-{number}"
        return free


def variants(file: Path) -> dict[int, Callable]:
    """Makes each version of the model in a file, which is read once: as it was trained to act, and
    the other way round, soft or rounded. Without a memory the two are the same."""
    load = functools.cache(lambda: model_files.load_file(file))

    def made(changes: bool):
        model = load()
        if not model.has_memory:
            return model
        return model.twin(rounding=model.rounding != changes, capacity=None)

    return {OTHER: functools.partial(made, True), OWN: functools.partial(made, False)}


def _name_of(source: str, file: Path) -> str:
    if source.startswith(gallery.PREFIX):
        return source.removeprefix(gallery.PREFIX)
    named_after = file.parent if file.name == model_files.MODEL else file.with_suffix("")
    return _allowed(named_after.resolve().name)


def _allowed(name: str) -> str:
    """The name as it may stand in an address of the REST API."""
    return re.sub(r"[^\w.-]+", "-", name) or "model"
