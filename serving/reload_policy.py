"""Whether a client may say what is served: whoever loads a SavedModel runs a program."""

import dataclasses
import pathlib

import grpc
from tensorflow_serving.config import model_server_config_pb2

from keras_stackrnn.serving import status


@dataclasses.dataclass(frozen=True)
class ReloadPolicy:
    """What HandleReloadConfigRequest may do.

    Attributes:
        is_allowed: whether it may do anything.
        base_paths: folders in which all models have to lie; anywhere, if there are none.
    """

    is_allowed: bool = True
    base_paths: tuple[str, ...] = ()

    def check(self, server_config: model_server_config_pb2.ModelServerConfig) -> None:
        """Raises PERMISSION_DENIED if a client may not ask for this configuration."""
        if not self.is_allowed:
            raise _denied(
                "This server does not reload its configuration on request: it listens on an "
                "address that others can reach, and was started without --allow_reload"
            )
        if not self.base_paths:
            return
        roots = [pathlib.Path(path).resolve() for path in self.base_paths]
        for config in server_config.model_config_list.config:
            path = pathlib.Path(config.base_path).resolve()
            if not any(path.is_relative_to(root) for root in roots):
                raise _denied(
                    f"The base path {config.base_path} of model {config.name} lies in none of "
                    f"--reload_base_paths={','.join(self.base_paths)}"
                )


def _denied(message: str) -> status.ServingError:
    return status.ServingError(grpc.StatusCode.PERMISSION_DENIED, message)
