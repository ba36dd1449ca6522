"""Modules and files with tasks of one's own, for every command."""

import sys

import pytest

from keras_stackrnn import tasks
from keras_stackrnn.tasks import registry
from keras_stackrnn.tasks.imports import import_tasks

TASK = """
from keras_stackrnn.tasks import recognition

@recognition("{name}", inputs="ab")
def even(size, draw):
    word = "".join(draw.choice("ab") for _ in range(size))
    return word, word.count("a") % 2 == 0
"""


@pytest.fixture
def forgotten(monkeypatch):
    monkeypatch.setattr(registry, "_tasks", dict(registry._tasks))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))


@pytest.mark.usefixtures("forgotten")
def test_a_file_or_a_module_here_makes_its_tasks_known(tmp_path, monkeypatch):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        text = TASK.format(name=f"mine/{folder}")
        (tmp_path / folder / "my_tasks.py").write_text(text)
        import_tasks(str(tmp_path / folder / "my_tasks.py"))
        import_tasks(str(tmp_path / folder / "my_tasks.py"))
        assert tasks.get(f"mine/{folder}").samples("train", 3, 1).lengths == [4]
    (tmp_path / "module_of_mine.py").write_text(TASK.format(name="mine/module"))
    monkeypatch.chdir(tmp_path)
    path = list(sys.path)
    import_tasks("module_of_mine")
    assert sys.path == path
    assert "mine/module" in tasks.names("recognition")
    import_tasks(None)


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("import nothing_like_it", "No module named 'nothing_like_it' .in .*my_tasks.py, line 1"),
        ("\n\n1 / 0", "ZeroDivisionError: division by zero .in .*my_tasks.py, line 3"),
        ("def", r"Cannot import tasks from .*: invalid syntax in .*my_tasks.py, line 1\."),
        (TASK.format(name="anbn"), "There is a task 'anbn' already; choose another name"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path, content, message):
    (tmp_path / "my_tasks.py").write_text(content)
    with pytest.raises(ValueError, match=message):
        import_tasks(str(tmp_path / "my_tasks.py"))


def test_nothing_to_import():
    with pytest.raises(ValueError, match=r"There is no file 'mine\.py' to import tasks from"):
        import_tasks("mine.py")
    with pytest.raises(ValueError, match="No module named 'mine_is_nowhere'"):
        import_tasks("mine_is_nowhere")


def test_a_task_that_is_meant_is_named():
    with pytest.raises(
        ValueError, match=r"no task 'anbnc' \(did you mean 'anbn.*'\?\); there are "
    ):
        tasks.get("anbnc")
    with pytest.raises(
        ValueError, match=r"'recogntion' \(did you mean 'recognition'\?\); there are "
    ):
        tasks.get("recogntion")
    with pytest.raises(ValueError, match="Task 'recognition' is made of a file of yours"):
        tasks.get("recognition")
    with pytest.raises(ValueError, match=r"There is no task 'xyzzy'; there are .*, chomsky/even_p"):
        tasks.get("xyzzy")
