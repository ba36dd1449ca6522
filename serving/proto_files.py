"""Message classes straight from a .proto file: what is installed needs no compiler and no copy.

Of the language, as much as the files of this folder use: proto3 with messages in messages, `oneof`,
`map`, `optional` and `repeated` fields, services and imports.
"""

import pathlib
import re
from collections.abc import Iterator

from google.protobuf import (
    descriptor,
    descriptor_pb2,
    descriptor_pool,
    message_factory,
)
from google.protobuf.message import Message

_TOKEN = re.compile(r'//[^\n]*|"[^"]*"|[\w.]+|\S')
_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    name: getattr(_Field, f"TYPE_{name.upper()}")
    for name in ("double", "float", "int64", "uint64", "int32", "uint32", "bool", "string", "bytes")
}


def load(
    path: str | pathlib.Path, pool: descriptor_pool.DescriptorPool
) -> descriptor.FileDescriptor:
    """Adds a .proto file to a pool of descriptors, which has those that it imports already.

    Args:
        path: the file.
        pool: `descriptor_pool.Default()`, or one of its own for messages that others bring, too.

    Returns:
        What is in the file.
    """
    path = pathlib.Path(path)
    file = parse(path.read_text("utf-8"), f"keras_stackrnn/serving/{path.name}")
    return pool.AddSerializedFile(file.SerializeToString()) or pool.FindFileByName(file.name)


def message_classes(file: descriptor.FileDescriptor) -> dict[str, type[Message]]:
    """The classes of a file's messages, by name."""
    return {
        name: message_factory.GetMessageClass(each)
        for name, each in file.message_types_by_name.items()
    }


def parse(text: str, name: str) -> descriptor_pb2.FileDescriptorProto:
    """Reads the text of a .proto file, to be known by `name`."""
    file = descriptor_pb2.FileDescriptorProto(name=name, syntax="proto3")
    tokens = (token for token in _TOKEN.findall(text) if not token.startswith("//"))
    for word in tokens:
        if word == "syntax":
            _expect(tokens, "=", '"proto3"', ";")
        elif word == "package":
            file.package = next(tokens)
            _expect(tokens, ";")
        elif word == "import":
            file.dependency.append(next(tokens).strip('"'))
            _expect(tokens, ";")
        elif word == "message":
            message = file.message_type.add(name=next(tokens))
            _read_message(tokens, message, f".{file.package}.{message.name}")
        elif word == "service":
            _read_service(tokens, file.service.add(name=next(tokens)))
        else:
            raise ValueError(f"{name}: unexpected {word!r}.")
    _complete_names(file)
    return file


def _read_message(tokens: Iterator[str], message, full_name: str) -> None:
    _expect(tokens, "{")
    oneof = None
    for word in tokens:
        if word == "}":
            if oneof is None:
                break
            oneof = None
        elif word == "message":
            nested = message.nested_type.add(name=next(tokens))
            _read_message(tokens, nested, f"{full_name}.{nested.name}")
        elif word == "oneof":
            oneof = len(message.oneof_decl)
            message.oneof_decl.add(name=next(tokens))
            _expect(tokens, "{")
        elif word == "map":
            _read_map(tokens, message, full_name)
        else:
            field = message.field.add(label=_Field.LABEL_OPTIONAL)
            if word == "repeated":
                field.label = _Field.LABEL_REPEATED
            field.proto3_optional = word == "optional"
            _set_type(field, next(tokens) if word in ("repeated", "optional") else word)
            if oneof is not None:
                field.oneof_index = oneof
            _read_number(tokens, field)
    # A field that may be missing is the only one of a choice that comes after all others.
    for field in message.field:
        if field.proto3_optional:
            field.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{field.name}")
        else:
            field.ClearField("proto3_optional")


def _read_map(tokens: Iterator[str], message, full_name: str) -> None:
    _expect(tokens, "<")
    key = next(tokens)
    _expect(tokens, ",")
    value = next(tokens)
    _expect(tokens, ">")
    field = message.field.add(label=_Field.LABEL_REPEATED, type=_Field.TYPE_MESSAGE)
    _read_number(tokens, field)
    camel = "".join(word.capitalize() for word in field.name.split("_"))
    entry = message.nested_type.add(name=f"{camel}Entry")
    entry.options.map_entry = True
    for number, (name, kind) in enumerate({"key": key, "value": value}.items(), start=1):
        part = entry.field.add(name=name, number=number, label=_Field.LABEL_OPTIONAL)
        part.json_name = name
        _set_type(part, kind)
    field.type_name = f"{full_name}.{entry.name}"


def _read_service(tokens: Iterator[str], service) -> None:
    _expect(tokens, "{")
    for word in tokens:
        if word == "}":
            return
        method = service.method.add(name=next(tokens))
        method.client_streaming, method.input_type = _read_type_of_method(tokens)
        _expect(tokens, "returns")
        method.server_streaming, method.output_type = _read_type_of_method(tokens)
        if next(tokens) == "{":
            _expect(tokens, "}")
        for streams in ("client_streaming", "server_streaming"):
            if not getattr(method, streams):
                method.ClearField(streams)


def _read_type_of_method(tokens: Iterator[str]) -> tuple[bool, str]:
    _expect(tokens, "(")
    word = next(tokens)
    streams = word == "stream"
    name = next(tokens) if streams else word
    _expect(tokens, ")")
    return streams, name


def _read_number(tokens: Iterator[str], field) -> None:
    field.name = next(tokens)
    _expect(tokens, "=")
    field.number = int(next(tokens))
    _expect(tokens, ";")
    words = field.name.split("_")
    field.json_name = words[0] + "".join(word.capitalize() for word in words[1:])


def _set_type(field, kind: str) -> None:
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type, field.type_name = _Field.TYPE_MESSAGE, kind


def _complete_names(file) -> None:
    """Writes names of messages with all that is around them, which is looked in from within."""
    declared = set()

    def declare(messages, around):
        for message in messages:
            declared.add(f"{around}.{message.name}")
            declare(message.nested_type, f"{around}.{message.name}")

    def complete(name, around):
        if name.startswith("."):
            return name
        while around:
            if f"{around}.{name}" in declared:
                return f"{around}.{name}"
            around = around.rpartition(".")[0]
        return f".{name}"

    def complete_all(messages, around):
        for message in messages:
            within = f"{around}.{message.name}"
            for field in message.field:
                if field.type == _Field.TYPE_MESSAGE:
                    field.type_name = complete(field.type_name, within)
            complete_all(message.nested_type, within)

    package = f".{file.package}"
    declare(file.message_type, package)
    complete_all(file.message_type, package)
    for service in file.service:
        for method in service.method:
            method.input_type = complete(method.input_type, package)
            method.output_type = complete(method.output_type, package)


def _expect(tokens: Iterator[str], *words: str) -> None:
    for word in words:
        if (token := next(tokens)) != word:
            raise ValueError(f"Expected {word!r}, got {token!r}.")
