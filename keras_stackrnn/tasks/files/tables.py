"""Rows of a file of one's own: plain lines, values set apart by tabs or commas, or JSON lines."""

import codecs
import csv
import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple


class Column(NamedTuple):
    """A value that every row has.

    Attributes:
        name: What it is called in messages.
        headers: Names that a header may give it, in lower case.
        is_name: Whether it is a name: white space around it says nothing, and it has to be there.
    """

    name: str
    headers: tuple[str, ...]
    is_name: bool = False


class Row(NamedTuple):
    """The values of a row, in the order of the columns, and where it is."""

    values: tuple[str, ...]
    file: str
    line: int

    def fault(self, sentence: str) -> ValueError:
        """An error that says where the row is."""
        return fault(self.file, self.line, sentence)


def fault(file: str, line: int, sentence: str) -> ValueError:
    """An error in a line of a file."""
    return ValueError(f"{file}, line {line}: {sentence}")


def read_rows(
    path: str, columns: Sequence[Column], names: Sequence[str] | None = None
) -> list[Row]:
    """The rows of a file, `.txt`, `.tsv`, `.csv` or `.jsonl`, perhaps with `.gz` behind it.

    Args:
        path: The file. Plain text and `.tsv` have tabs between values, a single column has none.
        columns: What each row is to have.
        names: Which columns of the file these are: names of its header, or numbers from 1 on;
            `None`: those that a header calls by one of the columns' own names, or the first ones.

    Returns:
        The rows in the order of the file; ValueError says what is wrong, and in which line.
    """
    name = path.removesuffix(".gz")
    read = _READERS.get(Path(name).suffix.lower())
    if read is None:
        raise ValueError(
            f"{path} is none of the kinds of files that are read: expected a name that ends in "
            f"{', '.join(_READERS)}, perhaps with .gz behind it."
        )
    lines = _lines(path, is_packed=name != path)
    rows = [_tidied(row, columns) for row in read(path, lines, columns, names)]
    if not rows:
        raise ValueError(f"{path} has a header and nothing else: expected rows below it.")
    return rows


def _tidied(row: Row, columns: Sequence[Column]) -> Row:
    values = [
        value.strip() if column.is_name else value
        for column, value in zip(columns, row.values, strict=True)
    ]
    for column, value in zip(columns, values, strict=True):
        if column.is_name and not value:
            raise row.fault(f"expected a {column.name}, got an empty one.")
    return row._replace(values=tuple(values))


def _lines(path: str, is_packed: bool) -> list[str]:
    try:
        content = Path(path).read_bytes()
        if is_packed:
            content = gzip.decompress(content)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise ValueError(f"{path} cannot be unpacked: expected a whole file of gzip.") from None
    except OSError as error:
        raise ValueError(f"Cannot read {path}: {error.strerror}.") from error
    content = content.removeprefix(codecs.BOM_UTF8)
    if not content.strip():
        raise ValueError(f"{path} is empty: expected a row in each line.")
    return [
        _decoded(path, number, line)
        for number, line in enumerate(content.removesuffix(b"\n").split(b"\n"), 1)
    ]


def _decoded(path: str, number: int, line: bytes) -> str:
    try:
        text = line.removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        raise fault(
            path,
            number,
            f"expected text in UTF-8, got byte {line[error.start]} at place {error.start + 1}.",
        ) from None
    if "\0" in text:
        raise fault(path, number, f"expected text, got byte 0 at place {text.index(chr(0)) + 1}.")
    return text


def _read_lines(path, lines, columns, names) -> Iterator[Row]:
    if len(columns) == 1 and not names:
        # There is nothing to set apart: a tab is a symbol like any other.
        return (Row((line,), path, number) for number, line in enumerate(lines, 1))
    return _read_tabs(path, lines, columns, names)


def _read_tabs(path, lines, columns, names) -> Iterator[Row]:
    split = [(number, line.split("\t")) for number, line in enumerate(lines, 1)]
    return _picked(path, split, columns, names, "a tab between values")


