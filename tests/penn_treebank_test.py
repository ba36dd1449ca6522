"""Tests of Penn Treebank as a TFDS dataset, and of its real figures where the corpus is at hand."""

import collections
import contextlib
import hashlib
import http.server
import io
import os
import shutil
import socket
import tarfile
import threading
from pathlib import Path
from unittest import mock

import pytest
import tensorflow_datasets as tfds
from etils import epath
from test_case import run_command

from keras_stackrnn import text_symbols
from keras_stackrnn.datasets import __main__ as command
from keras_stackrnn.datasets import penn_treebank
from keras_stackrnn.datasets.penn_treebank import corpus, source

DUMMY_DATA = Path(penn_treebank.__file__).parent / "dummy_data"
FILES = tuple(corpus.FILE_OF_SPLIT.values())
REAL_CORPUS = Path(__file__).resolve().parents[2] / "shared" / "data" / "ptb"

needs_the_corpus = pytest.mark.skipif(
    not REAL_CORPUS.exists(),
    reason="the corpus belongs to the LDC and does not come with this repository",
)


def checksums_of(folder):
    """What `checksums.tsv` would say, were the files of a folder the corpus."""
    return {name: tfds.download.checksums.compute_url_info(folder / name) for name in FILES}


@contextlib.contextmanager
def dummy_data_for_the_corpus():
    """Makes the builder expect the hand-written lines of `dummy_data`."""
    with mock.patch.object(penn_treebank.Builder, "url_infos", checksums_of(DUMMY_DATA)):
        yield


class PennTreebankTest(tfds.testing.DatasetBuilderTestCase):
    DATASET_CLASS = penn_treebank.Builder
    SPLITS = {"train": 3, "validation": 2, "test": 2}  # noqa: RUF012 TFDS' test case declares it so

    def test_session(self, *args, **kwargs):
        return super().test_session(*args, **kwargs)

    # A helper of TensorFlow's test case, and not a test.
    test_session.__test__ = False

    def setUp(self):
        super().setUp()
        self.enter_context(dummy_data_for_the_corpus())


@pytest.fixture
def dummy_corpus():
    with dummy_data_for_the_corpus():
        yield


@pytest.fixture
def manual_dir(tmp_path):
    """A manual folder with the three dummy files."""
    folder = tmp_path / "manual"
    folder.mkdir()
    for name in FILES:
        shutil.copy(DUMMY_DATA / name, folder)
    return folder


