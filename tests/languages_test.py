"""Tests of brackets, reversals and labelled strings, against recognisers that read texts."""

import collections
import hashlib
import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_stackrnn import tasks
from keras_stackrnn.tasks.nesting import Nesting
from keras_stackrnn.tasks.strings import Strings

KEYS = st.integers(0, 2**64 - 1)
NESTINGS = [Nesting(1), Nesting(2), Nesting(3, depth=2), Nesting(2, depth=3), Nesting(1, depth=1)]


def keys_of(count, *name):
    return np.array([tasks.draw_key(*name, index) for index in range(count)], np.uint64)


def texts_of(strings, alphabet):
    return [
        "".join(alphabet[token] for token in tokens[:length])
        for tokens, length in zip(strings.tokens, strings.lengths, strict=True)
    ]


def strings_of(texts, alphabet):
    lengths = np.array([len(text) for text in texts])
    tokens = np.zeros((len(texts), lengths.max(initial=0)), np.int32)
    for row, text in enumerate(texts):
        tokens[row, : len(text)] = [alphabet.index(symbol) for symbol in text]
    return Strings(tokens, lengths)


def open_brackets(text, alphabet, depth=None):
    """The brackets that are open after a text, or None if it does not begin a nested string."""
    opened = []
    for symbol in text:
        if alphabet.index(symbol) % 2 == 0:
            opened.append(symbol)
        elif not opened or alphabet.index(opened.pop()) + 1 != alphabet.index(symbol):
            return None
        if depth is not None and len(opened) > depth:
            return None
    return opened


def is_nested(text, alphabet, depth=None):
    return open_brackets(text, alphabet, depth) == []


def all_nested(nesting, length):
    texts = map("".join, itertools.product(nesting.alphabet, repeat=length))
    return [text for text in texts if is_nested(text, nesting.alphabet, nesting.depth)]


@pytest.mark.parametrize("nesting", NESTINGS)
def test_brackets_are_counted_and_come_in_order(nesting):
    lengths = (0, 2, 4, 6, 8) if nesting.kinds == 1 else (0, 2, 4)
    expected = [all_nested(nesting, length) for length in lengths]
    assert [nesting.number(length) for length in lengths] == [len(each) for each in expected]
    assert nesting.number(7) == 0
    assert [list(nesting.in_order(length)) for length in lengths] == expected


@pytest.mark.parametrize("nesting", NESTINGS)
@settings(max_examples=25, deadline=None)
@given(rows=st.lists(st.tuples(st.integers(0, 60), KEYS), min_size=1, max_size=5))
def test_brackets_of_any_length_are_nested_and_do_not_depend_on_the_batch(nesting, rows):
    pairs, keys = zip(*rows, strict=True)
    lengths, keys = 2 * np.array(pairs), np.array(keys, np.uint64)
    texts = texts_of(nesting.of_length(lengths, keys), nesting.alphabet)
    assert [len(text) for text in texts] == lengths.tolist()
    assert all(is_nested(text, nesting.alphabet, nesting.depth) for text in texts)
    for row, text in enumerate(texts):
        alone = nesting.of_length(lengths[row : row + 1], keys[row : row + 1])
        assert texts_of(alone, nesting.alphabet) == [text]


@pytest.mark.parametrize("nesting", NESTINGS)
def test_brackets_of_a_length_are_all_as_likely(nesting):
    strings = nesting.of_length(np.full(8000, 6), keys_of(8000, "uniform"))
    counts = collections.Counter(texts_of(strings, nesting.alphabet))
    assert len(counts) == nesting.number(6)
    mean = 8000 / len(counts)
    assert all(abs(count - mean) < 5 * math.sqrt(mean) for count in counts.values())
    assert set(nesting.nats_of_length(strings.lengths)) == {math.log(len(counts))}


