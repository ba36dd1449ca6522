"""Tensors as JSON: the row and the column format of TensorFlow Serving's REST API."""

import base64
import binascii
import json
from collections.abc import Collection, Mapping
from typing import Any

import grpc
import numpy as np
import tensorflow as tf
from tensorflow.core.example import example_pb2, feature_pb2
from tensorflow.core.framework import tensor_pb2, types_pb2
from tensorflow.core.protobuf import meta_graph_pb2

from keras_stackrnn.serving import status, tensors

_INTEGER_RANGES = {
    dtype: (np.iinfo(numpy_type).min, np.iinfo(numpy_type).max)
    for dtype, numpy_type in (
        (types_pb2.DT_INT8, np.int8),
        (types_pb2.DT_INT16, np.int16),
        (types_pb2.DT_INT32, np.int32),
        (types_pb2.DT_INT64, np.int64),
        (types_pb2.DT_UINT8, np.uint8),
        (types_pb2.DT_UINT16, np.uint16),
        (types_pb2.DT_UINT32, np.uint32),
        (types_pb2.DT_UINT64, np.uint64),
    )
}
_FLOATS = (types_pb2.DT_FLOAT, types_pb2.DT_DOUBLE, types_pb2.DT_HALF, types_pb2.DT_BFLOAT16)
# What NumPy itself knows nothing of.
_NARROW_FLOATS, _NARROW_INTEGERS = (
    [np.dtype(tf.as_dtype(name).as_numpy_dtype) for name in names.split()]
    for names in ("bfloat16 float8_e5m2 float8_e4m3fn", "int4 uint4")
)
_MAX_QUOTED_CHARACTERS = 200

Infos = Mapping[str, meta_graph_pb2.TensorInfo]


def parse(body: bytes) -> dict[str, Any]:
    """Parses a request's body, which has to be a JSON object."""
    if not body:
        raise status.invalid_argument("JSON Parse error: The document is empty")
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise status.invalid_argument(f"JSON Parse error: {error}") from error
    if not isinstance(document, dict):
        raise status.invalid_argument(f"JSON Value: {_quote(document)} Is not object")
    return document


def signature_name(document: dict[str, Any]) -> str:
    """Returns the signature a request names, or an empty string."""
    name = document.get("signature_name", "")
    if not isinstance(name, str) or not is_utf8(name):
        raise status.invalid_argument(
            f"JSON Value: {_quote(document)} not formatted correctly. "
            "'signature_name' key must be a string value."
        )
    return name


def input_names(document: dict[str, Any]) -> Collection[str]:
    """Returns the names of a predict request's inputs, none where they have none."""
    inputs = document.get("inputs")
    if not inputs and isinstance(document.get("instances"), list):
        inputs = next(iter(document["instances"]), None)
    return inputs.keys() if _is_named(inputs) else ()


def read_inputs(
    document: dict[str, Any], infos: Infos
) -> tuple[dict[str, tensor_pb2.TensorProto], bool]:
    """Reads the tensors of a predict request.

    Args:
        document: the body, with `instances` (a list of rows) or `inputs` (tensors by name).
        infos: the signature's inputs.

    Returns:
        The tensors by name, and whether they came as rows.
    """
    if "instances" in document and "inputs" in document:
        raise status.invalid_argument(
            f"JSON Value: {_quote(document)} Not formatted correctly expecting only one of "
            "'inputs' or 'instances' keys to exist "
        )
    try:
        if "instances" in document:
            arrays = _from_rows(document["instances"], infos, document)
        elif "inputs" in document:
            arrays = _from_columns(document["inputs"], infos)
        else:
            raise status.invalid_argument("Missing 'inputs' or 'instances' key")
    except RecursionError as error:
        raise status.invalid_argument("The JSON lists are nested too deeply") from error
    protos = {}
    for name, array in arrays.items():
        protos[name] = tensor_pb2.TensorProto()
        tensors.to_proto(array, protos[name])
    return protos, "instances" in document


def write_outputs(outputs: Mapping[str, tensor_pb2.TensorProto], as_rows: bool) -> dict[str, Any]:
    """Returns the body that answers a predict request, in the format it came in."""
    values, sizes = {}, {}
    for name, proto in sorted(outputs.items()):
        if as_rows and not proto.tensor_shape.dim:
            raise status.invalid_argument(f"Tensor name: {name} has no shape information ")
        array = tensors.from_proto(proto, max_bytes=2**40)
        sizes[name] = len(array) if array.ndim else 0
        values[name] = to_json(array, as_bytes=name.endswith("_bytes"))
    if as_rows:
        expected = next(iter(sizes.values()))
        for name, size in sizes.items():
            if size != expected:
                raise status.invalid_argument(
                    f"Tensor name: {name} has inconsistent batch size: {size} expecting: {expected}"
                )
    if len(values) == 1:
        [only] = values.values()
        return {"predictions" if as_rows else "outputs": only}
    if as_rows:
        rows = zip(*values.values(), strict=True)
        return {"predictions": [dict(zip(values, row, strict=True)) for row in rows]}
    return {"outputs": values}


