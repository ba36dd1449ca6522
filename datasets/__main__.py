"""Prepares the datasets and shows what is in them.

    python -m keras_stackrnn.datasets
    python -m keras_stackrnn.datasets --show=anbn --examples=3
    python -m keras_stackrnn.datasets --prepare=algorithmic_patterns/anbn,penn_treebank/word
    python -m keras_stackrnn.datasets --prepare=all --manual_dir=DIR

Without an option it lists the datasets. Predictable symbols of sequences are in square brackets.
"""

import argparse
import importlib
import sys

import tensorflow_datasets as tfds
from absl import logging

from keras_stackrnn import patterns
from keras_stackrnn.datasets import algorithmic_patterns, penn_treebank
from keras_stackrnn.datasets.penn_treebank.source import CorpusError


def main(arguments: list[str] | None = None) -> int:
    """Does what the command line says and returns the exit code."""
    options = _parse(arguments)
    logging.set_verbosity(logging.WARNING)
    tfds.disable_progress_bar()
    try:
        if options.module:
            importlib.import_module(options.module)
        if options.show:
            _show_sequences(patterns.get(options.show), options.n, options.examples)
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
    parser.add_argument("--show", metavar="PATTERN", help="show sequences of a pattern")
    parser.add_argument("--n", type=int, default=5, help="the n of the sequences to show")
    parser.add_argument("--examples", type=int, default=5, help="number of sequences to show")
    parser.add_argument("--prepare", metavar="NAMES", help="datasets, set apart by commas, or all")
    parser.add_argument("--data_dir", metavar="DIR", help="where TFDS keeps its datasets")
    parser.add_argument("--manual_dir", metavar="DIR", help="where Penn Treebank's files are")
    parser.add_argument("--module", help="module to import first, for patterns of your own")
    return parser.parse_args(arguments)


def _show_sequences(pattern: patterns.Pattern, n: int, number: int) -> None:
    for index in range(number):
        print(pattern.sample(n, "test", index).marked())


def _list_datasets() -> None:
    for name in patterns.names():
        print(f"{algorithmic_patterns.Builder.name}/{name:<16} {patterns.get(name).example}")
    for config in penn_treebank.Builder.BUILDER_CONFIGS:
        print(f"{penn_treebank.Builder.name}/{config.name:<23} {config.description}")


def _prepare_all(options: argparse.Namespace) -> int:
    names = options.prepare.split(",")
    if names == ["all"]:
        names = [f"{algorithmic_patterns.Builder.name}/{name}" for name in patterns.names()]
        names += [
            f"{penn_treebank.Builder.name}/{c.name}" for c in penn_treebank.Builder.BUILDER_CONFIGS
        ]
    # Every dataset gets its turn, also after one that cannot be had.
    prepared = [_prepare(name, options.data_dir, options.manual_dir) for name in names]
    return 0 if all(prepared) else 1


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