@pytest.mark.parametrize("nesting", NESTINGS)
def test_brackets_by_opening_cost_what_they_are_worth(nesting):
    strings = nesting.by_opening(keys_of(20_000, "opening"), 0.3)
    texts = texts_of(strings, nesting.alphabet)
    assert all(is_nested(text, nesting.alphabet, nesting.depth) for text in set(texts))
    counts = collections.Counter(texts)
    known = dict(zip(texts, nesting.nats_by_opening(strings, 0.3), strict=True))
    for text in ("", "()", "()()", "(())"):
        share = counts[text] / len(texts)
        expected = math.exp(-known[text]) if text in known else 0
        assert abs(share - expected) < 5 * math.sqrt(max(share, 1e-4) / len(texts))
    # Every way on has its probability, and they add up to 1.
    short = [text for length in (0, 2, 4) for text in all_nested(nesting, length)]
    nats = nesting.nats_by_opening(strings_of(short, nesting.alphabet), 0.3)
    total = sum(math.exp(-each) for each in nats)
    share = sum(len(text) <= 4 for text in texts) / len(texts)
    assert abs(total - share) < 0.02


def test_unbounded_brackets_by_opening_have_the_entropy_of_their_steps():
    nesting = Nesting(2)
    strings = nesting.by_opening(keys_of(20_000, "entropy"), 0.3)
    symbols = (strings.lengths + 1).sum()
    per_symbol = nesting.nats_by_opening(strings, 0.3).sum() / symbols
    entropy = -(0.3 * math.log(0.15) + 0.7 * math.log(0.7))
    assert abs(per_symbol - entropy) < 0.01


@pytest.mark.parametrize("nesting", NESTINGS)
@given(data=st.data())
def test_nested_and_not_nested_are_told_apart(nesting, data):
    symbols = st.text(st.sampled_from(nesting.alphabet), max_size=6)
    texts = data.draw(st.lists(symbols, min_size=1, max_size=8))
    expected = [is_nested(text, nesting.alphabet, nesting.depth) for text in texts]
    assert nesting.contains(strings_of(texts, nesting.alphabet)).tolist() == expected


@pytest.mark.parametrize("nesting", NESTINGS)
def test_valid_next_symbols_are_those_that_can_be_gone_on_from(nesting):
    alphabet, depth = nesting.alphabet, nesting.depth
    strings = nesting.of_length(np.array([0, 2, 8, 10]), keys_of(4, "valid"))
    valid = nesting.valid_next(strings)
    for row, text in enumerate(texts_of(strings, alphabet)):
        for place in range(strings.tokens.shape[1] + 1):
            begun = text[:place]
            expected = [
                open_brackets(begun + symbol, alphabet, depth) is not None for symbol in alphabet
            ]
            expected.append(is_nested(begun, alphabet, depth))
            if place > len(text):
                expected = [False] * len(expected)
            assert valid[row, place].tolist() == expected


def test_bad_brackets_are_refused():
    with pytest.raises(ValueError, match="1 to 20 kinds of brackets, got 21"):
        Nesting(21)
    with pytest.raises(ValueError, match="got a depth of 0"):
        Nesting(1, depth=0)
    with pytest.raises(ValueError, match="come in pairs, got a length of 5"):
        Nesting(1).of_length(np.array([4, 5]), keys_of(2, "odd"))
    with pytest.raises(ValueError, match=r"above 0 and below 1/2, got 0\.5"):
        Nesting(1).by_opening(keys_of(1, "half"), 0.5)


def marked_reversal(size, text):
    word, second = text.split("=")
    return len(word) == size and second == word[::-1]


def marked_copy(size, text):
    word, second = text.split("=")
    return len(word) == size and second == word


def unmarked_reversal(size, text):
    return text == text[::-1] and len(text) == 2 * size


def dyck_2(size, text):
    return len(text) == 2 * size and is_nested(text, "()[]")


def dyck_3_4(size, text):
    return len(text) == 2 * size and is_nested(text, "()[]{}", 4)


NEXT_SYMBOL = [marked_reversal, marked_copy, unmarked_reversal, dyck_2, dyck_3_4]


