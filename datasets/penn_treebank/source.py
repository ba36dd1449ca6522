"""Where the corpus comes from: the three files, or the archive that holds them, or a download."""

import hashlib
import http.client
import os
import queue
import tarfile
import threading
import urllib.request
import zlib
from collections.abc import Callable, Mapping
from typing import BinaryIO

from etils import epath

URL = "http://www.fit.vutbr.cz/~imikolov/rnnlm/simple-examples.tgz"
ARCHIVE = "simple-examples.tgz"
ARCHIVE_SIZE = 34_869_662
ARCHIVE_MD5 = "30177ea32e27c525793142b6bf2c8e2d"

INSTRUCTIONS = f"""\
Put `{ARCHIVE}`, or the three files `ptb.train.txt`, `ptb.valid.txt` and `ptb.test.txt` of its
folder `data`, into the manual folder: `<data_dir>/downloads/manual`, or the one given as
`tfds.download.DownloadConfig(manual_dir=...)`. The archive is at
{URL} ({ARCHIVE_SIZE:,} bytes, md5 {ARCHIVE_MD5}).
"""

_SECONDS_TO_ANSWER = 40
_SECONDS_BETWEEN_BYTES = 15
_BYTES_A_READ = 2**20


class CorpusError(RuntimeError):
    """A corpus file is missing, damaged or out of reach; the message says how to get it."""

    def __init__(self, problem: str):
        super().__init__(f"{problem}\n{INSTRUCTIONS}")


def read_files(
    checksums: Mapping[str, tuple[int, str]],
    manual_folder: epath.Path | None,
    download_folder: epath.Path,
) -> dict[str, bytes]:
    """The checked content of the corpus files.

    Args:
        checksums: Size and sha256 of each file by its name.
        manual_folder: Where the files or the archive may be.
        download_folder: Where the archive is downloaded to when they are not.

    Raises:
        CorpusError: If there is any other content than expected, or none.
    """
    place, read = _find(list(checksums), manual_folder, download_folder)
    contents = {name: read(name) for name in checksums}
    for name, (size, sha256) in checksums.items():
        actual = hashlib.sha256(contents[name]).hexdigest()
        if actual != sha256:
            raise CorpusError(
                f"{name} in {place} has {len(contents[name]):,} bytes with sha256 {actual} where "
                f"{size:,} bytes with sha256 {sha256} were expected."
            )
    return contents


def _find(
    names: list[str], manual_folder: epath.Path | None, download_folder: epath.Path
) -> tuple[epath.Path, Callable[[str], bytes]]:
    """The place that has the files, and the way to read one from there."""
    if manual_folder is not None:
        missing = [name for name in names if not (manual_folder / name).exists()]
        if not missing:
            return manual_folder, lambda name: _read(manual_folder / name)
        archive = manual_folder / ARCHIVE
        if archive.exists():
            return archive, lambda name: _read_from_archive(archive, name)
        if len(missing) < len(names):
            raise CorpusError(f"{manual_folder} lacks {' and '.join(missing)}.")
    archive = _download(download_folder)
    return archive, lambda name: _read_from_archive(archive, name)


def _read(path: epath.Path) -> bytes:
    _check_is_file(path)
    return path.read_bytes()


def _check_is_file(path: epath.Path) -> None:
    # Whoever opens a pipe waits for ever. `path.is_file()` takes a pipe for a file, and what is not
    # on this machine is not known to `os`.
    local = os.fspath(path)
    if os.path.exists(local) and not os.path.isfile(local):
        raise CorpusError(f"{path} is no file.")


def _read_from_archive(path: epath.Path, name: str) -> bytes:
    _check_is_file(path)
    try:
        with path.open("rb") as file, tarfile.open(fileobj=file, mode="r:gz") as archive:
            member = archive.getmember(f"./simple-examples/data/{name}")
            if not member.isreg():
                raise tarfile.ReadError(f"{member.name} is no file there")
            return archive.extractfile(member).read()
    except (tarfile.TarError, zlib.error, EOFError, OSError, KeyError) as error:
        raise CorpusError(
            f"{name} cannot be read from {path}, which has {path.stat().length:,} bytes where "
            f"{ARCHIVE_SIZE:,} bytes with md5 {ARCHIVE_MD5} were expected ({error})."
        ) from error


def _download(folder: epath.Path) -> epath.Path:
    """Downloads the archive, unless it is there already, and returns its path."""
    path = folder / ARCHIVE
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    # Written aside and renamed: what has the archive's name is the whole archive.
    partial = folder / f"{ARCHIVE}.{os.getpid()}.partial"
    try:
        with _open_in_time(URL) as response, partial.open("wb") as file:
            md5 = _copy(response, file)
        if md5 != ARCHIVE_MD5:
            raise CorpusError(f"{URL} sent a file with md5 {md5} where {ARCHIVE_MD5} was expected.")
        partial.replace(path)
    except (OSError, http.client.HTTPException) as error:
        raise CorpusError(f"{URL} could not be downloaded ({error}).") from error
    finally:
        partial.unlink(missing_ok=True)
    return path


def _open_in_time(url: str) -> http.client.HTTPResponse:
    """Opens an address, and gives up after `_SECONDS_TO_ANSWER` whatever it is that hangs."""
    answers = queue.SimpleQueue()

    def ask():
        try:
            # The address is always the one above.
            answers.put(urllib.request.urlopen(url, timeout=_SECONDS_BETWEEN_BYTES))  # noqa: S310
        except (OSError, http.client.HTTPException) as error:
            answers.put(error)

    # A socket's timeout bounds neither the look-up of the name nor the number of addresses tried.
    threading.Thread(target=ask, daemon=True).start()
    try:
        answer = answers.get(timeout=_SECONDS_TO_ANSWER)
    except queue.Empty:
        raise TimeoutError(f"no answer in {_SECONDS_TO_ANSWER} seconds") from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _copy(response: http.client.HTTPResponse, file: BinaryIO) -> str:
    """Copies the response into the file and returns its md5."""
    md5 = hashlib.md5(usedforsecurity=False)
    while chunk := response.read(_BYTES_A_READ):
        md5.update(chunk)
        file.write(chunk)
    return md5.hexdigest()