def read_examples(document: dict[str, Any], method: str, request_input) -> None:
    """Reads the `examples`, and the `context` they share, of a classify or regress request."""
    examples = document.get("examples")
    if "examples" not in document:
        raise status.invalid_argument(
            f"JSON Value: {_quote(document)} When method is {method}, key 'examples' is expected "
            "and was not found"
        )
    if not isinstance(examples, list):
        raise status.invalid_argument(
            f"JSON Value: {_quote(document)} Expecting 'examples' value to be an list/array"
        )
    if not examples:
        raise status.invalid_argument(
            f"JSON Value: {_quote(document)} 'examples' value is an empty array"
        )
    if "context" in document:
        target = request_input.example_list_with_context
        target.context.CopyFrom(_example(document["context"]))
    else:
        target = request_input.example_list
    target.examples.extend(_example(value) for value in examples)


def as_number(value: float) -> float:
    """Returns a float32 as the shortest decimal that reads back as the same float32."""
    return float(str(np.float32(value)))


def _from_rows(rows: Any, infos: Infos, document: dict) -> dict[str, np.ndarray]:
    if not isinstance(rows, list):
        raise status.invalid_argument(
            f"JSON Value: {_quote(document)} Excepting 'instances' to be an list/array"
        )
    if not rows:
        raise status.invalid_argument(
            f"JSON Value: {_quote(document)} No values in 'instances' array"
        )
    named = _is_named(rows[0])
    if not named and len(infos) > 1:
        raise status.invalid_argument(
            "instances is a plain list, but expecting list of objects as multiple input tensors "
            "required as per tensorinfo_map"
        )
    columns = {name: [] for name in infos}
    for index, row in enumerate(rows):
        if _is_named(row) != named:
            expected, got = ("object", "list") if named else ("value/list", "object")
            raise status.invalid_argument(
                f"Expecting {expected} but got {got} at item {index} of input list"
            )
        if not named:
            [name] = infos
            columns[name].append(row)
            continue
        if row.keys() != infos.keys():
            raise status.invalid_argument(
                f"Failed to process element: {index} of 'instances' list. JSON object: "
                f"{_quote(row)} keys must be equal to: {','.join(sorted(infos))}"
            )
        for name, value in row.items():
            columns[name].append(value)
    return {name: _to_array(values, infos[name].dtype) for name, values in columns.items()}


def _from_columns(value: Any, infos: Infos) -> dict[str, np.ndarray]:
    if not _is_named(value):
        if len(infos) > 1:
            raise status.invalid_argument(
                "inputs is a plain value/list, but expecting an object as multiple input tensors "
                "required as per tensorinfo_map"
            )
        [name] = infos
        return {name: _to_array(value, infos[name].dtype)}
    for name in sorted(infos):
        if name not in value:
            raise status.invalid_argument(f"Missing named input: {name} in 'inputs' object.")
    return {name: _to_array(value[name], info.dtype) for name, info in infos.items()}


def _is_named(value: Any) -> bool:
    return isinstance(value, dict) and not _is_base64(value)


def _is_base64(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"b64"} and isinstance(value["b64"], str)


def _to_array(value: Any, dtype: int) -> np.ndarray:
    shape, inner = [], value
    while isinstance(inner, list):
        shape.append(len(inner))
        inner = inner[0] if inner else None
    if len(shape) > tensors.MAX_RANK:
        raise status.invalid_argument(
            f"Encountered list at unexpected level: {len(shape)} expected < {tensors.MAX_RANK}"
        )
    flat = []
    _flatten(value, 0, shape, dtype, flat)
    if dtype == types_pb2.DT_STRING:
        array = np.empty(len(flat), np.object_)
        array[:] = flat
    else:
        with np.errstate(over="ignore"):
            array = np.array(flat, tf.as_dtype(dtype).as_numpy_dtype)
    return array.reshape(shape)


def _flatten(value: Any, level: int, shape: list[int], dtype: int, flat: list) -> None:
    if not isinstance(value, list):
        if level != len(shape):
            raise status.invalid_argument(
                f"JSON Value: {_quote(value)} found at incorrect level: {level + 1} in the JSON "
                f"DOM. Expected at level: {len(shape)}"
            )
        flat.append(_element(value, dtype))
        return
    if level >= len(shape):
        raise status.invalid_argument(
            f"Encountered list at unexpected level: {level} expected < {len(shape)}"
        )
    if len(value) != shape[level]:
        raise status.invalid_argument(
            f"Encountered list at unexpected size: {len(value)} at level: {level} "
            f"expected size: {shape[level]}"
        )
    for item in value:
        _flatten(item, level + 1, shape, dtype, flat)


