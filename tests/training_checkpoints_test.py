"""Checkpoints and files that are whole or not there."""

import os

import numpy as np
import pytest

from keras_stackrnn.training import RunError
from keras_stackrnn.training.checkpoints import Checkpoint, Checkpoints
from keras_stackrnn.training.files import locked, write_aside


def checkpoint(number: int) -> Checkpoint:
    arrays = {"weights/kernel": np.full((2, 3), number, np.float32), "ages": np.arange(number)}
    return Checkpoint(arrays, {"number": number, "best": float("inf"), "seeds": [1, 2**40]})


def saved(folder, count: int) -> Checkpoints:
    checkpoints = Checkpoints(folder / "checkpoints")
    for number in range(count):
        checkpoints.save(checkpoint(number))
    return checkpoints


def assert_is(loaded: Checkpoint, number: int):
    expected = checkpoint(number)
    assert loaded.meta == expected.meta
    assert loaded.arrays.keys() == expected.arrays.keys()
    for name, array in expected.arrays.items():
        assert loaded.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(loaded.arrays[name], array)


def test_the_last_of_many_comes_back_and_two_are_kept(tmp_path):
    checkpoints = saved(tmp_path, 12)
    assert_is(checkpoints.load(), 11)
    names = sorted(path.name for path in checkpoints.folder.iterdir())
    assert names == ["00000010.checkpoint", "00000011.checkpoint"]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda data: data[:-1], "is damaged"),
        (lambda data: data[:200], "is damaged"),
        (lambda data: data[:300] + bytes([data[300] ^ 1]) + data[301:], "is damaged"),
        (lambda data: b"", "is not one that this version can read"),
        (lambda data: b"keras_stackrnn checkpoint 2 " + data, "is not one that this version"),
    ],
)
def test_a_damaged_one_falls_back_to_the_one_before(damage, reason, tmp_path):
    checkpoints = saved(tmp_path, 3)
    last = checkpoints.folder / "00000002.checkpoint"
    last.write_bytes(damage(last.read_bytes()))
    with pytest.warns(RuntimeWarning, match=f"{last.name} {reason}.* and is passed over"):
        assert_is(checkpoints.load(), 1)


def test_after_a_damaged_one_new_ones_count_on(tmp_path):
    checkpoints = saved(tmp_path, 3)
    (checkpoints.folder / "00000002.checkpoint").write_bytes(b"")
    checkpoints.save(checkpoint(7))
    assert_is(checkpoints.load(), 7)


def test_half_a_file_from_a_killed_process_is_no_checkpoint(tmp_path):
    checkpoints = saved(tmp_path, 2)
    (checkpoints.folder / "partial-00000002.checkpoint").write_bytes(b"keras")
    assert_is(checkpoints.load(), 1)
    checkpoints.save(checkpoint(2))
    assert_is(checkpoints.load(), 2)


def test_none_at_all(tmp_path):
    with pytest.raises(RunError, match=r"^There is no checkpoint in .* leave out --resume\.$"):
        Checkpoints(tmp_path).load()


def test_all_damaged(tmp_path):
    checkpoints = saved(tmp_path, 2)
    for path in checkpoints.folder.iterdir():
        path.write_bytes(b"")
    with (
        pytest.warns(RuntimeWarning),
        pytest.raises(RunError, match=r"^No checkpoint in .* can be read: .* --overwrite\.$"),
    ):
        checkpoints.load()


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "config.json"
    path.write_text("before")
    os.symlink("/dev/full", tmp_path / "partial-config.json")
    with pytest.raises(OSError, match="No space left on device") as raised:
        write_aside(path, lambda aside: aside.write_text("after"))
    assert raised.value.filename == str(path)
    assert path.read_text() == "before"


def test_a_folder_is_for_one_run_at_a_time(tmp_path):
    with (
        locked(tmp_path),
        pytest.raises(RunError, match=r"^Another process is training in .* right now\.$"),
        locked(tmp_path),
    ):
        pass
    with locked(tmp_path):
        pass
