"""Models from files that somebody else has made, or that something has damaged."""

import json
import zipfile

import keras
import pytest

from keras_stackrnn import model_files
from keras_stackrnn.models import NextSymbolModel


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "model.keras"
    NextSymbolModel("stack", "ab", units=3, memories=2, embedding_size=2).save(path)
    return path


def changed(whole, tmp_path, change, compression=zipfile.ZIP_STORED):
    """A copy whose members are what `change` makes of them."""
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(whole) as archive, zipfile.ZipFile(path, "w", compression) as other:
        for name in archive.namelist():
            content = change(name, archive.read(name))
            if content is not None:
                other.writestr(name, content)
    return path


def with_config(whole, tmp_path, **values):
    def change(name, content):
        if name != "config.json":
            return content
        config = json.loads(content)
        config["config"] |= values
        return json.dumps(config).encode()

    return changed(whole, tmp_path, change)


def refusal(path) -> str:
    with pytest.raises(ValueError, match=r"^Cannot load '.*model\.keras': ") as caught:
        model_files.load(str(path))
    [line] = str(caught.value).splitlines()
    return line


@pytest.mark.parametrize(
    "values",
    [
        {"units": 10**9},
        {"units": 10**6, "use_recurrent_kernel": True},
        {"memories": 10**10},
        {"element_size": 10**9},
        {"embedding_size": 10**12},
        {"layers": 20, "units": 10**4},
    ],
    ids=str,
)
def test_absurd_sizes_are_refused_before_anything_is_built(values, whole, tmp_path):
    assert "its weights would take" in refusal(with_config(whole, tmp_path, **values))


def test_nobody_means_a_billion_layers(whole, tmp_path):
    path = with_config(whole, tmp_path, layers=10**9)
    assert "`layers`: expected at most 1000" in refusal(path)


def test_what_unpacks_to_far_more_than_it_is(whole, tmp_path):
    path = changed(
        whole,
        tmp_path,
        lambda name, content: content + bytes(50_000_000) if name.endswith("h5") else content,
        zipfile.ZIP_DEFLATED,
    )
    assert "would unpack to" in refusal(path)


@pytest.mark.parametrize("name", ["config.json", "model.weights.h5"])
@pytest.mark.parametrize("content", [None, b"", b"{}", b"[" * 100_000, b"\x89HDF\r\n\x1a\n\0\0"])
def test_members_that_are_something_else(name, content, whole, tmp_path):
    refusal(changed(whole, tmp_path, lambda each, old: content if each == name else old))


def test_layers_that_nobody_knows(whole, tmp_path):
    def rename(name, content):
        return (
            content.replace(b"NextSymbolModel", b"NextWordModel") if "config" in name else content
        )

    assert "NextWordModel" in refusal(changed(whole, tmp_path, rename))


@pytest.mark.parametrize("content", [b"", b"PK\x05\x06", b"PK\x03\x04" + bytes(100), b"\0" * 999])
def test_what_is_no_archive(content, tmp_path):
    path = tmp_path / "model.keras"
    path.write_bytes(content)
    refusal(path)


def test_what_is_whole_is_what_it_was(whole):
    model, loaded = keras.models.load_model(whole), model_files.load(str(whole))
    assert loaded.get_config() == model.get_config()
    for one, other in zip(model.get_weights(), loaded.get_weights(), strict=True):
        assert (one == other).all()
