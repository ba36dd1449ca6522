"""Tests that patterns read what they write."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_stackrnn import patterns
from keras_stackrnn.patterns import Pattern

NAMES = [*patterns.names(), "memorize_5"]


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_sequences_are_read_back_and_a_beginning_is_completed(name, data):
    pattern = patterns.get(name)
    lengths = data.draw(st.lists(st.integers(pattern.smallest_n, 8), min_size=1, max_size=3))
    written = [pattern.sample(n, "test", i) for i, n in enumerate(lengths)]
    rest = data.draw(st.integers(1, len(written[-1].text)))
    text = "".join(sequence.text for sequence in written[:-1]) + written[-1].text[:rest]

    *whole, last = pattern.parse(text)

    assert [each.marked() for each in whole] == [each.marked() for each in written[:-1]]
    assert last.text[:rest] == written[-1].text[:rest]
    assert last.deterministic[:rest].tolist() == written[-1].deterministic[:rest].tolist()


@pytest.mark.parametrize(
    ("name", "text", "place", "rest"),
    [
        ("anbn", "abb", 2, "b"),
        ("anbn", "baabb", 0, "baabb"),
        ("anbn", "aabbaabbb", 8, "b"),
        ("anbmcnm", "abbcccc", 6, "c"),
        ("memorize", "12=12", 0, "12=12"),
        ("memorize", "=", 0, "="),
        ("binary_addition", "101+1=111.", 0, "101+1=111."),
        ("binary_addition", "1+1=01.01+1=01.", 7, "01+1=01."),
        ("binary_addition", "=01.", 0, "=01."),
    ],
)
def test_a_text_that_the_pattern_does_not_write_is_refused(name, text, place, rest):
    message = f"{name!r} does not write what begins at place {place} of the text, got {rest!r}."
    with pytest.raises(ValueError, match=re.escape(message)):
        patterns.get(name).parse(text)


def pattern_of(generate, alphabet, **properties):
    return Pattern("mine", alphabet, generate, 1, n_means="symbols", example="", **properties)


def copy(n, draw):
    word = "".join(draw.choice("01") for _ in range(n))
    return word + "=", word


def test_a_pattern_of_ones_own_that_draws_a_word_or_nothing_is_read():
    assert marked(pattern_of(copy, "01="), "01=011=111=") == ["01=[01]", "1=[1]", "11=[11]"]
    square = pattern_of(lambda n, draw: ("a" * n + "b", "b" * (n * n - 1)), "ab")
    assert marked(square, "aabbbbab") == ["aab[bbb]", "ab"]


def padded(n, draw):
    """The draws do not show in the order of the text."""
    before = draw.below(3)
    return "." * before + str(draw.below(2)) + "=", "x" * n


def test_a_pattern_of_ones_own_may_say_how_it_is_read():
    def recover(text, start):
        dots, digit, word = re.compile(r"(\.*)(\d?)=?(x*)").match(text, start).groups()
        yield max(len(word), 1), [len(dots), int(digit or 0)]

    text = ".1=xx0=x..1=xxx"
    assert marked(pattern_of(padded, ".01=x", recover=recover), text) == [
        ".1=[xx]",
        "0=[x]",
        "..1=[xxx]",
    ]
    with pytest.raises(ValueError, match="does not write what begins at place 0"):
        pattern_of(padded, ".01=x").parse(text)


def marked(pattern, text):
    return [sequence.marked() for sequence in pattern.parse(text)]
