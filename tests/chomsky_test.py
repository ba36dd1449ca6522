"""Tests of the Chomsky hierarchy's tasks, against recognisers written from the benchmark's table.

The recognisers read texts and know nothing of the generators: they use whole numbers, sorting,
Python's own evaluation of expressions, and a parser.
"""

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

SIZES = st.integers(1, 120)
KEYS = st.integers(0, 2**64 - 1)


def of_bits(size, text):
    return re.fullmatch("[01]*", text) and len(text) == size


def even_pairs(size, text):
    assert of_bits(size, text)
    return str(sum(a != b for a, b in itertools.pairwise(text)) % 2)


def modular_arithmetic(size, text):
    assert re.fullmatch("[0-4]([-+*][0-4])*", text)
    assert len(text) == (size if size % 2 else size - 1)
    return str(eval(text) % 5)


def parity_check(size, text):
    assert of_bits(size, text)
    return str(text.count("1") % 2)


def cycle_navigation(size, text):
    assert re.fullmatch("[012]*", text)
    assert len(text) == size
    return str(sum({"0": -1, "1": 0, "2": 1}[step] for step in text) % 5)


def parse(text, operators):
    """The rest of a text after an expression: d, -d, (d), (-d) or (L operator R)."""
    leaf = re.match(r"-?[0-4]|\(-?[0-4]\)", text)
    if leaf:
        return text[leaf.end() :]
    assert text[0] == "("
    rest = parse(text[1:], operators)
    assert rest[0] in operators
    rest = parse(rest[1:], operators)
    assert rest[0] == ")"
    return rest[1:]


def modular_arithmetic_brackets(size, text):
    assert len(text) == size
    assert parse(text, "+-*") == ""
    return str(eval(text) % 5)


def solve_equation(size, text):
    assert len(text) == size
    if size < 3:
        assert text == "0" * size
        return "0"
    left, right = text.split("=")
    assert left.count("x") == 1
    assert parse(left.replace("x", "0"), "+-") == ""
    (solution,) = (x for x in "01234" if eval(left.replace("x", x)) % 5 == int(right))
    return solution


def reverse_string(size, text):
    assert of_bits(size, text)
    return "".join(reversed(text))


def stack_manipulation(size, text):
    assert len(text) == size
    bits, actions = re.fullmatch("([01]+)([-oi]*)", text).groups()
    assert actions or size == 1
    stack = list(bits)
    for action in actions:
        if action != "-":
            stack.append({"o": "0", "i": "1"}[action])
        elif stack:
            stack.pop()
    return "".join(stack[::-1]) + "."


def duplicate_string(size, text):
    assert of_bits(size, text)
    return text + text


def missing_duplicate_string(size, text):
    assert len(text) == size
    if size == 1:
        assert text == "1"
        return "1"
    assert text.endswith("_") == (size % 2 == 1)
    text = text.rstrip("_")
    half, hidden = len(text) // 2, text.index("?")
    missing = text[(hidden + half) % (2 * half)]
    whole = text.replace("?", missing)
    assert whole[:half] == whole[half:]
    assert set(whole) <= {"0", "1"}
    return missing


def odds_first(size, text):
    assert of_bits(size, text)
    numbered = list(enumerate(text, start=1))
    return "".join(s for i, s in numbered if i % 2 == 0) + "".join(s for i, s in numbered if i % 2)


def read_operands(size, text, operator):
    assert len(text) == size
    left, right = text.split(operator)
    assert left
    assert right
    left, right = int(left[::-1], 2), int(right[::-1], 2)
    assert left > 0
    assert right > 0
    return left, right


def backwards_in_binary(number):
    return f"{number:b}"[::-1]


def binary_addition(size, text):
    if size <= 2:
        assert text in {1: ["0"], 2: ["00", "10", "01"]}[size]
        return backwards_in_binary(int(text[::-1], 2)) + "."
    return backwards_in_binary(sum(read_operands(size, text, "+"))) + "."


def binary_multiplication(size, text):
    if size <= 2:
        assert text in {1: ["0"], 2: ["00", "10", "01"]}[size]
        return {1: ".", 2: "0."}[size]
    return backwards_in_binary(math.prod(read_operands(size, text, "*"))) + "."


def compute_sqrt(size, text):
    assert of_bits(size, text)
    number = int(text, 2)
    assert number > 0
    return f"{math.isqrt(number):b}".zfill(math.ceil(size / 2))


def bucket_sort(size, text):
    assert re.fullmatch("[0-4]*", text)
    assert len(text) == size
    return "".join(sorted(text))


