"""Tests of texts as token ids: vocabularies, what is unknown, and files that are none."""

import shutil
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import tensorflow_datasets as tfds
from test_case import raises_only

from keras_stackrnn import corpus
from keras_stackrnn.datasets import penn_treebank

DUMMY_DATA = Path(penn_treebank.__file__).parent / "dummy_data"

LINES = ["the cat sees the dog", "the dog sees a bird"]


def words_of(text, tokens):
    return [text.vocabulary[token] for token in tokens]


def test_words_are_by_frequency_and_those_seen_once_are_unknown():
    text = corpus.Corpus("word", LINES, ["the bird sees"], ["a fish"])
    assert text.vocabulary == ["<unk>", "the", "<eos>", "dog", "sees"]
    assert words_of(text, text.train[:6]) == ["the", "<unk>", "sees", "the", "dog", "<eos>"]
    assert words_of(text, text.validation) == ["the", "<unk>", "sees", "<eos>"]
    assert words_of(text, text.test()) == ["<unk>", "<unk>", "<eos>"]
    assert text.vocabulary[text.end_of_line] == "<eos>"
    assert text.train.dtype == np.int32


def test_a_text_that_marks_unknown_words_keeps_all_others():
    text = corpus.Corpus("word", [*LINES, "the <unk>"], ["fish"])
    assert set(text.vocabulary) == {*" ".join(LINES).split(), "<unk>", "<eos>"}
    assert words_of(text, text.validation) == ["<unk>", "<eos>"]


def test_the_most_frequent_words_are_kept():
    text = corpus.Corpus("word", ["be be be not not to to to to"], ["to"], vocabulary_size=4)
    assert text.vocabulary == ["<unk>", "to", "be", "<eos>"]


def test_characters_keep_the_spaces_and_are_all_known():
    text = corpus.Corpus("char", ["ab  a", ""], ["ba"])
    assert words_of(text, text.train) == ["a", "b", " ", " ", "a", "<eos>", "<eos>"]
    assert "<unk>" not in text.vocabulary


def test_without_validation_text_the_last_tenth_is_it():
    lines = [f"line{i} line{i}" for i in range(25)]
    text = corpus.Corpus("word", lines)
    assert len(text.train) == 23 * 3
    assert words_of(text, text.validation) == ["<unk>", "<unk>", "<eos>"] * 2
    assert not text.has_test


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("letter", LINES), "level must be one of word, char, got 'letter'."),
        (
            ("word", LINES),
            "A text of 2 lines is too short to validate on a tenth of it: expected 10 lines or "
            "more, or validation text of its own.",
        ),
        (
            ("char", ["ab"], ["aé"]),
            "The validation text has the character 'é', which is nowhere in the text to learn "
            "from: expected the same characters in both.",
        ),
        (
            ("char", ["ab"], ["a"], ["x"]),
            "The test text has the character 'x', which is nowhere in the text to learn from: "
            "expected the same characters in both.",
        ),
        (
            ("word", ["a b a b"], ["a"]),
            "A text whose frequent words are all single characters is read character by "
            "character: expected level='char', got level='word' and the words ['a', 'b'].",
        ),
    ],
)
def test_bad_texts(arguments, message):
    with raises_only(message):
        corpus.Corpus(*arguments)


def test_a_file_is_its_lines(tmp_path):
    path = tmp_path / "text"
    path.write_bytes("\ufeffein Apfel\r\n\r\nzwei Äpfel".encode())
    assert corpus.read_text(path) == ["ein Apfel", "", "zwei Äpfel"]
    path.write_bytes(b"a\n\n")
    assert corpus.read_text(path) == ["a", ""]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty: expected lines of text."),
        (b" \n\n", "is empty: expected lines of text."),
        (b"abc\0def", "is no text: expected text in UTF-8, got a byte 0 at position 3."),
        (b"caf\xe9 au lait", "is no text in UTF-8: got byte 233 at position 3."),
    ],
)
def test_files_that_are_no_text(content, message, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(content)
    with raises_only(f"{path} {message}"):
        corpus.text_files(str(path))


def test_files_that_cannot_be_read(tmp_path):
    with raises_only(f"Cannot read {tmp_path / 'none'}: No such file or directory."):
        corpus.text_files(str(tmp_path / "none"))
    with raises_only(f"Cannot read {tmp_path}: Is a directory."):
        corpus.text_files(str(tmp_path))


@pytest.fixture
def manual_dir(tmp_path):
    """A folder with hand-written lines that the builder takes for the corpus."""
    for path in DUMMY_DATA.glob("ptb.*.txt"):
        shutil.copy(path, tmp_path)
    infos = {
        path.name: tfds.download.checksums.compute_url_info(path) for path in tmp_path.iterdir()
    }
    with mock.patch.object(penn_treebank.Builder, "url_infos", infos):
        yield tmp_path


def test_penn_treebank_by_word_and_by_character(manual_dir):
    lines = (manual_dir / "ptb.train.txt").read_text().splitlines()
    words = corpus.penn_treebank(manual_dir)
    assert len(words.train) == sum(len(line.split()) + 1 for line in lines)
    assert words.vocabulary[0] == "<unk>"
    assert words.has_test
    characters = corpus.penn_treebank(manual_dir, "char")
    assert len(characters.train) == sum(len(" ".join(line.split())) + 1 for line in lines)


WHERE = "the three files ptb.train.txt, ptb.valid.txt, ptb.test.txt, or simple-examples.tgz"


def test_penn_treebank_without_a_folder(tmp_path):
    with raises_only(f"manual_dir is missing: expected a folder with {WHERE}."):
        corpus.penn_treebank(None)
    with raises_only(f"manual_dir must be a folder with {WHERE}, got {str(tmp_path)!r}."):
        corpus.penn_treebank(tmp_path)


def test_penn_treebank_with_a_file_missing_or_changed(manual_dir):
    path = manual_dir / "ptb.valid.txt"
    path.write_text("something else\n")
    with pytest.raises(ValueError, match=r"^ptb\.valid\.txt in .* has 15 bytes with sha256 .*\.$"):
        corpus.penn_treebank(manual_dir)
    path.unlink()
    with raises_only(f"{manual_dir} lacks ptb.valid.txt."):
        corpus.penn_treebank(manual_dir)
