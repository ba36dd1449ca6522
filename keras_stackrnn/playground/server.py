"""The embedded server with the page at `/`: the gallery, and what a user adds to it."""

import contextlib
import functools
import tempfile
from collections.abc import Iterator
from pathlib import Path

from keras_stackrnn.playground.endpoint import PageEndpoint
from keras_stackrnn.playground.live import LiveModel
from keras_stackrnn.playground.remote import RemoteEndpoint
from keras_stackrnn.playground.sources import Sources, variants
from keras_stackrnn.serving import config
from keras_stackrnn.serving.rest_access import Access
from keras_stackrnn.serving.server import ModelServer, ServerOptions


@contextlib.contextmanager
def playing(sources: Sources, port: int = 0) -> Iterator[ModelServer]:
    """A server on this machine alone that has all models, and the page.

    Args:
        sources: the models.
        port: of the page and of REST; 0: any free one.
    """
    with tempfile.TemporaryDirectory(prefix="playground-") as folder:
        live = {
            Path(folder) / name / str(version): make
            for name, file in sources.live.items()
            for version, make in variants(file).items()
        }
        for path in live:
            path.mkdir(parents=True)
        server_config = config.ModelServerConfig()
        bases = {name: Path(folder) / name for name in sources.live} | sources.saved
        for name, base in bases.items():
            entry = server_config.model_config_list.config.add(name=name, base_path=str(base))
            entry.model_version_policy.all.SetInParent()

        def load(path: Path):
            return LiveModel(path, live[path]) if path in live else server.load(path)

        server = ModelServer(
            ServerOptions(
                server_config,
                port=None,
                rest_api_port=port,
                rest_access=Access(requires_json=True),
                endpoints=(
                    functools.partial(RemoteEndpoint, servers=sources.servers),
                    functools.partial(PageEndpoint, further=tuple(sources.servers)),
                ),
                load=load,
            )
        )
        with server:
            yield server