def _element(value: Any, dtype: int) -> Any:
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    if dtype in _INTEGER_RANGES:
        smallest, largest = _INTEGER_RANGES[dtype]
        if is_integer and smallest <= value <= largest:
            return value
    elif dtype in _FLOATS:
        if (is_integer and abs(value) < 2**24) or isinstance(value, float):
            return value
        if is_integer and dtype == types_pb2.DT_DOUBLE and abs(value) < 2**53:
            return value
        if is_integer:
            raise status.invalid_argument(
                f"Cannot convert JSON value: {_quote(value)} to {tf.as_dtype(dtype).name} "
                "without loss of precision."
            )
    elif dtype == types_pb2.DT_BOOL:
        if isinstance(value, bool):
            return value
    elif dtype == types_pb2.DT_STRING:
        if isinstance(value, str) and is_utf8(value):
            return value.encode()
        if isinstance(value, dict):
            return _decode_base64(value)
    else:
        raise status.ServingError(
            grpc.StatusCode.UNIMPLEMENTED,
            f"Conversion of JSON Value: {_quote(value)} to type: {types_pb2.DataType.Name(dtype)}",
        )
    raise status.invalid_argument(
        f"JSON Value: {_quote(value)} Type: {_type_name(value)} is not of expected type: "
        f"{tf.as_dtype(dtype).name}"
    )


def _decode_base64(value: dict) -> bytes:
    if not _is_base64(value):
        raise status.invalid_argument(
            f"JSON Value: {_quote(value)} not formatted correctly for base64 data"
        )
    try:
        return base64.b64decode(value["b64"], validate=True)
    except (binascii.Error, ValueError) as error:
        raise status.invalid_argument("Unable to base64 decode") from error


def to_json(array: np.ndarray, as_bytes: bool = False) -> Any:
    """Returns an array as lists; strings that are no text, or all `as_bytes`, in base64."""
    if array.dtype == np.object_:
        values = [_string_to_json(value, as_bytes) for value in array.reshape(-1)]
    elif array.dtype.kind == "f" and array.dtype.itemsize < 8:
        values = [as_number(value) for value in array.reshape(-1)]
    elif array.dtype.kind in "fiub":
        return array.tolist()
    elif array.dtype in _NARROW_FLOATS:
        values = [as_number(value) for value in array.reshape(-1)]
    elif array.dtype in _NARROW_INTEGERS:
        return array.astype(np.int32).tolist()
    else:
        raise status.invalid_argument(
            f"Failed to write JSON value for tensor type: {array.dtype.name}"
        )
    boxed = np.empty(len(values), np.object_)
    boxed[:] = values
    return boxed.reshape(array.shape).tolist()


def _string_to_json(value: bytes, as_bytes: bool) -> Any:
    if not as_bytes:
        try:
            return value.decode()
        except UnicodeDecodeError:
            pass  # Bytes that are no text would not survive as a JSON string.
    return {"b64": base64.b64encode(value).decode()}


def _example(value: Any) -> example_pb2.Example:
    if not isinstance(value, dict):
        raise status.invalid_argument(
            f"Example must be JSON object but got JSON {_type_name(value)}"
        )
    example = example_pb2.Example()
    for name, content in value.items():
        if not is_utf8(name):
            raise status.invalid_argument(f"Feature: {_quote(name)} is not valid Unicode")
        feature = example.features.feature[name]
        feature.SetInParent()
        for item in content if isinstance(content, list) else [content]:
            _add_to_feature(item, name, feature)
    return example


def _add_to_feature(value: Any, name: str, feature: feature_pb2.Feature) -> None:
    if isinstance(value, bool):
        kind, item = "int64_list", int(value)
    elif isinstance(value, int):
        kind, item = "int64_list", value
        if not -(2**63) <= value < 2**63:
            raise status.invalid_argument(
                f"Feature: {name} has uint64 element. Only int64 is supported."
            )
    elif isinstance(value, float):
        kind, item = "float_list", value
    elif isinstance(value, str) and is_utf8(value):
        kind, item = "bytes_list", value.encode()
    elif _is_base64(value):
        kind, item = "bytes_list", _decode_base64(value)
    else:
        raise status.invalid_argument(
            f"Feature: {name} has element with unexpected JSON type: {_type_name(value)}"
        )
    if feature.WhichOneof("kind") not in (None, kind):
        expected = feature.WhichOneof("kind").removesuffix("_list")
        raise status.invalid_argument(
            f"Unexpected element type in feature: {name} expecting type: {expected}"
        )
    getattr(feature, kind).value.append(item)


def is_utf8(text: str) -> bool:
    """JSON can spell half of a surrogate pair, which no encoding can carry."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _type_name(value: Any) -> str:
    if value is None:
        return "Null"
    if isinstance(value, bool):
        return str(value)
    names = {dict: "Object", list: "Array", str: "String", int: "Number", float: "Number"}
    return names[type(value)]


def _quote(value: Any) -> str:
    """Returns the beginning of a value's JSON: a message is no place for a whole request."""
    pieces, length = [], 0
    for piece in json.JSONEncoder().iterencode(value):
        pieces.append(piece)
        length += len(piece)
        if length > _MAX_QUOTED_CHARACTERS:
            return "".join(pieces)[:_MAX_QUOTED_CHARACTERS] + "..."
    return "".join(pieces)
