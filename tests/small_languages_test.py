"""Tests of the languages to be learned from few strings."""

import collections
import itertools
import math
import re

import numpy as np
import pytest

from keras_stackrnn import tasks
from keras_stackrnn.tasks import small

# The first ten strings of the authors' test sets, in their order.
FIRST = {
    "anbn": "ab aabb aaabbb aaaabbbb",
    "anbncn": "abc aabbcc aaabbbccc",
    "anbncndn": "abcd aabbccdd aaabbbcccddd",
    "anbmcnm": "abcc abbccc aabccc abbbcccc aabbcccc aaabcccc abbbbccccc aabbbccccc aaabbccccc",
    "dyck_1": " () (()) ()() ((())) (()()) (())() ()(()) ()()() (((())))",
    "dyck_2": " () [] (()) ()() ()[] ([]) [()] [[]] []()",
}
LAST = {
    "anbn": "a" * 15_000 + "b" * 15_000,
    "anbncn": "a" * 15_000 + "b" * 15_000 + "c" * 15_000,
    "anbncndn": "".join(symbol * 15_000 for symbol in "abcd"),
}


def is_nested(text):
    before = None
    while text != before:
        before, text = text, text.replace("()", "").replace("[]", "")
    return text == ""


def is_member(name, text):
    if name.startswith("dyck"):
        return is_nested(text) and set(text) <= set("()[]"[: 2 * int(name[-1])])
    a, b, c, d = (text.count(symbol) for symbol in "abcd")
    return (
        re.fullmatch("a+b+c*d*", text) is not None
        and {
            "anbn": a == b and c == d == 0,
            "anbncn": a == b == c and d == 0,
            "anbncndn": a == b == c == d,
            "anbmcnm": a + b == c and d == 0,
        }[name]
    )


def test_the_six_languages_and_their_sizes():
    assert set(small.LANGUAGES) == set(FIRST)
    assert (small.COUNTS, small.TEST_STRINGS) == ((100, 250, 500, 1000), 15_000)


def strings_of_test(name):
    language = small.LANGUAGES[name]
    return itertools.chain.from_iterable(map(language.test, language.test_numbers))


@pytest.mark.parametrize("name", FIRST)
def test_test_strings_come_by_length(name):
    first = FIRST[name].split(" ")
    assert list(itertools.islice(strings_of_test(name), len(first))) == first


@pytest.mark.parametrize("name", ["anbmcnm", "dyck_1", "dyck_2"])
def test_there_are_fifteen_thousand_test_strings_and_no_two_are_equal(name):
    texts = list(strings_of_test(name))
    assert len(texts) == len(set(texts)) == 15_000
    assert sorted(texts, key=len) == texts
    assert all(is_member(name, text) for text in texts[:: 7 if name == "anbmcnm" else 1])
    if name == "anbmcnm":
        assert max(text.count("a") for text in texts) == 123
        assert max(text.count("b") for text in texts) == 123


@pytest.mark.parametrize("name", LAST)
def test_the_last_test_string_is_the_longest(name):
    language = small.LANGUAGES[name]
    assert list(language.test_numbers) == list(range(1, 15_001))
    assert list(language.test(15_000)) == [LAST[name]]
    assert list(language.test(15_001)) == []


@pytest.mark.parametrize("name", FIRST)
def test_training_strings_are_members_and_the_same_for_a_seed(name):
    language = small.LANGUAGES[name]
    texts = language.training(1000)
    assert len(texts) == 1000
    assert all(is_member(name, text) for text in texts)
    assert language.training(100) == texts[:100]
    assert language.training(100, seed=1) != texts[:100]
    # Strings get rarer with their length by 0.7 a step.
    sizes = collections.Counter(map(language.size, language.training(20_000, seed=7)))
    if name in ("anbn", "anbncn", "anbncndn"):
        assert abs(sizes[1] / 20_000 - 0.3) < 0.02
        assert abs(sizes[4] / 20_000 - 0.3 * 0.7**3) < 0.02
    elif name == "anbmcnm":
        assert abs(sizes[2] / 20_000 - 0.3**2) < 0.01
        assert abs(sizes[3] / 20_000 - 2 * 0.7 * 0.3**2) < 0.01
    else:
        assert abs(sizes[0] / 20_000 - 0.7) < 0.02
        assert abs(sizes[1] / 20_000 - 0.3 * 0.7**2) < 0.02


def test_sizes_of_strings():
    sizes = {"anbn": "aabb", "anbncndn": "aabbccdd", "anbmcnm": "abcc", "dyck_2": "([])"}
    assert all(small.LANGUAGES[name].size(text) == 2 for name, text in sizes.items())


NAMES = [f"small/{name}_{count}" for name in FIRST for count in (100, 1000)]


