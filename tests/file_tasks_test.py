"""Tasks of files: what is read, how it is divided, and what is said of files that are wrong."""

import gzip
import json
import random

import numpy as np
import pytest

from keras_stackrnn.tasks.files import Source, load

PALINDROMES = ["", "a", "b", "aa", "bb", "aba", "bab", "aaa", "bbb", "abba", "baab", "aaaa"]
PAIRS = [(text, text[::-1]) for text in ["", *PALINDROMES[1:], "ab", "ba", "abb", "bba", "aab"]]
LABELLED = [(text, "yes" if text == text[::-1] else "no") for text, _ in PAIRS]
LABELLED += [("aabb", "no"), ("abab", "no"), ("bbba", "no")]


def written(path, rows, separator="\t"):
    path.write_text("".join(f"{separator.join(row)}\n" for row in rows), encoding="utf-8")
    return str(path)


def texts(task, split):
    sizes = range(min(task.train_sizes[0], task.test_sizes[0]), 40)
    lines = [line for size in sizes for line in task.lines(task.samples(split, size, 99))]
    return sorted(lines)


def labelled(form, path, **source):
    return load(form, Source(str(path), **source))


def as_csv(rows, header):
    return "".join(f"{','.join(row)}\n" for row in [header, *rows]).encode()


def as_json(rows, header):
    objects = (dict(zip(header, row, strict=True)) for row in rows)
    return "".join(f"{json.dumps(each)}\n" for each in objects).encode()


@pytest.mark.parametrize(
    ("name", "content", "columns"),
    [
        ("a.txt", "".join(f"{s}\t{label}\n" for s, label in LABELLED).encode(), None),
        ("b.tsv", "".join(f"{s}\t{label}\r\n" for s, label in LABELLED).encode(), None),
        ("c.csv", as_csv(LABELLED, ("String", "LABEL")), None),
        ("d.csv.gz", gzip.compress(as_csv(LABELLED, ("text", "class")), mtime=0), None),
        ("e.jsonl", as_json(LABELLED, ("text", "label")), None),
        ("f.csv", as_csv([(b, "x", a) for a, b in LABELLED], ("is", "no", "word")), ("word", "is")),
        ("g.jsonl.gz", gzip.compress(as_json(LABELLED, ("w", "is")), mtime=0), ("w", "is")),
        ("h.tsv", "".join(f"{b}\t-\t{a}\n" for a, b in LABELLED).encode(), ("3", "1")),
        ("i.jsonl", "".join(f"{json.dumps(row)}\n" for row in LABELLED).encode(), None),
    ],
)
def test_all_kinds_of_files_hold_the_same_rows(tmp_path, name, content, columns):
    (tmp_path / name).write_bytes(content)
    task = labelled("recognition", tmp_path / name, columns=columns)
    everything = [line for split in ("train", "validation", "test") for line in texts(task, split)]
    assert sorted(everything) == sorted(f"{text} {label}".lstrip() for text, label in LABELLED)
    assert task.labels == ("no", "yes")
    assert list(task.inputs) == ["a", "b"]