# What is read into a task's outputs: symbols in, symbols out, places of an answer.
TABLE = {
    even_pairs: (2, 2, lambda size: 1),
    modular_arithmetic: (9, 5, lambda size: 1),
    parity_check: (2, 2, lambda size: 1),
    cycle_navigation: (3, 5, lambda size: 1),
    modular_arithmetic_brackets: (11, 5, lambda size: 1),
    reverse_string: (2, 2, lambda size: size),
    stack_manipulation: (5, 3, lambda size: size + 1),
    solve_equation: (11, 5, lambda size: 1),
    duplicate_string: (2, 2, lambda size: 2 * size),
    missing_duplicate_string: (4, 2, lambda size: 1),
    odds_first: (2, 2, lambda size: size),
    binary_addition: (3, 3, lambda size: size + 1),
    binary_multiplication: (3, 3, lambda size: size),
    compute_sqrt: (2, 2, lambda size: math.ceil(size / 2)),
    bucket_sort: (5, 5, lambda size: size),
}
RECOGNISERS = list(TABLE)


def task_of(recogniser):
    return tasks.get(f"chomsky/{recogniser.__name__}")


def drawn(task, sizes, keys):
    """Inputs, answers and how many of an answer's symbols are scored, read off the rows."""
    rows = task.rows(np.asarray(sizes), np.asarray(keys, np.uint64))
    for tokens, targets, asked, scored, length in zip(*rows, strict=True):
        answer = np.flatnonzero(asked)
        begin = answer[0]
        np.testing.assert_array_equal(answer, np.arange(begin, length))
        assert (tokens[answer] == len(task.inputs)).all()
        counted = int(scored.sum())
        assert scored[begin : begin + counted].all()
        yield task.inputs.decode(tokens[:begin]), task.outputs.decode(targets[answer]), counted


def many(task, size, count=4000):
    return list(drawn(task, [size] * count, [tasks.draw_key("test", i) for i in range(count)]))


def test_all_fifteen_are_there_with_the_benchmarks_lengths():
    names = {task_of(recogniser).name for recogniser in RECOGNISERS}
    assert len(names) == 15
    assert {name for name in tasks.names() if name.startswith("chomsky/")} == names
    for recogniser, (symbols_in, symbols_out, _) in TABLE.items():
        task = task_of(recogniser)
        assert (task.train_sizes, task.test_sizes) == (range(1, 41), range(41, 501))
        assert (len(task.inputs), len(task.outputs)) == (symbols_in, symbols_out)
        assert task.scores[0] == "symbols"
        with pytest.raises(ValueError, match="41 up"):
            task.for_search().rows(np.array([41]), np.zeros(1, np.uint64))


def check(recogniser, size, text, answer, counted):
    expected = recogniser(size, text)
    assert len(answer) == TABLE[recogniser][2](size)
    assert answer[: len(expected)] == expected
    # Zeros fill what is left; after a terminator they do not count.
    assert set(answer[len(expected) :]) <= {"0"}
    assert counted == len(expected)


@pytest.mark.parametrize("recogniser", RECOGNISERS)
@settings(max_examples=25, deadline=None)
@given(rows=st.lists(st.tuples(SIZES, KEYS), min_size=1, max_size=6))
def test_answers_are_right_and_batches_are_single_rows(recogniser, rows):
    task = task_of(recogniser)
    sizes, keys = zip(*rows, strict=True)
    together = list(drawn(task, sizes, keys))
    for size, row in zip(sizes, together, strict=True):
        check(recogniser, size, *row)
    assert together == [row for pair in rows for row in drawn(task, *zip(pair, strict=True))]


@pytest.mark.parametrize("recogniser", RECOGNISERS)
def test_answers_are_right_at_every_small_size_and_at_the_longest(recogniser):
    task = task_of(recogniser)
    sizes = [size for size in (*range(1, 9), 499, 500) for _ in range(20)]
    keys = [tasks.draw_key(recogniser.__name__, i) for i in range(len(sizes))]
    for size, row in zip(sizes, drawn(task, sizes, keys), strict=True):
        check(recogniser, size, *row)


@pytest.mark.parametrize("recogniser", RECOGNISERS)
def test_the_example_is_one(recogniser):
    text, answer = task_of(recogniser).example.split(" -> ")
    counted = answer.index(".") + 1 if "." in answer else len(answer)
    check(recogniser, len(text), text, answer, counted)


def assert_all_as_likely(values, expected):
    """That the values are those expected, none of which comes much more often than another."""
    counts = collections.Counter(values)
    assert set(counts) == set(expected)
    mean = len(values) / len(counts)
    assert all(abs(count - mean) < 5 * math.sqrt(mean) for count in counts.values())


@pytest.mark.parametrize(
    ("recogniser", "alphabet"),
    [
        (even_pairs, "01"),
        (parity_check, "01"),
        (cycle_navigation, "012"),
        (reverse_string, "01"),
        (duplicate_string, "01"),
        (odds_first, "01"),
        (bucket_sort, "01234"),
    ],
)
def test_strings_are_all_as_likely(recogniser, alphabet):
    strings = map("".join, itertools.product(alphabet, repeat=3))
    assert_all_as_likely([text for text, *_ in many(task_of(recogniser), 3)], strings)


