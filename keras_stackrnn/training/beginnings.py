"""Where restarts begin if not at random: at the solution of another task, a lesson before."""

import numpy as np
import tensorflow as tf

from keras_stackrnn import model_files
from keras_stackrnn.models import SequenceModel
from keras_stackrnn.training.architecture import Architecture
from keras_stackrnn.training.conversion import from_keras, to_keras
from keras_stackrnn.training.population_state import weight_shapes


def weights_to_begin_with(
    begin_with: str, architecture: Architecture, task
) -> dict[str, tf.Tensor]:
    """The weights of a trained model as those of a replica; ValueError says why it cannot be."""
    model = model_files.load(begin_with)
    replica = {name: np.zeros(shape) for name, shape in weight_shapes(architecture).items()}
    wanted = to_keras(architecture, replica, task)
    for what, here, there in (
        ("reads the symbols", wanted.vocabulary, model.vocabulary),
        ("answers with", list(wanted.answers), list(model.answers)),
        ("has", _described(wanted), _described(model)),
    ):
        if here != there:
            raise ValueError(
                f"A search on {task.name!r} cannot begin with {begin_with!r}, which {what} "
                f"{there}: expected {here}."
            )
    return {name: tf.constant(weight) for name, weight in from_keras(architecture, model).items()}


def _described(model: SequenceModel) -> str:
    values = {"model": model.kind, "units": model.units, "memories": model.memories}
    values["layers"] = model.num_layers
    values |= {"read_depth": model.read_depth, "element_size": model.element_size}
    values |= {"no_op": model.no_op, "controller": model.controller, "biases": model.use_bias}
    values["recurrent_kernel"] = model.use_recurrent_kernel
    values["writes_hidden"] = model.writes_hidden
    return ", ".join(f"{name}={value}" for name, value in values.items())
