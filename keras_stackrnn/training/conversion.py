"""From a replica of a population to a Keras model."""

import numpy as np

from keras_stackrnn.models import SequenceModel
from keras_stackrnn.task_models import of_form
from keras_stackrnn.training.architecture import Architecture
from keras_stackrnn.training.centring import uncentred


def to_keras(architecture: Architecture, weights, task, rounding: bool = False) -> SequenceModel:
    """One replica's weights as a Keras model, its memory unbounded."""
    model = architecture.model(
        **task.of_model(), model_class=of_form(task.form), capacity=None, rounding=rounding
    )
    if architecture.use_bias:
        weights = uncentred(weights)
    # The layers have one column for each feature that is given, biases are vectors.
    weights = {name: np.transpose(weight) for name, weight in weights.items()}

    def of_actions_and_value(controls):
        elements = architecture.element_size * architecture.memories
        relative, write = np.split(controls, [-elements], axis=1)
        # The kernels take the actions' logits relative to the last action's: here that one is 0.
        last = np.zeros_like(relative[:, : architecture.memories])
        return np.concatenate([relative, last], axis=1), write

    cell = model.recurrent[0].cell
    actions, write = of_actions_and_value(weights["control_kernel"])
    cell.kernel.assign(np.transpose(weights["kernel"]))
    cell.memory_kernel.assign(weights["memory_kernel"])
    if architecture.use_recurrent_kernel:
        cell.recurrent_kernel.assign(weights["recurrent_kernel"])
    cell.action_kernel.assign(actions)
    cell.value_kernel.assign(write)
    model.output_layer.kernel.assign(weights["output_kernel"])
    if architecture.use_bias:
        actions, write = of_actions_and_value(weights["control_bias"])
        cell.action_bias.assign(actions[0])
        cell.value_bias.assign(write[0])
        model.output_layer.bias.assign(weights["output_bias"][0])
    return model
