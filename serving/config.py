"""The server's configuration files: TensorFlow Serving's text protos, read as it reads them."""

import os
import pathlib

from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    message,
    message_factory,
    text_format,
    wrappers_pb2,
)
from tensorflow_serving.config import model_server_config_pb2

PROMETHEUS_PATH = "/monitoring/prometheus/metrics"

_FIELD_TYPES = {
    "bool": descriptor_pb2.FieldDescriptorProto.TYPE_BOOL,
    "int64": descriptor_pb2.FieldDescriptorProto.TYPE_INT64,
    "string": descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
}

# The Python package of TensorFlow Serving leaves these three out. Name, number and type of each
# field are those of its session_bundle_config.proto, monitoring_config.proto, ssl_config.proto.
_MESSAGES = {
    "BatchingParameters": (
        ("max_batch_size", 1, ".google.protobuf.Int64Value"),
        ("batch_timeout_micros", 2, ".google.protobuf.Int64Value"),
        ("max_enqueued_batches", 3, ".google.protobuf.Int64Value"),
        ("num_batch_threads", 4, ".google.protobuf.Int64Value"),
        ("thread_pool_name", 5, ".google.protobuf.StringValue"),
        ("allowed_batch_sizes", 6, "repeated int64"),
        ("pad_variable_length_inputs", 7, "bool"),
    ),
    "PrometheusConfig": (("enable", 1, "bool"), ("path", 2, "string")),
    "MonitoringConfig": (("prometheus_config", 1, ".tensorflow.serving.PrometheusConfig"),),
    "SSLConfig": (
        ("server_key", 1, "string"),
        ("server_cert", 2, "string"),
        ("custom_ca", 3, "string"),
        ("client_verify", 4, "bool"),
    ),
}


def _message_classes() -> dict[str, type[message.Message]]:
    file = descriptor_pb2.FileDescriptorProto(
        name="keras_stackrnn/serving/config.proto",
        package="tensorflow.serving",
        syntax="proto3",
        dependency=["google/protobuf/wrappers.proto"],
    )
    for message_name, fields in _MESSAGES.items():
        message_type = file.message_type.add(name=message_name)
        for name, number, kind in fields:
            field = message_type.field.add(name=name, number=number)
            field.label = field.LABEL_REPEATED if "repeated" in kind else field.LABEL_OPTIONAL
            kind = kind.removeprefix("repeated ")
            if kind in _FIELD_TYPES:
                field.type = _FIELD_TYPES[kind]
            else:
                field.type, field.type_name = field.TYPE_MESSAGE, kind
    # A pool of its own: another library may bring the same messages into the default one.
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(wrappers_pb2.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(file.SerializeToString())
    return {
        name: message_factory.GetMessageClass(
            pool.FindMessageTypeByName(f"tensorflow.serving.{name}")
        )
        for name in _MESSAGES
    }


_CLASSES = _message_classes()
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
