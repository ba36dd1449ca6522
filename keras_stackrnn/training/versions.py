"""The versions that a run's numbers depend on."""

import importlib.metadata
import platform

import keras
import numpy as np
import tensorflow as tf

from keras_stackrnn import patterns


def versions() -> dict[str, str]:
    """Versions by the name of what has them."""
    return {
        "python": platform.python_version(),
        "keras_stackrnn": _own_version(),
        "patterns": patterns.VERSION,
        "keras": keras.__version__,
        "tensorflow": tf.__version__,
        "numpy": np.__version__,
    }


def _own_version() -> str:
    try:
        return importlib.metadata.version("keras-stackrnn")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
