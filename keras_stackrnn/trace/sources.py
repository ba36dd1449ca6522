"""What a command line may mean by a model, and how each of them is traced."""

import re
from pathlib import Path

from keras_stackrnn import model_files
from keras_stackrnn import trace as tracing
from keras_stackrnn.trace.exported import latest_version, trace_saved_model, trace_server
from keras_stackrnn.trace.record import Trace


def trace_source(source: str, text: str, **options) -> Trace:
    """Traces a text with the model a source names.

    Args:
        source: A training run's folder, a `.keras` file, `gallery:NAME`, the folder of a SavedModel
            or of its versions, or `host:port/model` of a server.
        text: The text.
        **options: The arguments of `keras_stackrnn.trace`; what is exported takes only `depth` and
            `deterministic`.
    """
    if (file := model_files.find(source)) is not None:
        return tracing.trace(model_files.load_file(file), text, **options)
    path = Path(source)
    if path.is_dir():
        if latest_version(path) is None:
            raise ValueError(
                f"There is no model in {source!r}: expected {model_files.MODEL}, or a SavedModel "
                "or versions of it."
            )
        return trace_saved_model(path, text, **_for_exported(source, options))
    server = re.fullmatch(r"(.+:\d+)/([^/]+)", source)
    if server and not path.exists():
        return trace_server(*server.groups(), text, **_for_exported(source, options))
    raise ValueError(
        f"There is no model {source!r}: expected {', '.join(model_files.SOURCES)}, the folder of a "
        "SavedModel, or host:port/model."
    )


def _for_exported(source: str, options: dict) -> dict:
    for name in ("vocabulary", "rounding", "force"):
        if options.pop(name, None) not in (None, {}):
            raise ValueError(
                f"What is exported stays as it is: leave out {name}, or trace the model in Keras' "
                f"own file instead of {source!r}."
            )
    return options
