"""Checkpoints and files that are whole or not there."""

import hashlib
import io
import os
import shutil
import zipfile

import numpy as np
import pytest

from keras_stackrnn.training import RunError
from keras_stackrnn.training.checkpoints import Checkpoint, Checkpoints
from keras_stackrnn.training.files import clear_partial, locked, write_aside


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


def sealed(content: bytes) -> bytes:
    """A file whose hash is right, whatever is in it."""
    digest = hashlib.sha256(content).hexdigest().encode()
    return b"keras_stackrnn checkpoint 1 " + digest + b"\n" + content


def archive_of(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, b"no array")
    return file.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        sealed(b""),
        sealed(b"no archive"),
        sealed(archive_of()),
        sealed(archive_of("meta.json.npy")),
        b"keras_stackrnn checkpoint 1 \xff\n",
    ],
    ids=["nothing", "no archive", "no meta", "no arrays", "no hash"],
)
def test_a_crafted_one_is_passed_over(data, tmp_path):
    checkpoints = saved(tmp_path, 2)
    (checkpoints.folder / "00000002.checkpoint").write_bytes(data)
    with pytest.warns(RuntimeWarning, match=r"00000002\.checkpoint .* and is passed over"):
        assert_is(checkpoints.load(), 1)


def test_what_is_no_file_is_passed_over(tmp_path):
    checkpoints = saved(tmp_path, 2)
    (checkpoints.folder / "00000002.checkpoint").mkdir()
    os.mkfifo(checkpoints.folder / "00000003.checkpoint")
    os.symlink("00000004.checkpoint", checkpoints.folder / "00000004.checkpoint")
    with pytest.warns(RuntimeWarning, match=r"is no file and is passed over"):
        assert_is(checkpoints.load(), 1)
    checkpoints.save(checkpoint(7))
    assert_is(checkpoints.load(), 7)


def test_files_that_are_not_ours_are_left_alone(tmp_path):
    checkpoints = saved(tmp_path, 2)
    strays = ("1x.checkpoint", "1 (copy).checkpoint", f"{'9' * 200}.checkpoint", "notes.txt")
    for name in strays:
        (checkpoints.folder / name).write_bytes(b"mine")
    checkpoints.save(checkpoint(2))
    assert_is(checkpoints.load(), 2)
    assert all((checkpoints.folder / name).read_bytes() == b"mine" for name in strays)


def test_a_run_that_was_taken_away_is_not_begun_anew(tmp_path):
    checkpoints = saved(tmp_path, 1)
    shutil.rmtree(tmp_path)
    with pytest.raises(FileNotFoundError):
        checkpoints.save(Checkpoint({}, {}))
    assert not tmp_path.exists()


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
    assert [each.name for each in tmp_path.iterdir()] == ["config.json"]


def test_whatever_stops_a_file_in_the_making_leaves_nothing_of_it(tmp_path):
    def write(aside):
        aside.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_aside(tmp_path / "config.json", write)
    assert list(tmp_path.iterdir()) == []


def test_what_killed_processes_left_half_written_is_cleared_away(tmp_path):
    for name in ("partial-model.keras", "partial-00000003.checkpoint", "partial-mine", "mine"):
        (tmp_path / name).write_text("half")
    clear_partial(tmp_path, ["model.keras", "[0-9]*.checkpoint"])
    assert {path.name for path in tmp_path.iterdir()} == {"partial-mine", "mine"}


def test_a_folder_is_for_one_run_at_a_time(tmp_path):
    with (
        locked(tmp_path),
        pytest.raises(RunError, match=r"^Another process is training in .* right now\.$"),
        locked(tmp_path),
    ):
        pass
    with locked(tmp_path):
        pass
