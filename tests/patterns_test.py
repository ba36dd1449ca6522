"""Tests of the algorithmic patterns, against the paper's table and independent recognisers."""

import collections
import dataclasses
import hashlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keras_stackrnn
from keras_stackrnn import patterns
from keras_stackrnn.tasks import draws, registry

BUILT_IN = (
    "anb2n",
    "anbmcndm",
    "anbmcnm",
    "anbn",
    "anbncn",
    "anbncndn",
    "binary_addition",
    "memorize",
    "multiply",
)

PAPER_TABLE_1 = {
    "anbn": r"aab\textbf{ba}aab\textbf{bba}b\textbf{a}aaaab\textbf{bbbb}",
    "anbncn": r"aaab\textbf{bbccca}b\textbf{ca}aaaab\textbf{bbbbccccc}",
    "anbncndn": r"aab\textbf{bccdda}aab\textbf{bbcccddda}b\textbf{cd}",
    "anb2n": r"aab\textbf{bbba}aab\textbf{bbbbba}b\textbf{b}",
    "anbmcnm": r"aabc\textbf{cca}aabbc\textbf{cccca}bc\textbf{c}",
    "memorize": r"12=\textbf{21}2122=\textbf{2212}11121=\textbf{12111}",
}

KEYS = st.integers(0, 2**64 - 1)


def split_into_sequences(name, text):
    """Cuts a stream into its sequences, knowing nothing of the generator."""
    if name.startswith("memorize"):
        sequences = []
        while text:
            length = 2 * text.index("=") + 1
            sequences.append(text[:length])
            text = text[length:]
        return sequences
    return re.findall(r"[01+]+=[01]+\." if name == "binary_addition" else "a+b+c*d*", text)


def n_of(name, text):
    if name.startswith("memorize"):
        return text.index("=")
    if name == "binary_addition":
        return text.index("=") - 1
    if name in ("anbmcnm", "anbmcndm", "multiply"):
        return text.count("a") + text.count("b")
    return text.count("a")


def follows_the_rule(name, text):
    """Whether a text belongs to the pattern, by its definition in the paper."""
    if name.startswith("memorize"):
        word, _, reverse = text.partition("=")
        return word != "" and reverse == "".join(reversed(word))
    if name == "binary_addition":
        match = re.fullmatch(r"(1[01]*)\+(1[01]*)=([01]*1)\.", text)
        left, right, result = (int(digits, 2) for digits in (*match.groups()[:2], match[3][::-1]))
        return left + right == result
    if not re.fullmatch("a+b+c*d*", text):
        return False
    a, b, c, d = (text.count(symbol) for symbol in "abcd")
    return {
        "anbn": a == b and c == d == 0,
        "anbncn": a == b == c and d == 0,
        "anbncndn": a == b == c == d,
        "anb2n": 2 * a == b and c == d == 0,
        "anbmcnm": a + b == c and d == 0,
        "multiply": a * b == c and d == 0,
        "anbmcndm": a == c and b == d,
    }[name]


def last_free_symbol(name, text):
    if name.startswith("memorize") or name == "binary_addition":
        return text.index("=")
    return text.index("c" if name in ("anbmcnm", "anbmcndm", "multiply") else "b")


def find_sample(pattern, text):
    """The generator's own sequence of that text."""
    n = n_of(pattern.name, text)
    for index in range(1000):
        sequence = pattern.sample(n, "test", index)
        if sequence.text == text:
            return sequence
    raise AssertionError(f"{pattern.name} did not write {text} in 1,000 draws")


def test_all_patterns_are_there():
    assert set(BUILT_IN) <= set(patterns.names())


@pytest.mark.parametrize("name", PAPER_TABLE_1)
def test_writes_the_papers_examples_with_the_same_symbols_in_bold(name):
    marked = re.sub(r"\\textbf\{(\w+)\}", r"[\1]", PAPER_TABLE_1[name])
    pattern = patterns.get(name)
    sequences = split_into_sequences(name, re.sub(r"[\[\]]", "", marked))
    joined = pattern.join(find_sample(pattern, text) for text in sequences)
    assert len(sequences) >= 3
    assert joined.marked() == marked
    assert pattern.example == marked