def test_every_language_is_listed_with_every_number_of_strings():
    listed = {name for name in tasks.names("next_symbol") if name.startswith("small/")}
    assert listed == {f"small/{name}_{count}" for name in FIRST for count in small.COUNTS}
    assert tasks.get("small/anbn_100_7").strings == tuple(small.LANGUAGES["anbn"].training(100, 7))
    assert tasks.get("small/dyck_2_30").name == "small/dyck_2_30"
    with pytest.raises(ValueError, match="1 or 2 kinds of brackets, got 3"):
        tasks.get("small/dyck_3_100")
    with pytest.raises(ValueError, match="There is no task 'small/anbn_1_2_3'"):
        tasks.get("small/anbn_1_2_3")


def read(rows, task):
    """The strings of rows, and of each symbol after the first mark whether it is scored."""
    for tokens, targets, scored, length in zip(
        rows.tokens, rows.targets, rows.scored, rows.lengths, strict=True
    ):
        assert task.decode(tokens[1:length]) == task.decode(targets[: length - 1])
        assert task.decode(tokens[:1]) == task.decode(targets[length - 1 : length]) == "#"
        yield task.decode(tokens[1:length]), scored[:length].tolist()


@pytest.mark.parametrize("name", NAMES)
def test_nothing_but_the_set_is_trained_on(name):
    task = tasks.get(name).for_search()
    keys = np.array([tasks.draw_key("set", index) for index in range(4000)], np.uint64)
    sizes = task.draw_sizes(keys, task.train_sizes[-1])
    drawn = collections.Counter(text for text, _ in read(task.rows(sizes, keys), task))
    trained = [text for size in task.train_sizes for text in task.texts("train", size)]
    assert set(drawn) <= set(trained) <= set(task.strings)
    # As often as it is in the set: the most frequent string is seen about so often.
    text, number = collections.Counter(trained).most_common(1)[0]
    assert abs(drawn[text] / 4000 - number / len(trained)) < 0.03
    # A lesson's sizes hold, and every size of it leads to a string.
    assert task.draw_sizes(keys, 3).max() <= 3
    assert len(task.rows(np.array(task.train_sizes), keys[: len(task.train_sizes)]).tokens)


@pytest.mark.parametrize("name", NAMES)
def test_some_strings_are_held_out_to_validate_on(name):
    task = tasks.get(name).for_search()
    trained = {text for size in task.train_sizes for text in task.texts("train", size)}
    parts = [task.samples("validation", size, 10_000) for size in task.train_sizes]
    validated = [text for rows in parts for text, _ in read(rows, task)]
    assert sorted(validated) == sorted(set(task.strings))
    held_out = set(task.strings) - trained
    by_length = sorted(set(task.strings), key=len)
    assert len(max(held_out, key=len)) == len(by_length[-1])
    (longest,) = (text for text in held_out if len(text) == len(by_length[-1]))
    once = [text for text in by_length if task.strings.count(text) == 1 and text != longest]
    assert held_out - {longest} <= set(once)
    assert len(held_out) == 1 + math.ceil(len(once) / 3)
    assert len(task.samples("validation", task.train_sizes[-1], 5, first=10_000).tokens) == 0
    with pytest.raises(ValueError, match="test sequences cannot be trained"):
        task.samples("test", task.test_sizes[0], 1)


def expected_scores(name, text):
    """Which of the steps that read `#` and then the text are scored, by the authors' rule."""
    if name.startswith("dyck"):
        return [True] * (len(text) + 1)
    settling = text.index("c" if name == "anbmcnm" else "b")
    # From the step that reads the first b to the one that reads the last symbol and expects `#`.
    return [step > settling for step in range(len(text) + 1)]


@pytest.mark.parametrize("name", FIRST)
def test_the_example_is_a_string_with_its_scored_symbols_in_brackets(name):
    task = tasks.get(f"small/{name}_100")
    text = task.example if name.startswith("dyck") else task.example.translate({91: "", 93: ""})
    (sequence,) = task.parse(text)
    assert sequence.marked() == task.example
    assert is_member(name, text.strip("#"))


@pytest.mark.parametrize("name", FIRST)
def test_the_authors_steps_are_scored(name):
    task = tasks.get(f"small/{name}_250")
    for size in task.test_sizes[:5]:
        rows = task.samples("test", size, 15_000)
        texts = list(small.LANGUAGES[name].test(size))
        assert list(read(rows, task)) == [(text, expected_scores(name, text)) for text in texts]
        sample = task.sample(size, "test", len(texts))
        assert sample.text == f"#{texts[0]}#"
        if name.startswith("dyck"):
            assert task.valid_next(rows).any(axis=2)[rows.asked].all()
        else:
            assert sample.deterministic.tolist() == [False, *expected_scores(name, texts[0])]


def test_a_size_without_strings_has_no_sample():
    task = tasks.get("small/anbn_100")
    missing = next(size for size in task.train_sizes if not task.texts("train", size))
    assert len(task.samples("train", missing, 5).tokens) == 0
    with pytest.raises(ValueError, match=f"no string of size {missing} in its train split"):
        task.sample(missing, "train", 0)
