"""Learns a task, shows how far the algorithm carries, and leaves everything in a folder.

    python train.py --task=anbn
    python train.py --task=memorize --model=list --seed=7 --output_dir=runs/memorize-list
    python train.py --task=anbncn --model=lstm --units=100 --layers=2 --minutes=5
    python train.py --task=penn_treebank --manual_dir=DIR --model=lstm
    python train.py --task=text --train_file=FILE --level=char
    python train.py --task=recognition --train_file=FILE.tsv
    python train.py --task=mine --import=my_tasks.py
    python train.py --task=anbn --resume

What is not said comes from the task's recipe, in keras_stackrnn/training/recipes.py, or for text in
language_recipes.py beside it.
"""

import dataclasses
import sys
from collections.abc import Collection
from pathlib import Path

from absl import flags, logging

from keras_stackrnn.training import choices as what_there_is
from keras_stackrnn.training.checks import kind_of
from keras_stackrnn.training.config import TrainingConfig
from keras_stackrnn.training.configs import config_class
from keras_stackrnn.training.files import RunError
from keras_stackrnn.training.interrupts import InterruptedRunError
from keras_stackrnn.training.language_config import LanguageModelConfig
from keras_stackrnn.training.logs import LOGS
from keras_stackrnn.training.run import train
from keras_stackrnn.training.run_folder import read_config

# How the examples above call it, and what --help shows; --helpfull shows every flag.
CALLED = "python train.py"
HELP = {
    "What learns, and what": ("task", "model", "recipe", "units", "memories", "controller"),
    "Files and tasks of your own": (
        "train_file",
        "validation_file",
        "test_file",
        "level",
        "columns",
        "manual_dir",
        "import",
    ),
    "How long": ("restarts", "populations", "updates", "epochs", "minutes", "seed"),
    "How restarts differ": ("vary", "listening", "begin_with"),
    "Where": ("cluster", "output_dir", "resume", "overwrite", "log", "quiet"),
}

_DEFINE = {
    str: flags.DEFINE_string,
    int: flags.DEFINE_integer,
    float: flags.DEFINE_float,
    bool: flags.DEFINE_boolean,
}


def define_value_flags(values: flags.FlagValues, without: Collection[str] = ()) -> None:
    """Adds a flag for every value of a configuration but some."""
    for name, field in _fields().items():
        if name not in without:
            kind, _ = kind_of(field.type)
            _DEFINE[kind](_flag_of(name), None, field.metadata["help"], flag_values=values)


def given_values(values: flags.FlagValues, without: Collection[str] = ()) -> dict:
    """The values that the command line gives, of those flags."""
    names = [name for name in _fields() if name not in without]
    given = [name for name in names if values[_flag_of(name)].present]
    return {name: values[_flag_of(name)].value for name in given}


def define_flags(values: flags.FlagValues) -> None:
    """Adds a flag for every value of a configuration, and those for the folder and the log."""
    define_value_flags(values)
    flags.DEFINE_boolean(
        "resume",
        False,
        "Go on with the run in --output_dir from its last checkpoint.",
        flag_values=values,
    )
    flags.DEFINE_enum(
        "log",
        "text",
        list(LOGS),
        "How the run tells how it goes: in text, in lines of json for machines, or not at all.",
        flag_values=values,
    )
    flags.DEFINE_boolean("quiet", False, "The same as --log=none.", flag_values=values)
    flags.DEFINE_boolean(
        "overwrite",
        False,
        "Replace the run in --output_dir, if there is one.",
        flag_values=values,
    )


def choices() -> str:
    """What `--help` lists after the flags."""
    return what_there_is.listed()


def _fields() -> dict[str, dataclasses.Field]:
    """The values of both kinds of configuration; where both have one, the help is for both."""
    fields = {field.name: field for field in dataclasses.fields(LanguageModelConfig)}
    return fields | {field.name: field for field in dataclasses.fields(TrainingConfig)}


def _flag_of(name: str) -> str:
    is_ours = name in TrainingConfig.__dataclass_fields__
    return (TrainingConfig if is_ours else LanguageModelConfig).flag_of(name)


def config_from_flags(values: flags.FlagValues) -> TrainingConfig | LanguageModelConfig:
    """The configuration that the command line asks for; ValueError or RunError says what is wrong
    with it."""
    given = given_values(values)
    if values.resume and values.overwrite:
        raise ValueError("--resume goes on with a run and --overwrite replaces it, got both.")
    if "task" not in given and not (values.resume and "output_dir" in given):
        raise ValueError(
            "--task is missing: give the name of one, as in --task=anbn; --help lists them."
        )
    if not values.resume:
        return config_class(given["task"]).from_recipe(**given)
    given.setdefault("output_dir", f"runs/{given.get('task')}")
    config = read_config(Path(given["output_dir"]))
    for name in given.keys() - config.to_json().keys():
        raise ValueError(f"The run in {given['output_dir']} has no value {name!r}.")
    return dataclasses.replace(config, **given)


def main(arguments: list[str], values: flags.FlagValues = flags.FLAGS) -> None:
    """Trains as the flags say; a fault ends the program with one sentence."""
    logging.set_verbosity(logging.WARNING)
    try:
        if len(arguments) > 1:
            raise ValueError(f"Everything is a flag, got {arguments[1]!r}.")
        config = config_from_flags(values)
    except (RunError, ValueError) as error:
        sys.exit(str(error))
    try:
        log = "none" if values.quiet else values.log
        train(config, resume=values.resume, overwrite=values.overwrite, log=log)
    except InterruptedRunError as interruption:
        print(interruption, file=sys.stderr)
        # What a shell expects of a command that a signal has ended.
        sys.exit(128 + interruption.signal_number)
    except RunError as error:
        sys.exit(str(error))