def test_writes_the_papers_binary_addition():
    pattern = patterns.get("binary_addition")
    assert find_sample(pattern, "101+1=011.").marked() == "101+1=[011.]"


@pytest.mark.parametrize("name", [*BUILT_IN, "memorize_5"])
def test_example_comes_out_of_the_generator(name):
    pattern = patterns.get(name)
    texts = split_into_sequences(name, re.sub(r"[\[\]]", "", pattern.example))
    if name == "memorize_5":
        assert texts == ["12345=54321"]
        assert find_sample(patterns.get("memorize_5"), "12=21").marked() == "12=[21]"
    else:
        assert (
            pattern.join(find_sample(pattern, text) for text in texts).marked() == pattern.example
        )


@pytest.mark.parametrize("name", [*BUILT_IN, "memorize_1", "memorize_5", "memorize_100"])
@settings(max_examples=60, deadline=None)
@given(n=st.integers(2, 90), key=KEYS)
def test_sequence_follows_its_rule(name, n, key):
    pattern = patterns.get(name)
    text, tokens, deterministic = pattern.sequence(n, patterns.Draw(key))
    assert follows_the_rule(name, text)
    assert n_of(name, text) == n
    assert tokens.dtype == np.int32
    assert deterministic.dtype == bool
    assert pattern.decode(tokens) == text
    assert deterministic.tolist() == [i > last_free_symbol(name, text) for i in range(len(text))]


@pytest.mark.parametrize("name", ["anbn", "anbncn", "anbncndn", "anb2n", "memorize"])
def test_n_of_one_exists(name):
    text = patterns.get(name).sample(1, "test", 0).text
    assert follows_the_rule(name, text)
    assert n_of(name, text) == 1


@pytest.mark.parametrize("name", [*BUILT_IN, "memorize_5"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_batch_equals_one_sequence_at_a_time(name, data):
    pattern = patterns.get(name)
    ns = st.integers(pattern.smallest_n, 70)
    pairs = data.draw(st.lists(st.tuples(ns, KEYS), min_size=1, max_size=12))
    n, keys = np.array([n for n, _ in pairs]), np.array([key for _, key in pairs], np.uint64)
    fast = pattern.batch(n, keys)
    slow = dataclasses.replace(pattern, generate_batch=None).batch(n, keys)
    for fast_array, slow_array in zip(fast, slow, strict=True):
        assert fast_array.dtype == slow_array.dtype
        np.testing.assert_array_equal(fast_array, slow_array)


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(st.integers(2, 40), KEYS, st.integers(1, 30)), min_size=1))
def test_a_limit_holds_and_a_batch_keeps_to_it(rows):
    pattern = patterns.get("binary_addition")
    n, keys, limits = (
        np.array(column, dtype)
        for column, dtype in zip(zip(*rows, strict=True), (int, np.uint64, int), strict=True)
    )
    fast = pattern.batch(n, keys, limits)
    slow = dataclasses.replace(pattern, generate_batch=None).batch(n, keys, limits)
    for fast_array, slow_array in zip(fast, slow, strict=True):
        np.testing.assert_array_equal(fast_array, slow_array)
    for text, each, limit in zip(
        pattern.decode(fast.tokens).split(".")[:-1], n, limits, strict=True
    ):
        left, right = (len(operand) for operand in text.split("=")[0].split("+"))
        assert min(left, right) <= limit
        assert left + right == each


@pytest.mark.parametrize("limit", [3, 4, 100])
def test_a_limit_that_allows_everything_changes_nothing(limit):
    pattern = patterns.get("binary_addition")
    for key in range(50):
        assert (
            pattern.sequence(7, draws.Draw(key), limit).text
            == pattern.sequence(7, draws.Draw(key)).text
        )


def test_every_length_within_a_limit_is_as_likely():
    pattern = patterns.get("binary_addition")
    texts = [pattern.sequence(9, draws.Draw(draws.draw_key(i)), 2).text for i in range(4000)]
    counts = collections.Counter(text.index("+") for text in texts)
    assert counts.keys() == {1, 2, 7, 8}
    assert min(counts.values()) > 900


