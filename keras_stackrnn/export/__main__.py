"""Exports a trained model once more, soft or rounded, as the next version beside the others.

    python -m keras_stackrnn.export --model=runs/anbn/model.keras \\
        --base_path=runs/anbn/serving/anbn --norounding

A label for each version (serving/tf_serving/models.config) then lets clients choose between them.
"""

import sys

from absl import app, flags, logging

from keras_stackrnn import command_line, model_files
from keras_stackrnn.export.saved_model import export


def define_flags(values: flags.FlagValues = flags.FLAGS) -> None:
    """Adds the command's flags."""
    of = {"flag_values": values}
    flags.DEFINE_string("model", None, "A run's folder, a .keras file or gallery:NAME.", **of)
    flags.DEFINE_string("base_path", None, "The folder of all versions.", **of)
    flags.DEFINE_boolean("rounding", None, "Most probable action alone, or a mixture.", **of)
    flags.DEFINE_integer("version", None, "Its number; one more than the latest.", **of)
    flags.DEFINE_integer("max_batch", None, "Most rows of a request; 4,096.", **of)
    flags.DEFINE_integer("max_length", None, "Most symbols of a row; 65,536.", **of)
    flags.DEFINE_integer("max_symbols", None, "Most symbols of a request; 262,144.", **of)
    flags.mark_flags_as_required(["model", "base_path"], flag_values=values)


def main(argv: list[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"Unexpected argument {argv[1]!r}: everything is a flag.")
    logging.set_verbosity(logging.WARNING)
    values = flags.FLAGS
    try:
        model = model_files.load(values.model)
        limits = {name: values[name].value for name in ("max_batch", "max_length", "max_symbols")}
        print(export(model, values.base_path, values.rounding, values.version, **limits))
    except (ValueError, OSError) as error:
        sys.exit(f"Not exported: {error}")


if __name__ == "__main__":
    command_line.run(sys.modules[__name__])
