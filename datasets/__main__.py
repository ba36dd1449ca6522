"""Prepares the datasets and shows what is in them.

    python -m keras_stackrnn.datasets
    python -m keras_stackrnn.datasets --show=anbn --examples=3
    python -m keras_stackrnn.datasets --show=chomsky/binary_addition --n=7
    python -m keras_stackrnn.datasets --prepare=algorithmic_patterns/anbn,penn_treebank/word
    python -m keras_stackrnn.datasets --prepare=recognition_languages
    python -m keras_stackrnn.datasets --prepare=all --manual_dir=DIR

Without an option it lists the datasets. A dataset's name without a config stands for all of them.
Predictable symbols of sequences are in square brackets, answers behind an arrow, labels behind the
string.
"""

import argparse
import importlib
import sys

import tensorflow_datasets as tfds
from absl import logging

from keras_stackrnn import tasks
from keras_stackrnn.datasets import (
    algorithmic_patterns,
    chomsky,
    marked_languages,
    penn_treebank,
    recognition_languages,
    small_languages,
)
from keras_stackrnn.datasets.penn_treebank.source import CorpusError

_BUILDERS = tuple(
    module.Builder
    for module in (
        algorithmic_patterns,
        chomsky,
        marked_languages,
        recognition_languages,
        small_languages,
        penn_treebank,
    )
)


def main(arguments: list[str] | None = None) -> int:
    """Does what the command line says and returns the exit code."""
    options = _parse(arguments)
    logging.set_verbosity(logging.WARNING)
    tfds.disable_progress_bar()
    try:
        if options.module:
            importlib.import_module(options.module)
        if options.show:
            _show_sequences(tasks.get(options.show), options.n, options.examples)
        elif options.prepare:
            return _prepare_all(options)
        else:
            _list_datasets()
    except (ImportError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m keras_stackrnn.datasets",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--show", metavar="TASK", help="show sequences of a task")
    parser.add_argument("--n", type=int, default=5, help="the n, or size, of the sequences to show")
    parser.add_argument("--examples", type=int, default=5, help="number of sequences to show")
    parser.add_argument("--prepare", metavar="NAMES", help="datasets, set apart by commas, or all")
    parser.add_argument("--data_dir", metavar="DIR", help="where TFDS keeps its datasets")
    parser.add_argument("--manual_dir", metavar="DIR", help="where Penn Treebank's files are")
    parser.add_argument("--module", help="module to import first, for tasks of your own")
    return parser.parse_args(arguments)


def _show_sequences(task: tasks.Task, size: int, number: int) -> None:
    for line in task.lines(task.samples("test", size, number)):
        print(line)


def _list_datasets() -> None:
    for builder in _BUILDERS:
        for config in builder.BUILDER_CONFIGS:
            name = f"{builder.name}/{config.name}"
            print(f"{name:<42} {config.description}")


def _prepare_all(options: argparse.Namespace) -> int:
    names = names_of_configs(options.prepare.split(","))
    # Every dataset gets its turn, also after one that cannot be had.
    prepared = [_prepare(name, options.data_dir, options.manual_dir) for name in names]
    return 0 if all(prepared) else 1


def names_of_configs(names: list[str]) -> list[str]:
    """The names with their configs: of a dataset alone, and of all, every config there is."""
    if names == ["all"]:
        names = [builder.name for builder in _BUILDERS]
    configs = {builder.name: builder.BUILDER_CONFIGS for builder in _BUILDERS}
    full_names = [[f"{name}/{config.name}" for config in configs.get(name, ())] for name in names]
    return [each for name, full in zip(names, full_names, strict=True) for each in full or [name]]


def _prepare(name: str, data_dir: str | None, manual_dir: str | None) -> bool:
    """Prepares a dataset, or says why it cannot be."""
    try:
        builder = tfds.builder(name, data_dir=data_dir)
        builder.download_and_prepare(
            download_config=tfds.download.DownloadConfig(manual_dir=manual_dir)
        )
    except (CorpusError, ValueError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return False
    sizes = ", ".join(
        f"{split} {info.num_examples:,}" for split, info in builder.info.splits.items()
    )
    print(f"{name}: {sizes} in {builder.data_dir}")
    return True


if __name__ == "__main__":
    sys.exit(main())
