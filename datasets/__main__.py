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

import sys

import tensorflow_datasets as tfds
from absl import flags, logging

from keras_stackrnn import command_line, tasks
from keras_stackrnn.datasets import (
    algorithmic_patterns,
    chomsky,
    marked_languages,
    penn_treebank,
    recognition_languages,
    small_languages,
)
from keras_stackrnn.datasets.penn_treebank.source import CorpusError
from keras_stackrnn.tasks.imports import HELP as IMPORT_HELP
from keras_stackrnn.tasks.imports import import_tasks

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


def define_flags(values: flags.FlagValues = flags.FLAGS) -> None:
    """Adds the command's flags."""
    of = {"flag_values": values}
    flags.DEFINE_string("show", None, "Show sequences of a task.", **of)
    flags.DEFINE_integer("n", 5, "The n, or size, of the sequences to show.", **of)
    flags.DEFINE_integer("examples", 5, "Number of sequences to show.", **of)
    flags.DEFINE_list("prepare", [], "Datasets, set apart by commas, or all.", **of)
    flags.DEFINE_string("data_dir", None, "Where TFDS keeps its datasets.", **of)
    flags.DEFINE_string("manual_dir", None, "Where Penn Treebank's files are.", **of)
    flags.DEFINE_string("import", None, IMPORT_HELP, **of)
    flags.DEFINE_alias("module", "import", **of)


def main(arguments: list[str], values: flags.FlagValues = flags.FLAGS) -> int:
    """Does what the command line says and returns the exit code."""
    logging.set_verbosity(logging.WARNING)
    tfds.disable_progress_bar()
    try:
        if len(arguments) > 1:
            raise ValueError(f"Everything is a flag, got {arguments[1]!r}.")
        import_tasks(values["import"].value)
        if values.show:
            _show_sequences(tasks.get(values.show), values.n, values.examples)
        elif values.prepare:
            return _prepare_all(values.prepare, values.data_dir, values.manual_dir)
        else:
            _list_datasets()
    except (ImportError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _show_sequences(task: tasks.Task, size: int, number: int) -> None:
    for line in task.lines(task.samples("test", size, number)):
        print(line)


def _list_datasets() -> None:
    for builder in _BUILDERS:
        for config in builder.BUILDER_CONFIGS:
            name = f"{builder.name}/{config.name}"
            print(f"{name:<42} {config.description}")


def _prepare_all(datasets: list[str], data_dir: str | None, manual_dir: str | None) -> int:
    # Every dataset gets its turn, also after one that cannot be had.
    prepared = [_prepare(name, data_dir, manual_dir) for name in names_of_configs(datasets)]
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
    command_line.run(sys.modules[__name__])
