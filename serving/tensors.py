"""Tensors on the wire: `TensorProto` to NumPy and back, as TensorFlow Serving does it."""

import functools
import math
import sys

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2, tensor_shape_pb2, types_pb2
from tensorflow.core.protobuf import meta_graph_pb2

_INT_FIELD_TYPES = (
    types_pb2.DT_INT32,
    types_pb2.DT_INT16,
    types_pb2.DT_INT8,
    types_pb2.DT_UINT8,
    types_pb2.DT_UINT16,
    types_pb2.DT_INT4,
    types_pb2.DT_UINT4,
)
# They have types of their own on the wire, and in NumPy those of the integers that they are.
_QUANTIZED_TYPES = {
    types_pb2.DT_QINT8: np.dtype(np.int8),
    types_pb2.DT_QUINT8: np.dtype(np.uint8),
    types_pb2.DT_QINT16: np.dtype(np.int16),
    types_pb2.DT_QUINT16: np.dtype(np.uint16),
    types_pb2.DT_QINT32: np.dtype(np.int32),
}

# The repeated field that holds a tensor's values, by type, and the type the field stores them as.
_VALUE_FIELDS = {
    types_pb2.DT_FLOAT: ("float_val", np.float32),
    types_pb2.DT_DOUBLE: ("double_val", np.float64),
    types_pb2.DT_INT64: ("int64_val", np.int64),
    types_pb2.DT_BOOL: ("bool_val", np.bool_),
    types_pb2.DT_UINT32: ("uint32_val", np.uint32),
    types_pb2.DT_UINT64: ("uint64_val", np.uint64),
    types_pb2.DT_STRING: ("string_val", np.object_),
    types_pb2.DT_COMPLEX64: ("scomplex_val", np.float32),
    types_pb2.DT_COMPLEX128: ("dcomplex_val", np.float64),
    types_pb2.DT_HALF: ("half_val", np.int32),
    types_pb2.DT_BFLOAT16: ("half_val", np.int32),
    types_pb2.DT_FLOAT8_E5M2: ("float8_val", np.uint8),
    types_pb2.DT_FLOAT8_E4M3FN: ("float8_val", np.uint8),
    **dict.fromkeys(_INT_FIELD_TYPES, ("int_val", np.int32)),
}
_NUMPY_TYPES = {dtype: np.dtype(tf.as_dtype(dtype).as_numpy_dtype) for dtype in _VALUE_FIELDS}
_WIRE_TYPES = {numpy_type: dtype for dtype, numpy_type in _NUMPY_TYPES.items()}
_VALUE_FIELDS |= dict.fromkeys(_QUANTIZED_TYPES, ("int_val", np.int32))
_NUMPY_TYPES |= _QUANTIZED_TYPES
_EIGHT_BIT_FLOATS = (types_pb2.DT_FLOAT8_E5M2, types_pb2.DT_FLOAT8_E4M3FN)
_SIXTEEN_BIT_FLOATS = (types_pb2.DT_HALF, types_pb2.DT_BFLOAT16)
_COMPLEX_TYPES = (types_pb2.DT_COMPLEX64, types_pb2.DT_COMPLEX128)
_LENGTH_DELIMITED = 2  # the wire type of packed fields
# The types whose values lie in the message as they lie in memory, and what their field begins with.
_PLAIN_TAGS = {
    dtype: bytes(
        [tensor_pb2.TensorProto.DESCRIPTOR.fields_by_name[field].number << 3 | _LENGTH_DELIMITED]
    )
    for dtype, (field, _) in _VALUE_FIELDS.items()
    if field in ("float_val", "double_val") and sys.byteorder == "little"
}

MAX_RANK = 32  # NumPy allows 64, and padding and row slicing need room.


def from_proto(proto: tensor_pb2.TensorProto, max_bytes: int) -> np.ndarray:
    """Reads a tensor.

    Fewer values than the shape asks for are completed with the last one (with zero when there is
    none), so a few bytes can ask for terabytes; `max_bytes` is the size that is refused.

    Args:
        proto: the tensor, its values either in `tensor_content` or in the typed field.
        max_bytes: the largest array to make.

    Returns:
        The array; strings come as an object array of `bytes`.

    Raises:
        ValueError: the proto contradicts itself, is of an unknown type or is too large.
    """
    numpy_type = _NUMPY_TYPES.get(proto.dtype)
    if numpy_type is None:
        raise ValueError(f"no tensor can be of type {proto.dtype}")
    shape = _shape(proto)
    size = math.prod(shape)
    if size * numpy_type.itemsize > max_bytes:
        raise ValueError(f"shape {shape} needs more than {max_bytes} bytes")
    if content := proto.tensor_content:
        if proto.dtype == types_pb2.DT_STRING:
            values = _strings_from_content(content, size)
        elif len(content) != size * numpy_type.itemsize:
            raise ValueError(f"{len(content)} bytes of content for shape {shape}")
        else:
            values = np.frombuffer(content, numpy_type)
    else:
        values = _complete(_field_values(proto), size, numpy_type)
    return values.reshape(shape)


