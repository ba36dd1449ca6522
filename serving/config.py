"""The server's configuration files: TensorFlow Serving's text protos, read as it reads them."""

import os
import pathlib

from google.protobuf import descriptor_pool, message, text_format, wrappers_pb2
from tensorflow_serving.config import model_server_config_pb2

from keras_stackrnn.serving import proto_files

PROMETHEUS_PATH = "/monitoring/prometheus/metrics"

# A pool of its own: another library may bring the same messages into the default one.
_POOL = descriptor_pool.DescriptorPool()
_POOL.AddSerializedFile(wrappers_pb2.DESCRIPTOR.serialized_pb)
_CLASSES = proto_files.message_classes(
    proto_files.load(pathlib.Path(__file__).with_name("config.proto"), _POOL)
)
BatchingParameters = _CLASSES["BatchingParameters"]
MonitoringConfig = _CLASSES["MonitoringConfig"]
SSLConfig = _CLASSES["SSLConfig"]
ModelServerConfig = model_server_config_pb2.ModelServerConfig


def read(path: str | os.PathLike, message_class: type[message.Message]) -> message.Message:
    """Reads a text proto.

    Args:
        path: the file.
        message_class: one of `ModelServerConfig`, `BatchingParameters`, `MonitoringConfig` and
            `SSLConfig`.

    Returns:
        The message.

    Raises:
        ValueError: the file is missing or is not such a message; the text names file and reason.
    """
    name = message_class.DESCRIPTOR.name
    try:
        return text_format.Parse(pathlib.Path(path).read_text("utf-8"), message_class())
    except OSError as error:
        raise ValueError(f"Cannot read {name} from {path}: {error.strerror}.") from error
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a text proto of {name}: {error}.") from error


def single_model(name: str, base_path: str) -> ModelServerConfig:
    """Returns the configuration that serves one model: the latest version under `base_path`."""
    server_config = ModelServerConfig()
    server_config.model_config_list.config.add(
        name=name, base_path=str(base_path), model_platform="tensorflow"
    )
    return server_config
