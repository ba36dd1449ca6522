"""Text as a language model sees it: a vocabulary, and a long row of token ids for each part."""

import collections
import os
from pathlib import Path

import numpy as np

from keras_stackrnn import text_symbols
from keras_stackrnn.text_symbols import END_OF_LINE, UNKNOWN

LEVELS = ("word", "char")

_SPLIT = {"word": text_symbols.split_into_words, "char": text_symbols.split_into_characters}
# Of a text without validation text of its own, the last tenth is that.
_VALIDATION_SHARE = 10


class Corpus:
    """A vocabulary, and the parts of a text as token ids (int32), in the order of the text.

    Every line ends in `<eos>`. A word that is not in the vocabulary is `<unk>`; a character that
    is not there is an error.

    Args:
        level: `"word"` or `"char"`.
        train: Lines to learn from.
        validation: Lines to validate on; `None`: the last tenth of the lines to learn from.
        test: Lines to test on, or `None`.
        vocabulary_size: At the level of words, how many of them are kept, `<unk>` and `<eos>`
            included: the most frequent. Unless the text has `<unk>` of its own, a word that occurs
            once is `<unk>` too, so that there is something to learn about it.

    Attributes:
        vocabulary: List of symbols; a symbol's place is its token id.
        train: Token ids.
        validation: Token ids.
    """

    def __init__(
        self,
        level: str,
        train: list[str],
        validation: list[str] | None = None,
        test: list[str] | None = None,
        vocabulary_size: int = 10_000,
    ):
        if level not in LEVELS:
            raise ValueError(f"level must be one of {', '.join(LEVELS)}, got {level!r}.")
        if validation is None:
            first = len(train) - len(train) // _VALIDATION_SHARE
            train, validation = train[:first], train[first:]
            if not validation:
                raise ValueError(
                    f"A text of {len(train)} lines is too short to validate on a tenth of it: "
                    f"expected {_VALIDATION_SHARE} lines or more, or validation text of its own."
                )
        self._split = _SPLIT[level]
        self.level = level
        self.vocabulary = self._make_vocabulary(train, vocabulary_size)
        self._ids = {symbol: token for token, symbol in enumerate(self.vocabulary)}
        self.train = self._encode(train, "text to learn from")
        self.validation = self._encode(validation, "validation text")
        # Encoded now, so that a fault in it is not found after hours of training.
        self._test = None if test is None else self._encode(test, "test text")

    @property
    def has_test(self) -> bool:
        return self._test is not None

    def test(self) -> np.ndarray:
        """The token ids of the test text. Nothing but a final evaluation has use for them."""
        return self._test

    @property
    def end_of_line(self) -> int:
        """The token id that every text is read after."""
        return self._ids[END_OF_LINE]

    def _make_vocabulary(self, lines: list[str], size: int) -> list[str]:
        symbols = text_symbols.make_vocabulary(lines, self._split)
        if self.level == "char":
            return symbols
        if UNKNOWN not in symbols:
            counts = collections.Counter(word for line in lines for word in self._split(line))
            symbols = [UNKNOWN, *(word for word in symbols if counts[word] > 1)]
            if END_OF_LINE not in symbols:
                symbols.append(END_OF_LINE)
        if len(symbols) > size:
            symbols = symbols[:size]
            if END_OF_LINE not in symbols:
                symbols[-1] = END_OF_LINE
        words = [symbol for symbol in symbols if symbol not in (UNKNOWN, END_OF_LINE)]
        if all(len(word) == 1 for word in words):
            raise ValueError(
                "A text whose frequent words are all single characters is read character by "
                f"character: expected level='char', got level='word' and the words {words[:5]}."
            )
        return symbols

    def _encode(self, lines: list[str], name: str) -> np.ndarray:
        symbols = [symbol for line in lines for symbol in self._split(line)]
        if self.level == "char":
            for symbol in symbols:
                if symbol not in self._ids:
                    raise ValueError(
                        f"The {name} has the character {symbol!r}, which is nowhere in the text "
                        "to learn from: expected the same characters in both."
                    )
            return text_symbols.encode(symbols, self._ids)
        known = (symbol if symbol in self._ids else UNKNOWN for symbol in symbols)
        return text_symbols.encode(known, self._ids)


def penn_treebank(manual_dir: str | os.PathLike | None, level: str = "word") -> Corpus:
    """Penn Treebank from a folder with its three files, or with the archive that holds them."""
    # Its checksums are with its dataset, and so is TFDS, which nothing else here has use for.
    from keras_stackrnn.datasets.penn_treebank import Builder
    from keras_stackrnn.datasets.penn_treebank import corpus as treebank
    from keras_stackrnn.datasets.penn_treebank.source import ARCHIVE, CorpusError, read_files

    where = f"the three files {', '.join(treebank.FILE_OF_SPLIT.values())}, or {ARCHIVE}"
    if manual_dir is None:
        raise ValueError(f"manual_dir is missing: expected a folder with {where}.")
    folder = Path(manual_dir)
    names = [*treebank.FILE_OF_SPLIT.values()]
    if not any((folder / name).exists() for name in (*names, ARCHIVE)):
        raise ValueError(f"manual_dir must be a folder with {where}, got {str(folder)!r}.")
    expected = Builder.url_infos.values()
    checksums = {info.filename: (info.size, info.checksum) for info in expected}
    try:
        contents = read_files(checksums, folder, folder)
    except CorpusError as error:
        raise ValueError(str(error).splitlines()[0]) from error
    parts = {
        split: treebank.read_lines(contents[name]) for split, name in treebank.FILE_OF_SPLIT.items()
    }
    return Corpus(level, **parts)


def text_files(
    train_file: str,
    validation_file: str | None = None,
    test_file: str | None = None,
    level: str = "char",
    vocabulary_size: int = 10_000,
) -> Corpus:
    """Text of your own, in UTF-8."""
    files = (train_file, validation_file, test_file)
    parts = [None if path is None else read_text(path) for path in files]
    return Corpus(level, *parts, vocabulary_size=vocabulary_size)


def read_text(path: str | os.PathLike) -> list[str]:
    """The lines of a text file; a file of anything else raises."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ValueError(f"Cannot read {path}: {error.strerror}.") from error
    if not content.strip():
        raise ValueError(f"{path} is empty: expected lines of text.")
    zero = content.find(b"\0")
    if zero >= 0:
        raise ValueError(
            f"{path} is no text: expected text in UTF-8, got a byte 0 at position {zero:,}."
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is no text in UTF-8: got byte {content[error.start]} at position "
            f"{error.start:,}."
        ) from error
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    return [line.rstrip("\r") for line in lines]