def test_a_limit_of_nothing_or_of_another_pattern_is_refused():
    with pytest.raises(ValueError, match=r"digits of the shorter operand\) is 1 or more, got 0"):
        patterns.get("binary_addition").sequence(4, draws.Draw(1), 0)
    with pytest.raises(ValueError, match="'anbn' has nothing but n to limit, got limit 2"):
        patterns.get("anbn").batch(np.array([3]), np.zeros(1, np.uint64), np.array([2]))


def test_words_are_those_of_splitmix64():
    # The first three outputs of the published generator for the seed 0.
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert draws.words(np.zeros(1, np.uint64), np.arange(3)).tolist() == expected


@given(key=KEYS, bounds=st.lists(st.integers(1, 2**32), min_size=1, max_size=5))
def test_draws_agree_with_a_single_draw(key, bounds):
    one, many = patterns.Draw(key), draws.Draws(np.array([key, 7], np.uint64))
    for bound in bounds:
        number = one.below(bound)
        assert 0 <= number < bound
        assert many.below(bound)[0] == number


def test_draws_reach_every_split_of_n_about_equally_often():
    first_runs = [patterns.get("anbmcnm").sample(7, "train", i).text.count("a") for i in range(600)]
    counts = np.bincount(first_runs, minlength=7)
    assert counts[0] == 0
    assert counts[1:7].min() > 70


# Stored data and checkpoints rest on these: if one changes, raise patterns.VERSION.
GOLDEN = {
    "anb2n": "4178d9bcc8d27b20",
    "anbmcndm": "46ac2eaecf7c00ca",
    "anbmcnm": "66592cfb9ee18c45",
    "anbn": "f5b5eaf87d1a746e",
    "anbncn": "30b27e363f0e746f",
    "anbncndn": "b4b95045ddd09548",
    "binary_addition": "28cf4373a080d723",
    "memorize": "e71d1b0db5ebbb13",
    "memorize_5": "3dddaa1b92b90b75",
    "multiply": "5b90fe911ad59318",
}


@pytest.mark.parametrize("name", GOLDEN)
def test_samples_never_change(name):
    pattern = patterns.get(name)
    digest = hashlib.sha256()
    for split in ("train", "validation", "test"):
        for n in (pattern.smallest_n, 7, 19, 60):
            for index in (0, 1, 199):
                digest.update(pattern.sample(n, split, index).marked().encode() + b"\n")
    assert digest.hexdigest()[:16] == GOLDEN[name]


def test_samples_differ_by_split_and_index():
    pattern = patterns.get("memorize")
    texts = {pattern.sample(40, split, i).text for split in ("train", "test") for i in range(50)}
    assert len(texts) == 100


def test_next_first_symbol_scores_the_sequence_before():
    pattern = patterns.get("anbn")
    joined = pattern.join(pattern.sample(n, "test", 0) for n in (2, 1, 2))
    assert joined.marked() == "aab[ba]b[a]ab[b]"
    assert joined.scored.tolist() == [0, 0, 0, 0, 0, 1, 1, 2, 2, 2]


def test_next_first_symbol_of_memorize_is_free():
    pattern = patterns.get("memorize")
    joined = pattern.join(pattern.sample(2, "test", i) for i in range(3))
    assert joined.deterministic.tolist() == [False, False, False, True, True] * 3
    assert joined.scored.tolist() == [0] * 5 + [1] * 5 + [2] * 5


@pytest.mark.parametrize(
    ("name", "alphabet"),
    [("memorize", "12="), ("memorize_2", "12="), ("memorize_11", "123456789ab=")],
)
def test_memorize_takes_an_alphabet_of_any_size(name, alphabet):
    assert patterns.get(name).alphabet == alphabet


def test_memorize_2_is_memorize():
    assert patterns.get("memorize_2") is patterns.get("memorize")


def test_large_alphabet_is_used_in_full():
    pattern = patterns.get("memorize_1000")
    assert len(pattern.alphabet) == 1001
    tokens = pattern.sample(2000, "test", 0).tokens
    assert len(set(tokens.tolist())) > 800