@pytest.mark.parametrize("recogniser", NEXT_SYMBOL)
@settings(max_examples=25, deadline=None)
@given(size=st.integers(1, 60), key=KEYS)
def test_marked_strings_follow_their_rule(recogniser, size, key):
    task = tasks.get(recogniser.__name__)
    sequence = task.sequence(size, tasks.Draw(key))
    inside = re.fullmatch("#([^#]*)#", sequence.text)[1]
    assert recogniser(size, inside)
    assert len(sequence.text) <= task.longest(size)
    # What can be predicted: all after the middle, where there is one.
    middle = sequence.text.find("=")
    known = [middle >= 0 and place > middle for place in range(len(sequence.text))]
    assert sequence.deterministic.tolist() == known
    assert [each.text for each in task.parse(sequence.text * 2)] == [sequence.text] * 2
    begun = sequence.text[: 1 + len(sequence.text) // 2]
    assert task.parse(begun)[0].deterministic.tolist() == known[: len(begun)]
    rows = task.rows(np.array([size]), np.array([key], np.uint64))
    assert task.decode(rows.tokens[0]) == sequence.text[:-1]
    assert task.decode(rows.targets[0]) == sequence.text[1:]
    valid = task.valid_next(rows)
    if valid is None:
        assert rows.scored[0].tolist() == known[1:]
    else:
        assert rows.scored.all()
        assert np.take_along_axis(valid[0], rows.targets[0][:, None], axis=1).all()


def test_a_text_that_begins_without_a_mark_is_not_parsed():
    with pytest.raises(ValueError, match="stands between two #, got '00=00#'"):
        tasks.get("marked_reversal").parse("00=00#")


@pytest.mark.parametrize("recogniser", NEXT_SYMBOL)
def test_what_strings_are_worth_is_the_logarithm_of_their_number(recogniser):
    task = tasks.get(recogniser.__name__)
    rows = task.rows(np.full(2000, 3), keys_of(2000, "worth"))
    number = len(rows.distinct().tokens)
    np.testing.assert_allclose(task.information(rows), math.log(number))


def test_an_unmarked_reversal_may_end_wherever_it_reads_the_same_backwards():
    task = tasks.get("unmarked_reversal")
    rows = task.rows(np.array([1, 4, 5, 6]), keys_of(4, "unmarked"))
    valid = task.valid_next(rows)
    for row, length in enumerate(rows.lengths):
        text = task.decode(rows.tokens[row, 1:length])
        for place in range(len(text) + 1):
            begun = text[:place]
            may_end = place % 2 == 0 and begun == begun[::-1]
            assert valid[row, place].tolist() == [True, True, may_end]
        assert not valid[row, length:].any()


def in_parity(text):
    return text.count("1") % 2 == 1


def in_dyck_2_3(text):
    return is_nested(text, "()[]", 3)


def in_marked_reversal(text):
    word, mark, second = text.partition("#")
    return mark == "#" and "#" not in second and second == word[::-1]


def in_marked_copy(text):
    word, mark, second = text.partition("#")
    return mark == "#" and "#" not in second and second == word


def in_modular_arithmetic(text):
    match = re.fullmatch(r"([0-4])((?:[-+*][0-4])*)=([0-4])", text)
    if match is None:
        return False
    value = int(match[1])
    for operator, digit in zip(match[2][::2], match[2][1::2], strict=True):
        value = {"+": value + int(digit), "-": value - int(digit), "*": value * int(digit)}[
            operator
        ]
    return value % 5 == int(match[3])


LABELLED = [in_parity, in_dyck_2_3, in_marked_reversal, in_marked_copy, in_modular_arithmetic]


def labelled(recogniser, sizes, keys):
    task = tasks.get(f"recognition/{recogniser.__name__.removeprefix('in_')}")
    rows = task.rows(np.asarray(sizes), np.asarray(keys, np.uint64))
    ends = rows.lengths - 1
    labels = rows.targets[np.arange(len(ends)), ends]
    texts = [
        task.inputs.decode(tokens[:end]) for tokens, end in zip(rows.tokens, ends, strict=True)
    ]
    return list(zip(texts, labels.tolist(), strict=True))


@pytest.mark.parametrize("recogniser", LABELLED)
def test_labels_are_right_and_half_of_them_are_yes(recogniser):
    sizes = np.tile(np.arange(0, 41), 60)
    found = labelled(recogniser, sizes, keys_of(len(sizes), "labels"))
    assert [label for _, label in found] == [recogniser(text) for text, _ in found]
    assert abs(np.mean([label for _, label in found]) - 0.5) < 0.05
    for size, (text, label) in zip(sizes, found, strict=True):
        assert len(text) <= min(size + 8, 40)
        # Members are as long as the size allows.
        assert not label or size < 3 or len(text) in (size, size - 1)


@pytest.mark.parametrize("recogniser", LABELLED)
def test_long_strings_are_labelled_right(recogniser):
    found = labelled(recogniser, [41, 200, 499, 500] * 12, keys_of(48, "long"))
    assert [label for _, label in found] == [recogniser(text) for text, _ in found]
    assert max(len(text) for text, _ in found) <= 500


@pytest.mark.parametrize("recogniser", LABELLED)
@settings(max_examples=15, deadline=None)
@given(rows=st.lists(st.tuples(st.integers(0, 60), KEYS), min_size=1, max_size=6))
def test_labelled_strings_do_not_depend_on_the_batch(recogniser, rows):
    sizes, keys = zip(*rows, strict=True)
    alone = [labelled(recogniser, [size], [key])[0] for size, key in rows]
    assert labelled(recogniser, sizes, keys) == alone


def edit_distance(first, second):
    last = list(range(len(second) + 1))
    for i, a in enumerate(first, start=1):
        row = [i]
        for j, b in enumerate(second, start=1):
            row.append(min(last[j] + 1, row[-1] + 1, last[j - 1] + (a != b)))
        last = row
    return last[-1]


def test_edits_are_few():
    """One edit with probability 1/2, two with 1/4, and so on up to eight."""
    from keras_stackrnn.tasks.flare.edits import edited
    from keras_stackrnn.tasks.strings import random_strings

    count = 3000
    before = random_strings(keys_of(count, "before"), np.full(count, 12), 3)
    after = edited(before, 3, 8, np.full(count, 40), keys_of(count, "edits"))
    pairs = zip(texts_of(before, "abc"), texts_of(after, "abc"), strict=True)
    distances = collections.Counter(edit_distance(*pair) for pair in pairs)
    # Two edits may undo each other, but not often: one edit is what half of them had.
    assert max(distances) <= 8
    assert abs(distances[1] / count - 0.5) < 0.05
    assert abs(distances[2] / count - 0.23) < 0.05
    longer, shorter = (np.mean(sign * (after.lengths - 12) > 0) for sign in (1, -1))
    assert abs(longer - shorter) < 0.05


def test_edits_never_lengthen_beyond_the_bound_and_never_write_what_was_there():
    from keras_stackrnn.tasks.flare.edits import edited

    count = 400
    ones = Strings(np.ones((count, 5), np.int32), np.full(count, 5))
    after = edited(ones, 2, 1, np.full(count, 5), keys_of(count, "bound"))
    texts = set(texts_of(after, "ab"))
    replaced = {"b" * place + "a" + "b" * (4 - place) for place in range(5)}
    assert texts == replaced | {"bbbb"}


# Test sets and stored data rest on these: if one changes, raise the version of the draws.
GOLDEN = {
    "dyck_1": "7049eff557274b75",
    "dyck_2": "b7e40ae513939efc",
    "marked_copy": "02826f33e54cb251",
    "marked_reversal": "19f764f594c58089",
    "recognition/dyck_2_3": "20a8f07e6021f8c8",
    "recognition/marked_copy": "da77a0f412c5899b",
    "recognition/marked_reversal": "2d1db565367c10f8",
    "recognition/modular_arithmetic": "9730741375abc319",
    "recognition/parity": "a1450fc290b5900f",
    "unmarked_reversal": "fc389dc913aa2f94",
    "dyck_2_3": "3757a811e1fe583d",
}


@pytest.mark.parametrize("name", GOLDEN)
def test_sequences_never_change(name):
    rows = tasks.get(name).samples("test", 40, 3)
    digest = hashlib.sha256()
    for array, dtype in zip(rows, ("<i4", "<i4", "|b1", "|b1", "<i8"), strict=True):
        digest.update(array.astype(dtype).tobytes())
    assert digest.hexdigest()[:16] == GOLDEN[name]