def _read_commas(path, lines, columns, names) -> Iterator[Row]:
    # Within quotes a line's end is a part of the value.
    reader = csv.reader((f"{line}\n" for line in lines), strict=True)
    split, first = [], 1
    while True:
        try:
            values = next(reader, None)
        except csv.Error as error:
            raise fault(path, reader.line_num, f"{error}.") from None
        if values is None:
            return _picked(path, split, columns, names, "a comma between values")
        # The reader gives nothing at all for a line that is empty.
        split.append((first, values or [""]))
        first = reader.line_num + 1


def _picked(path, split, columns, names, separator) -> Iterator[Row]:
    """The columns that are meant of rows that have been taken apart."""
    header = split[0][1]
    places = _places(path, header, columns, names)
    named = _names_header(header, columns, names)
    for number, values in split[1 if named else 0 :]:
        if len(values) <= max(places):
            raise fault(
                path,
                number,
                f"expected {separator}, and {max(places) + 1} or more values, got "
                f"{len(values)}: {_shown(values)}.",
            )
        if len(columns) == 1 and len(values) > 1 and not (names or named):
            raise fault(
                path,
                number,
                f"expected a {columns[0].name} and nothing else, got {_shown(values)}; columns "
                "says which of them is meant.",
            )
        yield Row(tuple(values[place] for place in places), path, number)


def _names_header(header, columns, names) -> bool:
    """Whether the first row is a header."""
    if names:
        return not all(name.isdecimal() for name in names)
    known = [name.strip().lower() for name in header]
    return all(any(each in column.headers for each in known) for column in columns)


def _places(path, header, columns, names) -> list[int]:
    if names and len(names) != len(columns):
        wanted = ", ".join(column.name for column in columns)
        raise ValueError(
            f"columns must name {len(columns)} of {path} ({wanted}), got {', '.join(names)}."
        )
    if names and _names_header(header, columns, names):
        for name in names:
            if name not in header:
                raise fault(path, 1, f"there is no column {name!r}, only {_shown(header)}.")
        return [header.index(name) for name in names]
    if names:
        if "0" in names:
            raise ValueError(f"columns are counted from 1, got {', '.join(names)}.")
        return [int(name) - 1 for name in names]
    if _names_header(header, columns, names):
        known = [name.strip().lower() for name in header]
        return [
            next(place for place, each in enumerate(known) if each in column.headers)
            for column in columns
        ]
    return list(range(len(columns)))


def _read_json(path, lines, columns, names) -> Iterator[Row]:
    for number, line in enumerate(lines, 1):
        try:
            value = json.loads(line)
        except ValueError as error:
            reason = getattr(error, "msg", str(error))
            raise fault(path, number, f"expected a line of JSON, got {reason}.") from None
        yield Row(_values_of(value, path, number, columns, names), path, number)


def _values_of(value, path, number, columns, names) -> tuple[str, ...]:
    if isinstance(value, str) and len(columns) == 1:
        value = [value]
    if isinstance(value, list) and len(value) >= len(columns) and not names:
        return tuple(_text(each, path, number) for each in value[: len(columns)])
    if not isinstance(value, dict):
        wanted = ", ".join(column.name for column in columns)
        raise fault(path, number, f"expected an object with {wanted}, got {_shown([value])}.")
    if names and len(names) != len(columns):
        raise ValueError(f"columns must name {len(columns)} of {path}, got {', '.join(names)}.")
    keys = {str(key).lower(): key for key in value}
    found = []
    for place, column in enumerate(columns):
        wanted = (names[place],) if names else column.headers
        key = next((keys.get(each, each) for each in wanted if each in (*keys, *value)), None)
        if key is None:
            raise fault(
                path,
                number,
                f"expected {' or '.join(map(repr, wanted))}, got {_shown(value)}.",
            )
        found.append(_text(value[key], path, number))
    return tuple(found)


def _text(value, path, number) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (str, int)):
        return str(value)
    if isinstance(value, list):
        return " ".join(_text(each, path, number) for each in value)
    raise fault(path, number, f"expected a text, got {value!r}.")


def _shown(values) -> str:
    return ", ".join(repr(value) for value in list(values)[:5])


_READERS: dict[str, Callable] = {
    ".txt": _read_lines,
    ".tsv": _read_tabs,
    ".csv": _read_commas,
    ".jsonl": _read_json,
}
