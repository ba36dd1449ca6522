"""Tests of tasks: the rows of each form, splits, sizes, and the guard before the test."""

import numpy as np
import pytest

from keras_stackrnn import patterns, tasks
from keras_stackrnn.tasks import registry

SOME_SIZES = np.array([1, 2, 5, 3])


@pytest.fixture
def registered():
    """Registers tasks for one test."""
    before = dict(registry._tasks)
    yield
    registry._tasks.clear()
    registry._tasks.update(before)


@pytest.fixture
def shout(registered):
    @tasks.transduction("shout", inputs="ab", outputs="AB.", answer_places=(1, 1, 1))
    def generate(size, draw):
        word = "".join(draw.choice("ab") for _ in range(size))
        return word, word.upper() + ".", size

    return tasks.get("shout")


@pytest.fixture
def even(registered):
    @tasks.recognition("even", inputs="ab")
    def generate(size, draw):
        word = "".join(draw.choice("ab") for _ in range(size))
        return word, word.count("a") % 2 == 0

    return tasks.get("even")


def keys(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.uint64) * np.uint64(7919)


def test_rows_of_a_transduction_read_the_input_and_then_places_for_the_answer(shout):
    rows = shout.rows(SOME_SIZES, keys(4))
    assert rows.lengths.tolist() == [3, 5, 11, 7]
    for i, size in enumerate(SOME_SIZES):
        word = shout.inputs.decode(rows.tokens[i, :size])
        answer = shout.outputs.decode(rows.targets[i, size : 2 * size + 1])
        assert answer == word.upper() + "."
        marks = np.arange(11) >= size
        assert rows.asked[i].tolist() == (marks & (np.arange(11) < 2 * size + 1)).tolist()
        assert rows.scored[i].sum() == size, "the terminator does not count here"
        assert set(rows.tokens[i][rows.asked[i]]) == {2}, "the mark's id follows the inputs'"
        assert not rows.tokens[i, rows.lengths[i] :].any()


def test_computation_places_come_before_the_answer(registered):
    task = tasks.Transduction(
        name="slow",
        inputs="ab",
        outputs="ab",
        train_sizes=range(1, 5),
        test_sizes=range(5, 9),
        generate=lambda size, draw: ("a" * size, "b" * size),
        computation=2,
    )
    rows = task.rows(np.array([2]), keys(1))
    assert rows.tokens.tolist() == [[0, 0, 3, 3, 3, 3, 2, 2]]
    assert rows.targets[rows.asked].tolist() == [1, 1]
    assert task.places(2) == 8
    assert task.marks == ("<answer>", "<compute>")


def test_rows_of_a_recognition_ask_for_the_label_at_the_end(even):
    rows = even.rows(np.array([0, 4, 1]), keys(3))
    assert rows.lengths.tolist() == [1, 5, 2]
    for i, size in enumerate([0, 4, 1]):
        word = even.inputs.decode(rows.tokens[i, :size])
        assert rows.tokens[i, size] == 2
        assert np.flatnonzero(rows.asked[i]).tolist() == [size]
        assert rows.targets[i, size] == (word.count("a") % 2 == 0)


def test_rows_of_a_pattern_ask_for_the_next_symbol():
    rows = tasks.get("memorize").samples("validation", 3, 4)
    pattern = tasks.get("memorize")
    for i in range(4):
        sequence = pattern.sample(3, "validation", i)
        assert rows.tokens[i].tolist() == sequence.tokens[:-1].tolist()
        assert rows.targets[i].tolist() == sequence.tokens[1:].tolist()
        assert rows.scored[i].tolist() == sequence.deterministic[1:].tolist()
        assert rows.asked[i].all()


def test_a_pattern_whose_end_tells_the_next_first_symbol_asks_for_it():
    rows = tasks.get("anbn").rows(np.array([1, 2]), keys(2))
    assert rows.tokens.tolist() == [[0, 1, 0, 0], [0, 0, 1, 1]]
    assert rows.targets.tolist() == [[1, 0, 0, 0], [0, 1, 1, 0]]
    assert rows.scored.astype(int).tolist() == [[0, 1, 0, 0], [0, 0, 1, 1]]


@pytest.mark.parametrize("name", tasks.names())
def test_lines_are_written_as_the_example_is(name):
    task = tasks.get(name)
    line, *_ = task.lines(task.samples("train", task.train_sizes[2], 1))
    marks = set(line) - set("".join([*task.inputs, *task.outputs]))
    assert marks <= set(task.example) | set("[]")
    assert (" -> " in line) == (" -> " in task.example)


@pytest.mark.parametrize("name", tasks.names())
def test_rows_follow_from_size_and_key_alone(name):
    task = tasks.get(name).for_search()
    sizes = np.array([task.train_sizes[-1], task.train_sizes[0], task.train_sizes[1]])
    together = task.rows(sizes, keys(3))
    assert (together.lengths <= [task.places(int(size)) for size in sizes]).all()
    assert not (together.scored & ~together.asked).any()
    for i in range(3):
        alone = task.rows(sizes[i : i + 1], keys(3)[i : i + 1])
        length = alone.lengths[0]
        for array, row in zip(together[:4], alone[:4], strict=True):
            assert array[i, :length].tolist() == row[0].tolist()
            assert not array[i, length:].any()


@pytest.mark.parametrize("name", tasks.names())
def test_a_search_is_refused_the_test(name):
    task = tasks.get(name).for_search()
    too_large = task.train_sizes[-1] + 1
    sentence = f"n from {too_large} up is for tests and cannot be trained or validated on, "
    with pytest.raises(ValueError, match=f"^{sentence}got {too_large}.$"):
        task.rows(np.array([too_large]), keys(1))
    with pytest.raises(ValueError, match=r"^The test sequences cannot be trained or validated on"):
        task.samples("test", task.train_sizes[0], 1)
    assert tasks.get(name).samples("test", task.train_sizes[0], 1).tokens.size


def test_bad_tasks_are_refused(even, shout):
    with pytest.raises(ValueError, match=r"labels no, yes, got 'maybe'\.$"):
        even.rows_of_texts([("ab", "maybe")])
    with pytest.raises(ValueError, match=r"knows the symbols 'ab', got 'c' in 'abc'\.$"):
        even.rows_of_texts([("abc", "no")])
    with pytest.raises(ValueError, match=r"has 3 answer places for an input as long as 'ab', got"):
        shout.rows_of_texts([("ab", "AB")])
    with pytest.raises(ValueError, match=r"two or more distinct labels, got \('x',\)\.$"):
        tasks.recognition("one", inputs="ab", labels=("x",))(lambda size, draw: ("a", "x"))
    with pytest.raises(ValueError, match=r"must be distinct symbols, got 'aa'\.$"):
        tasks.recognition("twice", inputs="aa")(lambda size, draw: ("a", True))
    with pytest.raises(ValueError, match="There is a task 'even' already"):
        tasks.recognition("even", inputs="ab")(lambda size, draw: ("a", True))
    with pytest.raises(ValueError, match="no pattern but a task of the form recognition"):
        patterns.get("even")
