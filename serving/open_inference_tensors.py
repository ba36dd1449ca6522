"""Tensors of the open inference protocol: its types, its typed fields and its raw bytes."""

import math
import struct
from collections.abc import Sequence

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2, types_pb2
from tensorflow.core.protobuf import meta_graph_pb2

from keras_stackrnn.serving import status, tensors

# The protocol's name of each type, and the field of its values; halves have raw bytes alone.
_TYPES = {
    "BOOL": (types_pb2.DT_BOOL, "bool_contents"),
    "UINT8": (types_pb2.DT_UINT8, "uint_contents"),
    "UINT16": (types_pb2.DT_UINT16, "uint_contents"),
    "UINT32": (types_pb2.DT_UINT32, "uint_contents"),
    "UINT64": (types_pb2.DT_UINT64, "uint64_contents"),
    "INT8": (types_pb2.DT_INT8, "int_contents"),
    "INT16": (types_pb2.DT_INT16, "int_contents"),
    "INT32": (types_pb2.DT_INT32, "int_contents"),
    "INT64": (types_pb2.DT_INT64, "int64_contents"),
    "FP16": (types_pb2.DT_HALF, None),
    "BF16": (types_pb2.DT_BFLOAT16, None),
    "FP32": (types_pb2.DT_FLOAT, "fp32_contents"),
    "FP64": (types_pb2.DT_DOUBLE, "fp64_contents"),
    "BYTES": (types_pb2.DT_STRING, "bytes_contents"),
}
_NAMES = {dtype: name for name, (dtype, _) in _TYPES.items()}
_LENGTH = struct.Struct("<I")


def dtype_of(datatype: str, name: str) -> int:
    """TensorFlow's number of a type; `name` is the input's, for who is told that there is none."""
    if datatype not in _TYPES:
        raise status.invalid_argument(
            f"Input {name} is of an unknown datatype {datatype!r}: expected one of "
            f"{', '.join(_TYPES)}"
        )
    return _TYPES[datatype][0]


def datatype_of(dtype: int | np.dtype) -> str:
    """The protocol's name of a type of TensorFlow's; the few it has none for keep theirs."""
    dtype = tf.as_dtype(dtype)
    return _NAMES.get(dtype.as_datatype_enum, dtype.name)


def shape_of(info: meta_graph_pb2.TensorInfo) -> list[int]:
    """A declared shape; an unknown rank, for which the protocol has no word, is empty."""
    return [] if info.tensor_shape.unknown_rank else [d.size for d in info.tensor_shape.dim]


def set_shape(proto: tensor_pb2.TensorProto, shape: Sequence[int]) -> None:
    """Gives a tensor the shape that was sent beside its values."""
    proto.tensor_shape.Clear()
    proto.tensor_shape.SetInParent()
    for length in shape:
        proto.tensor_shape.dim.add(size=length)


def read_raw(tensor, content: bytes, proto: tensor_pb2.TensorProto) -> None:
    """Reads an `InferInputTensor` whose bytes came beside it."""
    proto.dtype = dtype_of(tensor.datatype, tensor.name)
    set_shape(proto, tensor.shape)
    if proto.dtype == types_pb2.DT_STRING:
        proto.string_val.extend(_strings(content, tensor.name))
        _check_count(len(proto.string_val), tensor)
    else:
        size = tf.as_dtype(proto.dtype).size
        if len(content) % size:
            raise status.invalid_argument(
                f"Input {tensor.name} has {len(content)} bytes, no multiple of the {size} of a "
                f"{tensor.datatype}"
            )
        _check_count(len(content) // size, tensor)
        proto.tensor_content = content


def read_contents(tensor, proto: tensor_pb2.TensorProto) -> None:
    """Reads an `InferInputTensor` with its values in it."""
    dtype = dtype_of(tensor.datatype, tensor.name)
    _, field = _TYPES[tensor.datatype]
    if field is None:
        raise status.invalid_argument(
            f"Input {tensor.name} of datatype {tensor.datatype} has to come as raw contents"
        )
    values = getattr(tensor.contents, field)
    _check_count(len(values), tensor)
    if dtype == types_pb2.DT_STRING:
        array = np.empty(len(values), np.object_)
        array[:] = values
    else:
        try:
            array = np.array(list(values), tf.as_dtype(dtype).as_numpy_dtype)
        except OverflowError as error:
            raise status.invalid_argument(f"Input {tensor.name}: {error}") from error
    tensors.to_proto(array, proto)
    set_shape(proto, tensor.shape)


def write(array: np.ndarray, tensor) -> bytes | None:
    """Fills in an `InferOutputTensor`, values and all; returns them if they have to be raw."""
    tensor.datatype = datatype_of(array.dtype)
    tensor.shape.extend(array.shape)
    _, field = _TYPES.get(tensor.datatype, (None, None))
    if field is None:
        return raw(array)
    getattr(tensor.contents, field).extend(array.reshape(-1).tolist())
    return None


def raw(array: np.ndarray) -> bytes:
    """The bytes of an array as the protocol sends them."""
    if array.dtype != np.object_:
        return array.tobytes()
    return b"".join(_LENGTH.pack(len(value)) + value for value in array.reshape(-1))


def _strings(content: bytes, name: str) -> list[bytes]:
    strings, position = [], 0
    while position < len(content):
        end = position + _LENGTH.size
        if end <= len(content):
            [length] = _LENGTH.unpack_from(content, position)
            position, end = end, end + length
        if end > len(content):
            raise status.invalid_argument(f"Input {name} of datatype BYTES is cut off")
        strings.append(content[position:end])
        position = end
    return strings


def _check_count(count: int, tensor) -> None:
    if any(length < 0 for length in tensor.shape) or count != math.prod(tensor.shape):
        raise status.invalid_argument(
            f"Input {tensor.name} has {count} values for a shape of {list(tensor.shape)}"
        )