def test_what_is_held_out_is_never_learned_from(tmp_path):
    rng = random.Random(5)
    rows = [("".join(rng.choices("ab", k=rng.randint(1, 7))),) for _ in range(200)]
    task = labelled("strings", written(tmp_path / "s.txt", rows))
    parts = {split: set(texts(task, split)) for split in ("train", "validation", "test")}
    once = [row for row in rows if rows.count(row) == 1]
    held_out = max(len(once) // 10, 10)
    assert {f"#{row}#" for (row,) in rows if rows.count((row,)) > 1} <= parts["train"]
    assert len(parts["validation"]) == len(parts["test"]) == held_out
    assert not parts["train"] & (parts["validation"] | parts["test"])
    assert not parts["validation"] & parts["test"]
    assert f"{held_out}" in task.division
    assert "One in 10 of those that are there once (10 or more, if they are a qu" in task.division
    drawn = task.for_search().rows(
        np.full(500, 6), np.arange(500, dtype=np.uint64) << np.uint64(33)
    )
    assert set(task.lines(drawn)) <= parts["train"]
    with pytest.raises(ValueError, match="test sequences cannot be trained"):
        task.for_search().samples("test", 3, 1)


def test_strings_stand_between_marks_that_they_do_not_have(tmp_path):
    rows = [("#" * n + "x",) for n in range(12)]
    task = labelled("strings", written(tmp_path / "s.txt", rows))
    (line,) = {line[0] + line[-1] for line in texts(task, "train")}
    assert line == ".."
    size = int(task.examples["train"].by_size.sizes[-1])
    rows = task.samples("train", size, 1)
    assert rows.tokens[0].tolist() == task.inputs.encode("." + "#" * (size - 1) + "x").tolist()
    assert rows.targets[0].tolist() == task.inputs.encode("#" * (size - 1) + "x.").tolist()
    assert rows.asked.all()
    assert task.of_model()["vocabulary"] == ["#", "x", "."]


def test_strings_are_drawn_as_often_as_they_are_there(tmp_path):
    rows = [("ab",)] * 9 + [("ba",)]
    validation = written(tmp_path / "v.txt", [("aa",)])
    source = {"validation_file": validation, "test_file": validation}
    task = labelled("strings", written(tmp_path / "s.txt", rows), **source)
    keys = np.random.default_rng(0).integers(0, 2**63, 1000).astype(np.uint64)
    lines = task.lines(task.rows(np.full(1000, 2), keys))
    assert 0.87 < np.mean([line == "#ab#" for line in lines]) < 0.93


@pytest.mark.parametrize(
    ("pairs", "places", "terminator"),
    [
        (PAIRS, (1, 1, 0), None),
        ([(text, text + answer) for text, answer in PAIRS], (2, 1, 0), None),
        ([(text, text[::2] + "!") for text, _ in PAIRS], (1, 2, 1), None),
        ([("a" * n + "b" * m, "b" * m) for n in range(4) for m in range(9)], (1, 1, 1), "#"),
        ([(text, "yes" if "a" in text else "no") for text, _ in PAIRS], (0, 1, 4), "#"),
    ],
)
def test_answers_have_as_many_places_as_they_need(tmp_path, pairs, places, terminator):
    task = labelled("transduction", written(tmp_path / "p.tsv", pairs))
    assert task.terminator == terminator
    assert task.answer_places[:2] == places[:2]
    for size in task.train_sizes:
        rows = task.samples("train", size, 99)
        counted = rows.scored.sum(axis=1)
        for line, count, asked in zip(
            task.lines(rows), counted, rows.asked.sum(axis=1), strict=True
        ):
            given, _, answer = line.partition(" -> ")
            assert asked == task.answer_places.of(len(given))
            if terminator:
                assert answer[: count - 1] == dict(pairs)[given]
                assert set(answer[count - 1 :]) == {terminator}
            else:
                assert answer == dict(pairs)[given]


def test_tokens_are_words_or_characters_with_spaces_between_them(tmp_path):
    rows = [(f"go{' left' * n}", f"{'right ' * n}stop") for n in range(12)]
    task = labelled("transduction", written(tmp_path / "p.tsv", rows), level="token")
    assert list(task.inputs) == ["go", "left"]
    assert list(task.outputs) == ["right", "stop"]
    rows = [(" ".join("ab" * n), " ".join("ba" * n)) for n in range(1, 12)]
    task = labelled("transduction", written(tmp_path / "q.tsv", rows), level="token")
    assert task.lines(task.samples("train", 4, 1)) == ["abab -> baba"]


def test_lessons_are_lengths_that_there_are(tmp_path):
    rows = [("a" * n, "yes" if n % 3 else "no") for n in range(2, 80, 2)]
    task = labelled("recognition", written(tmp_path / "l.tsv", rows))
    lessons = [lesson.largest for lesson in task.lessons(3, 60)]
    assert 10 < len(lessons) <= 20
    assert all(size % 2 == 0 for size in lessons)
    assert lessons[0] == 4
    assert lessons[-1] == 60
    assert task.learned(5).lengths.tolist() == sorted(task.learned(5).lengths)
    assert len(task.learned(5).lengths) <= 5


def fault(tmp_path, form, content, name="f.tsv", **source):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError) as caught:  # noqa: PT011 the callers look at the words
        labelled(form, path, **source)
    return str(caught.value).replace(f"{tmp_path}/", "")