def to_proto(array: np.ndarray, proto: tensor_pb2.TensorProto, dtype: int | None = None) -> None:
    """Writes `array` into `proto` with typed fields, which every client can read.

    Args:
        array: what to write; KeyError if it is of a type that a message cannot carry.
        proto: what to write it into.
        dtype: the tensor's type, where the array does not say whether it is quantized.
    """
    quantized = dtype if dtype in _QUANTIZED_TYPES else None
    is_text = array.dtype.kind in "SU"
    dtype = types_pb2.DT_STRING if is_text else _WIRE_TYPES[array.dtype]
    header = _header(quantized or dtype, array.shape)
    if tag := _PLAIN_TAGS.get(dtype):
        values = array.tobytes()
        proto.ParseFromString(header + tag + _varint_bytes(len(values)) + values)
        return
    proto.ParseFromString(header)
    flat = array.reshape(-1)
    field, field_type = _VALUE_FIELDS[dtype]
    if dtype == types_pb2.DT_STRING:
        flat = [value if isinstance(value, bytes) else str(value).encode() for value in flat]
    elif dtype in _EIGHT_BIT_FLOATS:
        proto.float8_val = flat.tobytes()
        return
    elif dtype in _SIXTEEN_BIT_FLOATS:
        flat = flat.view(np.uint16).tolist()
    elif dtype in _COMPLEX_TYPES:
        flat = flat.view(field_type).tolist()
    else:
        flat = flat.tolist()
    getattr(proto, field).extend(flat)


def option_of(info: meta_graph_pb2.TensorInfo, value: float, rows: int) -> np.ndarray:
    """Returns an option as a signature's input wants it: one for all rows, or one for each."""
    # Where both will do, one for each: a server that merges requests needs a batch dimension.
    takes_rows = info.tensor_shape.unknown_rank or info.tensor_shape.dim
    return np.full([rows] if takes_rows else [], value, tf.as_dtype(info.dtype).as_numpy_dtype)


@functools.lru_cache(maxsize=1024)
def _header(dtype: int, shape: tuple[int, ...]) -> bytes:
    """A tensor without its values: reading it takes less time than filling it in."""
    proto = tensor_pb2.TensorProto(dtype=dtype)
    proto.tensor_shape.dim.extend(
        tensor_shape_pb2.TensorShapeProto.Dim(size=length) for length in shape
    )
    proto.tensor_shape.SetInParent()
    return proto.SerializeToString()


def _shape(proto: tensor_pb2.TensorProto) -> tuple[int, ...]:
    shape_proto = proto.tensor_shape
    if shape_proto.unknown_rank:
        raise ValueError("a value cannot have an unknown rank")
    shape = tuple([dimension.size for dimension in shape_proto.dim])
    if len(shape) > MAX_RANK:
        raise ValueError(f"rank {len(shape)} is more than {MAX_RANK}")
    if min(shape, default=0) < 0:
        raise ValueError(f"shape {shape} has a negative dimension")
    return shape


def _field_values(proto: tensor_pb2.TensorProto) -> np.ndarray:
    field, field_type = _VALUE_FIELDS[proto.dtype]
    values = getattr(proto, field)
    if proto.dtype == types_pb2.DT_STRING:
        array = np.empty(len(values), np.object_)
        array[:] = values
        return array
    if proto.dtype in _EIGHT_BIT_FLOATS:
        return np.frombuffer(values, _NUMPY_TYPES[proto.dtype])
    array = np.fromiter(values, field_type, len(values))
    if proto.dtype in _SIXTEEN_BIT_FLOATS:
        return array.astype(np.uint16).view(_NUMPY_TYPES[proto.dtype])
    if proto.dtype in _COMPLEX_TYPES:
        if len(array) % 2:
            raise ValueError("a complex tensor has a real part without an imaginary one")
        return array.view(_NUMPY_TYPES[proto.dtype])
    return array.astype(_NUMPY_TYPES[proto.dtype], copy=False)


def _complete(values: np.ndarray, size: int, numpy_type: np.dtype) -> np.ndarray:
    if len(values) == size:
        return values
    if len(values) > size:
        raise ValueError(f"{len(values)} values for a shape of {size}")
    zero = b"" if numpy_type == np.object_ else numpy_type.type(0)
    completed = np.full(size, values[-1] if len(values) else zero, numpy_type)
    completed[: len(values)] = values
    return completed


def _strings_from_content(content: bytes, size: int) -> np.ndarray:
    """Decodes the packed form of strings: all lengths as varints, then all the bytes."""
    if size > len(content):
        raise ValueError(f"{len(content)} bytes of content for {size} strings")
    lengths, position = [], 0
    for _ in range(size):
        length, position = _varint(content, position)
        lengths.append(length)
    if position + sum(lengths) != len(content):
        raise ValueError("the strings' lengths do not add up to the content")
    strings = np.empty(size, np.object_)
    for index, length in enumerate(lengths):
        strings[index] = content[position : position + length]
        position += length
    return strings


def _varint(content: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(content) and shift < 64:
        byte = content[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise ValueError("a string's length is cut off")


def _varint_bytes(value: int) -> bytes:
    groups = bytearray()
    while value >= 0x80:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)
