"""Symbols and their token ids: an alphabet, the same on paper, in a file and in a model."""

from collections.abc import Iterable, Iterator

import numpy as np


class Symbols:
    """Distinct symbols; a symbol's place is its token id.

    Symbols of one character each are written without anything between them, others with spaces.

    Args:
        names: The symbols: a text, a symbol each character, or several texts.
        owner: Whose they are, for messages.

    Example:

    >>> Symbols("ab").encode("abba").tolist()
    [0, 1, 1, 0]
    >>> Symbols(["go", "left"]).decode([1, 0])
    'left go'
    """

    def __init__(self, names: Iterable[str], owner: str = "A task"):
        self.names = tuple(names)
        self.owner = owner
        if not self.names or len(set(self.names)) < len(self.names):
            shown = names if isinstance(names, str) else list(self.names)
            raise ValueError(f"The alphabet of {owner} must be distinct symbols, got {shown!r}.")
        self.separator = "" if all(len(name) == 1 for name in self.names) else " "
        self._ids = {name: token for token, name in enumerate(self.names)}

    @classmethod
    def written(cls, names: "Iterable[str] | Symbols", owner: str) -> "Symbols":
        """The same, of symbols that texts are written in: words among them have no spaces."""
        if isinstance(names, cls):
            return names
        symbols = cls(names, owner)
        for name in symbols:
            if not name or (symbols.separator and name.split() != [name]):
                raise ValueError(
                    f"A symbol of {owner} is a character or a word without spaces, got {name!r}."
                )
        return symbols

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __getitem__(self, token: int) -> str:
        return self.names[token]

    def __eq__(self, other) -> bool:
        return isinstance(other, Symbols) and self.names == other.names

    def __hash__(self) -> int:
        return hash(self.names)

    def __repr__(self) -> str:
        return f"Symbols({self.separator.join(self.names)!r})"

    def split(self, text: str) -> list[str]:
        """A text as its symbols, whether they are known or not."""
        return text.split() if self.separator else list(text)

    def encode(self, text: str | Iterable[str]) -> np.ndarray:
        """The token ids (int32) of a text, or of symbols one by one."""
        symbols = self.split(text) if isinstance(text, str) else list(text)
        try:
            return np.array([self._ids[symbol] for symbol in symbols], np.int32)
        except KeyError as error:
            known = self.separator.join(self.names)
            raise ValueError(
                f"{self.owner} knows the symbols {known!r}, got {error.args[0]!r} in {text!r}."
            ) from None

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of token ids."""
        return self.separator.join(self.names[token] for token in tokens)