@pytest.mark.parametrize(
    ("form", "name", "content", "message"),
    [
        (
            "recognition",
            "f.tsv",
            "ab\tyes\nabb\n",
            "f.tsv, line 2: expected a tab between values, and 2 or more values, got 1: 'abb'.",
        ),
        (
            "recognition",
            "f.csv",
            "ab,yes\nabb;no\n",
            "f.csv, line 2: expected a comma between values, and 2 or more values, got 1: "
            "'abb;no'.",
        ),
        ("recognition", "f.csv", 'ab,yes\n"abb,no\n', "f.csv, line 2: unexpected end of data."),
        (
            "recognition",
            "f.tsv",
            "ab\tyes\nabb\t \n",
            "f.tsv, line 2: expected a label, got an empty one.",
        ),
        (
            "recognition",
            "f.tsv",
            b"ab\tyes\n\xffb\tno\n",
            "f.tsv, line 2: expected text in UTF-8, got byte 255 at place 1.",
        ),
        ("strings", "f.txt", b"ab\na\0b\n", "f.txt, line 2: expected text, got byte 0 at place 2."),
        ("strings", "f.txt", "\n", "f.txt is empty: expected a row in each line."),
        ("strings", "f.csv", "text\n", "f.csv has a header and nothing else: expected rows "),
        (
            "strings",
            "f.tsv",
            "ab\tyes\n",
            "f.tsv, line 1: expected a string and nothing else, got 'ab', 'yes'; columns says ",
        ),
        (
            "strings",
            "f.doc",
            "ab",
            "f.doc is none of the kinds of files that are read: expected a name that ends in "
            ".txt, .tsv, .csv, .jsonl, perhaps with .gz behind it.",
        ),
        ("strings", "f.txt.gz", "ab", "f.txt.gz cannot be unpacked: expected a whole file "),
        (
            "strings",
            "f.jsonl",
            '{"text": "ab"}\n{"text"}\n',
            "f.jsonl, line 2: expected a line of JSON, got Expecting ':' delimiter.",
        ),
        (
            "recognition",
            "f.jsonl",
            '{"text": "ab"}\n',
            "f.jsonl, line 1: expected 'label' or 'class', got 'text'.",
        ),
        (
            "strings",
            "f.jsonl",
            '{"text": null}\n',
            "f.jsonl, line 1: expected a text, got None.",
        ),
        (
            "strings",
            "f.txt",
            "ab\nba\n" * 9,
            "f.txt has 2 different rows, too few to hold some out: expected 10 or more, or files "
            "of their own for the validation and the test.",
        ),
        (
            "recognition",
            "f.tsv",
            "".join(f"{'a' * n}\tyes\n" for n in range(20)),
            "f.tsv has the label 'yes' alone: expected strings with two or more labels.",
        ),
        (
            "recognition",
            "f.tsv",
            "".join(f"{'a' * n}\tyes\n" for n in range(20)) + "aaa\tno\n",
            "f.tsv, line 21: the string 'aaa' has the label 'no' here and 'yes' in line 4.",
        ),
    ],
)
def test_bad_lines_are_told_by_file_and_line(tmp_path, form, name, content, message):
    assert fault(tmp_path, form, content, name).startswith(message)


def test_columns_that_are_not_there(tmp_path):
    rows = "a,b\nx,y\n"
    said = fault(tmp_path, "recognition", rows, "f.csv", columns=("a", "c"))
    assert said == "f.csv, line 1: there is no column 'c', only 'a', 'b'."
    said = fault(tmp_path, "recognition", rows, "f.csv", columns=("a",))
    assert said == "columns must name 2 of f.csv (string, label), got a."
    assert "counted from 1" in fault(tmp_path, "recognition", rows, "f.csv", columns=("0", "1"))


def test_what_only_the_test_has_is_refused(tmp_path):
    rows = written(tmp_path / "train.tsv", LABELLED)
    for row, message in (
        (("abc", "no"), "the symbol 'c' is in no row that is learned from."),
        (("bbaa", "perhaps"), "the symbol 'perhaps' is in no row that is learned from."),
    ):
        test = written(tmp_path / "test.tsv", [("bb", "yes"), row])
        with pytest.raises(ValueError, match=rf"test.tsv, line 2: {message}"):
            labelled("recognition", rows, test_file=test)
    rows = written(tmp_path / "pairs.tsv", PAIRS)
    test = written(tmp_path / "test2.tsv", [("babb", "bab")])
    with pytest.raises(ValueError, match=r"line 1: an output has 4 symbols for an input of 4"):
        labelled("transduction", rows, test_file=test)


def test_quotes_hold_commas_quotes_and_ends_of_lines(tmp_path):
    content = '"a,\n""b",yes\n' + "".join(f"{'a' * n}, no \n" for n in range(3, 14))
    (tmp_path / "q.csv").write_text(content)
    validation = str(tmp_path / "q.csv")
    task = labelled("recognition", validation, validation_file=validation, test_file=validation)
    assert list(task.inputs) == ["\n", '"', ",", "a", "b"]
    assert task.labels == ("no", "yes")
    assert "12 of which are also learned from" in task.division
    assert task.lines(task.samples("train", 5, 1)) == ['a,\n"b yes']


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(ValueError, match=r"Cannot read .*nothing\.txt: No such file"):
        labelled("strings", tmp_path / "nothing.txt")
