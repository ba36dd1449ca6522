"""Which symbols of a text can be predicted, told from the text and a pattern's name."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_stackrnn import patterns
from keras_stackrnn.trace.predictable import upcoming_of

NAMES = [*patterns.names(), "memorize_5"]


def marked(text, name):
    """A text with what is deterministic in brackets, the symbol after it after a bar."""
    upcoming, deterministic = upcoming_of(text, name)
    if deterministic is None:
        return None
    assert upcoming[:-1] == tuple(text[1:])
    symbols = zip(text, [False, *deterministic[:-1]], strict=True)
    runs = itertools.groupby(symbols, lambda pair: pair[1])
    texts = ((known, "".join(symbol for symbol, _ in run)) for known, run in runs)
    shown = "".join(f"[{text}]" if known else text for known, text in texts)
    assert deterministic[-1] == (upcoming[-1] is not None)
    return shown if upcoming[-1] is None else f"{shown}|{upcoming[-1]}"


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_it_is_what_the_pattern_says(name, data):
    pattern = patterns.get(name)
    lengths = data.draw(st.lists(st.integers(pattern.smallest_n, 8), min_size=1, max_size=3))
    sequences = [pattern.sample(n, "test", i) for i, n in enumerate(lengths)]
    joined = pattern.join([*sequences, sequences[0]])
    end = data.draw(st.integers(1, len(joined.text) - len(sequences[0].text)))

    upcoming, deterministic = upcoming_of(joined.text[:end], name)

    known = joined.deterministic[1 : end + 1]
    assert deterministic.tolist() == known.tolist()
    assert upcoming == (*joined.text[1:end], joined.text[end] if known[-1] else None)


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("aabbaaabbb", "anbn", "aab[ba]aab[bb]|a"),
        ("aabb", "anbn", "aab[b]|a"),
        ("aab", "anbn", "aab|b"),
        ("aa", "anbn", "aa"),
        ("aabbbbabb", "anb2n", "aab[bbba]b[b]|a"),
        ("abbccc", "anbmcnm", "abbc[cc]|a"),
        ("12=21", "memorize", "12=[21]"),
        ("12=2", "memorize", "12=[2]|1"),
        ("101+1=011.1+1=", "binary_addition", "101+1=[011.]1+1=|0"),
        ("10", "binary_addition", "10"),
        ("10+", "binary_addition", "10+"),
        ("abb", "anbn", None),
        ("baabb", "anbn", None),
        ("12=12", "memorize", None),
        ("101+1=111.", "binary_addition", None),
        ("01+1=01.", "binary_addition", None),
    ],
)
def test_examples(text, name, expected):
    assert marked(text, name) == expected


def test_words_are_no_sequences_of_a_pattern():
    assert upcoming_of(["a", "bb"], "anbn") == (("bb", None), None)


def test_somebody_may_say_it():
    upcoming, deterministic = upcoming_of("abc", [False, True, False])
    assert upcoming == ("b", "c", None)
    assert deterministic.tolist() == [True, False, False]


def test_nobody_says_it():
    assert upcoming_of("ab", None) == (("b", None), None)


def test_an_unknown_pattern():
    with pytest.raises(
        ValueError, match=r"^There is no task 'anbm' \(did you mean 'anbn'\?\); there are "
    ):
        upcoming_of("ab", "anbm")