def pack(folder):
    """The content of an archive made like the canonical one of the three files of a folder."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name in FILES:
            archive.add(folder / name, f"./simple-examples/data/{name}")
    return content.getvalue()


def prepare(tmp_path, config="word", manual_dir=None):
    builder = penn_treebank.Builder(data_dir=tmp_path / "data", config=config)
    download_config = tfds.download.DownloadConfig(manual_dir=manual_dir)
    builder.download_and_prepare(download_config=download_config)
    return builder


def texts_of(builder, split):
    return [example["text"].decode() for example in tfds.as_numpy(builder.as_dataset(split=split))]


def assert_nothing_is_prepared(tmp_path):
    assert not list((tmp_path / "data").glob("penn_treebank/word/*"))
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith(".partial")]


def test_lines_of_a_file():
    assert corpus.read_lines(b" a b \n c \n") == ["a b", "c"]


def test_symbols_of_a_line():
    assert text_symbols.split_into_words("a <unk>") == ["a", "<unk>", "<eos>"]
    assert text_symbols.split_into_characters("a <unk>") == [*"a <unk>", "<eos>"]


def test_vocabulary_is_by_frequency_with_unk_first():
    lines = ["b a a", "<unk> a c"]
    assert text_symbols.make_vocabulary(lines, text_symbols.split_into_words) == [
        *("<unk>", "a", "<eos>", "b", "c")
    ]
    assert text_symbols.make_vocabulary(["ab a"], text_symbols.split_into_characters) == [
        "a",
        " ",
        "<eos>",
        "b",
    ]


@pytest.mark.usefixtures("dummy_corpus")
@pytest.mark.parametrize("config", ["word", "char"])
def test_tokens_are_places_in_the_vocabulary(config, manual_dir, tmp_path):
    builder = prepare(tmp_path, config, manual_dir)
    vocabulary = builder.info.metadata["vocabulary"]
    assert (builder.data_path / "vocabulary.txt").read_text().split("\n")[:-1] == vocabulary
    separator = " " if config == "word" else ""
    for split, name in corpus.FILE_OF_SPLIT.items():
        examples = list(tfds.as_numpy(builder.as_dataset(split=split)))
        assert [e["text"].decode() for e in examples] == corpus.read_lines(
            (DUMMY_DATA / name).read_bytes()
        )
        for example in examples:
            symbols = [vocabulary[token] for token in example["tokens"]]
            assert symbols.pop() == "<eos>"
            assert separator.join(symbols) == example["text"].decode()


@pytest.mark.usefixtures("dummy_corpus")
def test_vocabulary_comes_with_the_prepared_files(manual_dir, tmp_path):
    builder = prepare(tmp_path, "word", manual_dir)
    from_files = tfds.builder_from_directory(builder.data_path)
    assert from_files.info.metadata["vocabulary"] == builder.info.metadata["vocabulary"]
    assert from_files.info.metadata["vocabulary"][:3] == ["<unk>", "<eos>", "the"]


@pytest.mark.usefixtures("dummy_corpus")
def test_reads_the_archive_in_the_manual_folder(manual_dir, tmp_path):
    expected = texts_of(prepare(tmp_path / "files", manual_dir=manual_dir), "train")
    content = pack(manual_dir)
    for name in FILES:
        (manual_dir / name).unlink()
    (manual_dir / source.ARCHIVE).write_bytes(content)
    builder = prepare(tmp_path / "archive", manual_dir=manual_dir)
    assert texts_of(builder, "train") == expected


@pytest.mark.usefixtures("dummy_corpus")
def test_a_missing_file_is_named(manual_dir, tmp_path):
    (manual_dir / "ptb.valid.txt").unlink()
    with pytest.raises(source.CorpusError, match=r"manual lacks ptb\.valid\.txt\.\nPut `simple-ex"):
        prepare(tmp_path, manual_dir=manual_dir)
    assert_nothing_is_prepared(tmp_path)


@pytest.mark.usefixtures("dummy_corpus")
@pytest.mark.parametrize("change", [lambda c: c[:-5], lambda c: c.replace(b"cat", b"cow")])
def test_a_truncated_or_altered_file_is_named(manual_dir, tmp_path, change):
    path = manual_dir / "ptb.test.txt"
    content = path.read_bytes()
    path.write_bytes(change(content))
    expected = hashlib.sha256(content).hexdigest()
    message = (
        rf"ptb\.test\.txt in .*manual has {len(change(content))} bytes with sha256 [0-9a-f]+ where "
        rf"{len(content)} bytes with sha256 {expected} were expected\.\nPut `simple-examples"
    )
    with pytest.raises(source.CorpusError, match=message):
        prepare(tmp_path, manual_dir=manual_dir)
    assert_nothing_is_prepared(tmp_path)
    path.write_bytes(content)
    assert len(texts_of(prepare(tmp_path, manual_dir=manual_dir), "test")) == 2


@pytest.mark.usefixtures("dummy_corpus")
@pytest.mark.parametrize("kept", [0, 100, -20])
def test_a_truncated_archive_is_named(manual_dir, tmp_path, kept):
    content = pack(manual_dir)[:kept]
    for name in FILES:
        (manual_dir / name).unlink()
    (manual_dir / source.ARCHIVE).write_bytes(content)
    message = (
        rf"simple-examples\.tgz, which has {len(content)} bytes where 34,869,662 bytes with md5"
    )
    with pytest.raises(source.CorpusError, match=message):
        prepare(tmp_path, manual_dir=manual_dir)
    assert_nothing_is_prepared(tmp_path)


@pytest.mark.parametrize(
    ("kind", "linkname"),
    [
        (tarfile.DIRTYPE, ""),
        (tarfile.FIFOTYPE, ""),
        (tarfile.SYMTYPE, "ptb.test.txt"),
        (tarfile.LNKTYPE, "./simple-examples/data/ptb.test.txt"),
        (tarfile.SYMTYPE, "/etc/hostname"),
    ],
    ids=["folder", "pipe", "loop", "hard loop", "outside"],
)
def test_a_member_of_the_archive_that_is_no_file(kind, linkname, tmp_path):
    member = tarfile.TarInfo("./simple-examples/data/ptb.test.txt")
    member.type, member.linkname = kind, linkname
    with tarfile.open(tmp_path / source.ARCHIVE, "w:gz") as archive:
        archive.addfile(member)
    with pytest.raises(source.CorpusError, match=r"^ptb\.test\.txt cannot be read from .*no file"):
        source.read_files({"ptb.test.txt": (1, "0")}, epath.Path(tmp_path), epath.Path(tmp_path))


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "pipe"])
@pytest.mark.parametrize("name", [FILES[0], source.ARCHIVE])
def test_a_corpus_that_is_no_file(make, name, tmp_path):
    make(tmp_path / name)
    with pytest.raises(source.CorpusError, match=rf"{name}.* is no file\.\n"):
        source.read_files({FILES[0]: (1, "0")}, epath.Path(tmp_path), epath.Path(tmp_path))


@contextlib.contextmanager
def serving(content, monkeypatch, announced=None):
    """A server on this machine that sends the archive; yields the list of requests it got."""
    requests = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(announced or len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    use_port(server.server_port, monkeypatch)
    try:
        yield requests
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def use_port(port, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(source, "URL", f"http://127.0.0.1:{port}/simple-examples.tgz")


@pytest.mark.usefixtures("dummy_corpus")
def test_downloads_once_what_the_manual_folder_lacks(tmp_path, monkeypatch):
    content = pack(DUMMY_DATA)
    monkeypatch.setattr(source, "ARCHIVE_MD5", hashlib.md5(content).hexdigest())
    with serving(content, monkeypatch) as requests:
        assert len(texts_of(prepare(tmp_path), "train")) == 3
        assert len(texts_of(prepare(tmp_path, "char"), "train")) == 3
    assert requests == ["/simple-examples.tgz"]


@pytest.mark.usefixtures("dummy_corpus")
def test_another_file_than_the_archive_is_not_kept(tmp_path, monkeypatch):
    with (
        serving(b"<html>moved</html>", monkeypatch),
        pytest.raises(
            source.CorpusError, match=f"sent a file with md5 .* where {source.ARCHIVE_MD5}"
        ),
    ):
        prepare(tmp_path)
    assert_nothing_is_prepared(tmp_path)
    assert not list(tmp_path.rglob(source.ARCHIVE))


@pytest.mark.usefixtures("dummy_corpus")
def test_a_download_that_breaks_off_is_not_kept(tmp_path, monkeypatch):
    content = pack(DUMMY_DATA)
    with (
        serving(content[:50], monkeypatch, announced=len(content)),
        pytest.raises(source.CorpusError, match=r"127\.0\.0\.1.*\nPut `simple-examples\.tgz`"),
    ):
        prepare(tmp_path)
    assert_nothing_is_prepared(tmp_path)
    assert not list(tmp_path.rglob(source.ARCHIVE))


def test_a_refused_connection_ends_with_instructions(tmp_path, monkeypatch, capsys):
    with socket.create_server(("127.0.0.1", 0)) as server:
        use_port(server.getsockname()[1], monkeypatch)
    arguments = ["--prepare=penn_treebank/word", f"--data_dir={tmp_path / 'data'}"]
    assert run_command(command, *arguments) == 1
    printed = capsys.readouterr().err
    assert "could not be downloaded" in printed
    assert "into the manual folder" in printed
    assert_nothing_is_prepared(tmp_path)


@pytest.mark.parametrize("limit", ["_SECONDS_TO_ANSWER", "_SECONDS_BETWEEN_BYTES"])
def test_a_server_that_never_answers_ends_with_instructions(tmp_path, monkeypatch, limit):
    assert source._SECONDS_TO_ANSWER < 60
    monkeypatch.setattr(source, limit, 0.3)
    with socket.create_server(("127.0.0.1", 0)) as server:
        use_port(server.getsockname()[1], monkeypatch)
        with pytest.raises(source.CorpusError, match=r"could not be downloaded .*\nPut `simple-ex"):
            prepare(tmp_path)
    assert_nothing_is_prepared(tmp_path)


@needs_the_corpus
@pytest.mark.parametrize(
    ("config", "vocabulary_size", "tokens"),
    [
        ("word", 10_000, {"train": 929_589, "validation": 73_760, "test": 82_430}),
        ("char", 50, {"train": 5_017_482, "validation": 393_042, "test": 442_423}),
    ],
)
def test_the_real_corpus_has_the_known_figures(config, vocabulary_size, tokens):
    checksums = {i.filename: (i.size, i.checksum) for i in penn_treebank.Builder.url_infos.values()}
    contents = source.read_files(checksums, REAL_CORPUS, download_folder=None)
    lines = {
        split: corpus.read_lines(contents[name]) for split, name in corpus.FILE_OF_SPLIT.items()
    }
    assert {split: len(each) for split, each in lines.items()} == {
        "train": 42_068,
        "validation": 3_370,
        "test": 3_761,
    }
    split_line = penn_treebank.Builder.builder_configs[config].split
    counts = {
        split: collections.Counter(symbol for line in each for symbol in split_line(line))
        for split, each in lines.items()
    }
    assert {split: count.total() for split, count in counts.items()} == tokens
    vocabulary = text_symbols.make_vocabulary(lines["train"], split_line)
    assert len(vocabulary) == len(set(vocabulary)) == vocabulary_size
    assert "<eos>" in vocabulary
    assert all(set(count) <= set(vocabulary) for count in counts.values())


@needs_the_corpus
def test_the_real_corpus_is_prepared_in_file_order(tmp_path):
    builder = prepare(tmp_path, manual_dir=REAL_CORPUS)
    assert len(builder.info.metadata["vocabulary"]) == 10_000
    vocabulary_file = builder.data_path / "vocabulary.txt"
    assert len(vocabulary_file.read_text().splitlines()) == 10_000
    examples = tfds.as_numpy(builder.as_dataset(split="validation"))
    tokens = sum(len(example["tokens"]) for example in examples)
    assert tokens == 73_760
    lines = corpus.read_lines((REAL_CORPUS / "ptb.test.txt").read_bytes())
    assert texts_of(builder, "test") == lines
