"""Networks for tests of extraction: one that was trained, and counters whose weights are set."""

import functools

import keras
import numpy as np
from absl import flags
from training_case import REPOSITORY

from keras_stackrnn.extract import __main__ as command
from keras_stackrnn.models import NextSymbolModel

ANB2N = REPOSITORY / "results/anb2n.keras"


@functools.cache
def trained() -> NextSymbolModel:
    """Two stacks that learned a^n b^2n."""
    return keras.models.load_model(ANB2N, compile=False)


def counter(kind: str = "stack", **changes) -> NextSymbolModel:
    """A network that knows a^n b^n: marks are added at each a, and taken away at each b.

    Its hidden units: whether an a is read; whether a b is read and nothing is left below; and 1.
    """
    options = {"memories": 1, "rounding": True, "task": "anbn", **changes}
    model = NextSymbolModel(kind, "ab", 3, **options)
    [kernel, *recurrent, memory, decisions, values, outputs] = map(
        np.zeros_like, model.get_weights()
    )
    kernel[:] = [[20, -60, 20], [-20, 0, 20]]
    memory[values.shape[1], 1] = -20  # the first number of the element beside the head
    decisions[0, 0], decisions[2, 1] = 20, 10  # the first action at an a, or else the second
    values[2] = 20
    outputs[:] = [[0, 0], [20, 0], [0, 10]]
    model.set_weights([kernel, *recurrent, memory, decisions, values, outputs])
    return model


def run_extract(*arguments) -> None:
    """Runs the command."""
    values = flags.FlagValues()
    command.define_flags(values)
    command.main(values(["extract", *arguments]), values)
