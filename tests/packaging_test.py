"""The wheel and the sdist: real files behind the two links, and no claim on the name `datasets`."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]

# One file of every kind that a TFDS builder's folder and the serving folder hold.
SAMPLES = [
    "datasets/sample/CITATIONS.bib",
    "datasets/sample/README.md",
    "datasets/sample/TAGS.txt",
    "datasets/sample/__init__.py",
    "datasets/sample/checksums.tsv",
    "datasets/sample/dummy_data/deep/sample.txt",
    "datasets/sample/sample_dataset_builder.py",
    "serving/sample.md",
    "serving/sample.py",
    "serving/tf_serving/sample.config",
]

TRAIN = """
import keras
import numpy as np
import keras_stackrnn
from keras_stackrnn.datasets.sample import sample_dataset_builder
from keras_stackrnn.serving import sample

inputs = np.eye(4, dtype="float32")[np.arange(24).reshape(2, 12) % 4]
model = keras.Sequential([keras.layers.RNN(keras_stackrnn.StackCell(8), return_sequences=True)])
model.add(keras.layers.Dense(4, activation="softmax"))
model.compile("adam", "categorical_crossentropy")
model.fit(inputs, inputs, epochs=2, verbose=0)
for module in (keras_stackrnn, sample_dataset_builder, sample):
    print(module.__file__)
"""


def run(code, cwd, path=None):
    """Runs code in a fresh interpreter and returns the lines that it printed."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if path is not None:
        env["PYTHONPATH"] = str(path)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def build(kind, source, target):
    """Builds a "wheel" or an "sdist" and returns its path."""
    code = f"from setuptools import build_meta; print(build_meta.build_{kind}({str(target)!r}))"
    return target / run(code, cwd=source)[-1]


def unpacked(archive, target):
    """Unpacks a wheel or an sdist and returns its folder of files."""
    if archive.suffix == ".whl":
        zipfile.ZipFile(archive).extractall(target)
        return target
    with tarfile.open(archive) as tar:
        tar.extractall(target, filter="data")
    return target / archive.name.removesuffix(".tar.gz")


def package_files(root):
    """The paths of all files of the package, links followed."""
    package = root / "keras_stackrnn"
    return {
        os.path.relpath(Path(folder, file), root)
        for folder, _, files in os.walk(package, followlinks=True)
        for file in files
        if not file.startswith(".") and "__pycache__" not in folder
    }


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A copy of what a build reads, links kept, so that none of it is left in the checkout."""
    source = tmp_path_factory.mktemp("source")
    for name in ("LICENSE", "README.md", "pyproject.toml"):
        shutil.copy(REPOSITORY / name, source)
    for name in ("datasets", "keras_stackrnn", "serving"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(REPOSITORY / name, source / name, symlinks=True, ignore=ignored)
    for sample in SAMPLES:
        path = source / sample
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("# A sample.\n")
    return source


@pytest.fixture(scope="module")
def wheel(source, tmp_path_factory):
    return build("wheel", source, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(source, tmp_path_factory):
    return build("sdist", source, tmp_path_factory.mktemp("sdist"))


def test_the_package_reaches_datasets_and_serving_by_links():
    for name in ("datasets", "serving"):
        assert os.readlink(REPOSITORY / "keras_stackrnn" / name) == f"../{name}"
        assert not (REPOSITORY / name / "__init__.py").exists()


def test_there_is_one_version():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    for file in ("MODULE.bazel", "CITATION.cff"):
        text = (REPOSITORY / file).read_text()
        version = re.search(r"^\s*version\s*[=:]\s*\"?([\d.]+)", text, re.MULTILINE)[1]
        assert version == project["version"], file
    assert f"## {project['version']}" in (REPOSITORY / "CHANGELOG.md").read_text()


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(source, wheel, tmp_path):
    root = unpacked(wheel, tmp_path)
    assert package_files(root) == package_files(source)
    assert {f"keras_stackrnn/{sample}" for sample in SAMPLES} <= package_files(root)
    assert {path.name for path in root.iterdir()} == {
        "keras_stackrnn",
        "keras_stackrnn-" + wheel.name.split("-")[1] + ".dist-info",
    }
    assert not [path for path in root.rglob("*") if path.is_symlink()]


def test_the_sdist_holds_real_files_and_builds_the_same_wheel(source, sdist, wheel, tmp_path):
    root = unpacked(sdist, tmp_path / "sdist")
    assert package_files(root) == package_files(source)
    assert not [path for path in root.rglob("*") if path.is_symlink()]
    rebuilt = build("wheel", root, tmp_path)
    assert sorted(zipfile.ZipFile(rebuilt).namelist()) == sorted(zipfile.ZipFile(wheel).namelist())


def test_an_installed_wheel_imports_and_trains_away_from_the_checkout(wheel, tmp_path):
    site = unpacked(wheel, tmp_path / "site")
    assert run(TRAIN, cwd=tmp_path, path=site) == [
        str(site / "keras_stackrnn/__init__.py"),
        str(site / "keras_stackrnn/datasets/sample/sample_dataset_builder.py"),
        str(site / "keras_stackrnn/serving/sample.py"),
    ]


def test_another_package_called_datasets_wins_even_in_the_repositorys_root(tmp_path):
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets/__init__.py").touch()
    code = "import datasets; print(datasets.__file__)"
    assert run(code, cwd=REPOSITORY, path=tmp_path) == [str(tmp_path / "datasets/__init__.py")]
