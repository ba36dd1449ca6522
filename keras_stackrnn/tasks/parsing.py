"""Reading a text back into the sequences that a pattern wrote.

What a sequence was written from, n and the numbers drawn, can be told from its symbols in a few
ways. The pattern then writes it anew, and the text has to agree.
"""

from collections.abc import Iterable, Iterator

from keras_stackrnn.tasks.draws import Draw


def parse(pattern, text: str) -> list:
    """See `Pattern.parse`."""
    recover = pattern.recover or (lambda text, start: _in_turn(pattern, text, start))
    sequences, start = [], 0
    while start < len(text):
        sequence = _sequence_at(start, text, pattern, recover(text, start))
        if sequence is None:
            raise ValueError(
                f"Pattern {pattern.name!r} does not write what begins at place {start} of the "
                f"text, got {text[start : start + 20]!r}."
            )
        sequences.append(sequence)
        start += len(sequence.text)
    return sequences


def _sequence_at(start: int, text: str, pattern, origins: Iterable):
    """The sequence that is in the text at a place, or begins there and goes on past its end."""
    for n, drawn in origins:
        try:
            sequence = pattern.sequence(n, _Drawn(drawn))
        except (ValueError, IndexError):
            continue
        within = sequence.text[: len(text) - start]
        if text.startswith(within, start):
            return sequence
    return None


def _in_turn(pattern, text: str, start: int) -> Iterator[tuple[int, Iterable[int]]]:
    """Every n in turn, the text's own symbols being what was drawn."""
    for n in range(pattern.smallest_n, len(text) - start + pattern.smallest_n):
        yield n, (pattern.alphabet.find(text[place]) for place in range(start, len(text)))


class _Drawn(Draw):
    """Draws what is known to have been drawn, and 0 after that."""

    def __init__(self, numbers: Iterable[int]):
        self._numbers = iter(numbers)

    def below(self, bound: int) -> int:
        number = next(self._numbers, 0)
        if not 0 <= number < bound:
            raise ValueError(f"Nothing below {bound} was drawn, got {number}.")
        return number