def test_expressions_are_all_as_likely():
    expected = map("".join, itertools.product("01234", "+-*", "01234"))
    for size in (3, 4):
        texts = [text for text, *_ in many(task_of(modular_arithmetic), size)]
        assert_all_as_likely(texts, expected if size == 3 else set(texts))
        assert len(set(texts)) == 75


def test_a_stack_has_any_height_before_its_actions():
    texts = [text for text, *_ in many(task_of(stack_manipulation), 9)]
    assert_all_as_likely([len(text.rstrip("-oi")) for text in texts], range(1, 9))
    assert_all_as_likely("".join(texts).replace("0", "").replace("1", ""), "-oi")
    assert_all_as_likely([text for text, *_ in many(task_of(stack_manipulation), 1)], "01")


def length_of_left(text):
    return len(text) - 1 - len(parse(text[1:], "+-*"))


def test_a_bracket_is_split_anywhere():
    texts = [text for text, *_ in many(task_of(modular_arithmetic_brackets), 12)]
    assert_all_as_likely([length_of_left(text) for text in texts], range(1, 9))
    assert_all_as_likely([text[1 + length_of_left(text)] for text in texts], "+-*")
    digits = re.findall("[0-4]", "".join(texts))
    assert_all_as_likely(digits[: len(digits) // 2], "01234")
    short = {1: r"[0-4]", 2: r"-[0-4]", 3: r"\([0-4]\)", 4: r"\(-[0-4]\)"}
    for size, form in short.items():
        texts = [text for text, *_ in many(task_of(modular_arithmetic_brackets), size, 400)]
        assert all(re.fullmatch(form, text) for text in texts)
        assert len(set(texts)) == 5


def test_the_unknown_is_the_first_digit_from_a_random_place_on():
    # Of (d+d) five places lead to a digit: the first one from places 0, 1 and 4, the other from 2
    # and 3.
    texts = [text for text, *_ in many(task_of(solve_equation), 7)]
    first = sum(text[1] == "x" for text in texts) / len(texts)
    assert abs(first - 3 / 5) < 0.04


def test_any_place_may_be_missing():
    texts = [text for text, *_ in many(task_of(missing_duplicate_string), 11)]
    assert_all_as_likely([text.index("?") for text in texts], range(10))
    words = [text.rstrip("_")[: text.index("?")] for text in texts if text.index("?") == 5]
    assert_all_as_likely(
        [word[:3] for word in words], map("".join, itertools.product("01", repeat=3))
    )


@pytest.mark.parametrize(
    ("recogniser", "operator"), [(binary_addition, "+"), (binary_multiplication, "*")]
)
def test_operands_have_any_length_and_any_positive_value(recogniser, operator):
    operands = [text.split(operator) for text, *_ in many(task_of(recogniser), 6)]
    assert_all_as_likely([len(left) for left, _ in operands], range(1, 5))
    for length in (2, 3):
        left = [int(left, 2) for left, _ in operands if len(left) == length]
        right = [int(right, 2) for _, right in operands if len(right) == length]
        assert_all_as_likely(left, range(1, 2**length))
        assert_all_as_likely(right, range(1, 2**length))
    alone = [text for text, *_ in many(task_of(recogniser), 2)]
    assert_all_as_likely(alone, ["00", "10", "01"])


def test_roots_are_taken_of_any_positive_number():
    assert_all_as_likely(
        [int(text, 2) for text, *_ in many(task_of(compute_sqrt), 4)], range(1, 16)
    )


# Test sets and stored data rest on these: if one changes, raise the version of the draws.
GOLDEN = {
    "binary_addition": "cbd0b30b0aa2aa2f",
    "binary_multiplication": "5bbde7a599c95bca",
    "bucket_sort": "1f3efd39d153af45",
    "compute_sqrt": "9c0dda8f91f21070",
    "cycle_navigation": "3d85fe2085a66e7e",
    "duplicate_string": "3badada533be0c62",
    "even_pairs": "454e43b87cbbc867",
    "missing_duplicate_string": "89a57db433ff8354",
    "modular_arithmetic": "bacb72bd6c73a528",
    "modular_arithmetic_brackets": "5a4052ddec3d57a0",
    "odds_first": "1b4a0b0eb4dbc61c",
    "parity_check": "92f6da631788ee03",
    "reverse_string": "bb6e94d1d1b37f57",
    "solve_equation": "5f95c0aeb613c6d2",
    "stack_manipulation": "268a7f191fde4e41",
}


@pytest.mark.parametrize("recogniser", RECOGNISERS)
def test_sequences_never_change(recogniser):
    rows = task_of(recogniser).samples("test", 50, 3)
    digest = hashlib.sha256()
    for array, dtype in zip(rows, ("<i4", "<i4", "|b1", "|b1", "<i8"), strict=True):
        digest.update(array.astype(dtype).tobytes())
    assert digest.hexdigest()[:16] == GOLDEN[recogniser.__name__]