@pytest.fixture
def registered():
    """Registers patterns for one test."""
    before = dict(registry._tasks)
    yield patterns.register
    registry._tasks.clear()
    registry._tasks.update(before)


PROPERTIES = {"alphabet": "01=", "smallest_n": 1, "n_means": "digits", "example": "01=[01]"}


def copy(n, draw):
    word = "".join(draw.choice("01") for _ in range(n))
    return word + "=", word


def test_registered_function_is_a_pattern(registered):
    assert registered("copy", **PROPERTIES)(copy) is copy
    pattern = patterns.get("copy")
    sequence = pattern.sample(5, "test", 3)
    word = sequence.text[:5]
    assert sequence.marked() == f"{word}=[{word}]"
    assert "copy" in patterns.names()
    batch = pattern.batch(np.array([3, 1, 2]), np.array([1, 2, 3], np.uint64))
    assert batch.lengths.tolist() == [7, 3, 5]


def test_pieces_are_free_and_predictable_in_turn(registered):
    properties = {**PROPERTIES, "alphabet": "()"}
    registered("nested", **properties)(lambda n, draw: ("(" * n, ")", "(", ")" * n))
    assert patterns.get("nested").sample(2, "test", 0).marked() == "(([)]([))]"


def test_a_name_registered_again_by_the_same_function_is_replaced(registered):
    for example in ("0=[0]", "1=[1]"):
        registered("copy", **{**PROPERTIES, "example": example})(copy)
    assert patterns.get("copy").example == "1=[1]"


def test_a_taken_name_is_refused(registered):
    with pytest.raises(ValueError, match="There is a task 'anbn' already"):
        registered("anbn", **PROPERTIES)(copy)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "Copy me"}, "lower-case letters, digits and underscores .* got 'Copy me'"),
        ({"alphabet": "010"}, "must be distinct characters, got '010'"),
        ({"alphabet": ""}, "must be distinct characters, got ''"),
        ({"smallest_n": -1}, "must be 0 or more, got -1"),
    ],
)
def test_a_bad_property_is_refused(registered, change, message):
    with pytest.raises(ValueError, match=message):
        registered(**{"name": "copy", **PROPERTIES, **change})(copy)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("01=", "tuple of texts, in turn free and predictable, got '01='"),
        (("", ""), "tuple of texts"),
        (("01?",), r"knows the symbols '01=', got '\?'"),
    ],
)
def test_what_a_pattern_must_not_write_is_refused(registered, written, message):
    registered("broken", **PROPERTIES)(lambda n, draw: written)
    with pytest.raises(ValueError, match=message):
        patterns.get("broken").sample(1, "test", 0)


def test_unknown_names_are_refused_with_those_that_exist():
    with pytest.raises(
        ValueError, match=r"'anbm' \(did you mean 'anbn'\?\); there are anb2n, .*, memorize_<k>.*\."
    ):
        patterns.get("anbm")
    with pytest.raises(ValueError, match="from 1 to 21053 symbols, got 0"):
        patterns.get("memorize_0")


def test_an_n_too_small_is_refused():
    with pytest.raises(ValueError, match=r"begins at n = 2 \(number of a's and b's.*, got 1"):
        patterns.get("anbmcnm").sample(1, "test", 0)
    with pytest.raises(ValueError, match=r"begins at n = 1 .*, got 0"):
        patterns.get("anbn").batch(np.array([3, 0]), np.zeros(2, np.uint64))


def test_a_draw_without_choice_is_refused():
    with pytest.raises(ValueError, match="bound from 1 to 2\\^32, got 0"):
        patterns.Draw(1).below(0)


def test_patterns_need_no_tensorflow():
    package = Path(keras_stackrnn.__file__).parent
    # A bare parent package, because the real one imports Keras for its layers.
    program = (
        "import sys, types; parent = types.ModuleType('keras_stackrnn');"
        f"parent.__path__ = [{str(package)!r}]; sys.modules['keras_stackrnn'] = parent;"
        "import keras_stackrnn.patterns;"
        "sys.exit(bool({'tensorflow', 'keras'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
