"""From a replica of a population to a Keras model, and back."""

import numpy as np

from keras_stackrnn.models import SequenceModel
from keras_stackrnn.task_models import of_form
from keras_stackrnn.training.architecture import Architecture
from keras_stackrnn.training.centring import centred, uncentred


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


def from_keras(architecture: Architecture, model: SequenceModel) -> dict[str, np.ndarray]:
    """The inverse of `to_keras`: a model's weights as those of a replica."""
    cell = model.recurrent[0].cell

    def relative(actions, value):
        # The last action's logits are what the others are relative to.
        parts = np.split(actions, len(cell.actions), axis=-1)
        first = [part - parts[-1] for part in parts[:-1]]
        return np.concatenate([*first, value], axis=-1).T

    weights = {
        "kernel": cell.kernel.numpy(),
        "memory_kernel": cell.memory_kernel.numpy().T,
        "control_kernel": relative(cell.action_kernel.numpy(), cell.value_kernel.numpy()),
        "output_kernel": model.output_layer.kernel.numpy().T,
    }
    if architecture.use_recurrent_kernel:
        weights["recurrent_kernel"] = cell.recurrent_kernel.numpy().T
    if architecture.use_bias:
        biases = relative(cell.action_bias.numpy()[None], cell.value_bias.numpy()[None])
        weights["control_bias"] = biases
        weights["output_bias"] = model.output_layer.bias.numpy()[:, None]
        weights["kernel"] = weights["kernel"] + cell.bias.numpy()
        weights = centred(weights)
    return {name: np.asarray(weight, np.float32) for name, weight in weights.items()}
