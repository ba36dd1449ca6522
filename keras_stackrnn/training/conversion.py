"""From a replica of a population to a Keras model, and back."""

import numpy as np

from keras_stackrnn.models import SequenceModel, has_memory
from keras_stackrnn.task_models import of_form
from keras_stackrnn.training.architecture import Architecture
from keras_stackrnn.training.centring import centred, uncentred
from keras_stackrnn.training.population_state import joined, layers_of

_BIASES = ("bias", "recurrent_bias")


def to_keras(architecture: Architecture, weights, task, rounding: bool = False) -> SequenceModel:
    """One replica's weights as a Keras model, its memory unbounded."""
    unbounded = {"capacity": None, "rounding": rounding} if has_memory(architecture.kind) else {}
    model = architecture.model(**task.of_model(), model_class=of_form(task.form), **unbounded)
    if architecture.centred:
        weights = uncentred(weights)
    convert = {1: _first_order_to_keras, 2: _second_order_to_keras}[architecture.decider.order]
    for layer, of_layer in zip(model.recurrent, layers_of(architecture, weights), strict=True):
        convert(architecture, of_layer, layer.cell)
    # The layers have one column for each feature that is given, biases are vectors.
    model.output_layer.kernel.assign(np.transpose(weights["output_kernel"]))
    if architecture.use_bias:
        model.output_layer.bias.assign(np.transpose(weights["output_bias"])[0])
    return model


def from_keras(architecture: Architecture, model: SequenceModel) -> dict[str, np.ndarray]:
    """The inverse of `to_keras`: a model's weights as those of a replica."""
    of_order = {1: _first_order_from_keras, 2: _second_order_from_keras}
    convert = of_order[architecture.decider.order]
    weights = joined([convert(architecture, layer.cell) for layer in model.recurrent])
    weights["output_kernel"] = model.output_layer.kernel.numpy().T
    if architecture.use_bias:
        weights["output_bias"] = model.output_layer.bias.numpy()[:, None]
    if architecture.centred:
        weights = centred(weights)
    return {name: np.asarray(weight, np.float32) for name, weight in weights.items()}


def _first_order_to_keras(architecture, weights, cell):
    weights = {name: np.transpose(weight) for name, weight in weights.items()}
    cell.kernel.assign(np.transpose(weights["kernel"]))
    if "recurrent_kernel" in weights:
        cell.recurrent_kernel.assign(weights["recurrent_kernel"])
    if "bias" in weights:
        biases = [weights[name] for name in _BIASES if name in weights]
        cell.bias.assign(np.reshape(biases, cell.bias.shape))
    if architecture.memories:
        cell.memory_kernel.assign(weights["memory_kernel"])
        actions, write = _actions_and_value(architecture, weights["control_kernel"])
        cell.action_kernel.assign(actions)
        cell.value_kernel.assign(write)
    if "control_bias" in weights:
        actions, write = _actions_and_value(architecture, weights["control_bias"])
        cell.action_bias.assign(actions[0])
        cell.value_bias.assign(write[0])


def _first_order_from_keras(architecture, cell):
    weights = {"kernel": cell.kernel.numpy()}
    if architecture.memories:
        weights["memory_kernel"] = cell.memory_kernel.numpy().T
        controls = _relative(cell, cell.action_kernel.numpy(), cell.value_kernel.numpy())
        weights["control_kernel"] = controls.T
    if architecture.use_recurrent_kernel:
        weights["recurrent_kernel"] = cell.recurrent_kernel.numpy().T
    if architecture.use_bias and architecture.memories:
        biases = _relative(cell, cell.action_bias.numpy()[None], cell.value_bias.numpy()[None])
        weights["control_bias"] = biases.T
    if architecture.centred:
        weights["kernel"] = weights["kernel"] + cell.bias.numpy()
    elif architecture.use_bias:
        biases = np.reshape(cell.bias.numpy(), (-1, weights["kernel"].shape[1], 1))
        weights |= dict(zip(_BIASES, biases, strict=False))
    return weights


def _second_order_to_keras(architecture, weights, cell):
    # [features * numbers, pairs] as [features, pairs, numbers].
    kernel = np.reshape(weights["kernel"], (cell.features, architecture.logits, -1))
    kernel = np.transpose(kernel, (0, 2, 1))
    hidden, controls = np.split(kernel, [architecture.units], axis=-1)
    cell.kernel.assign(hidden)
    if architecture.memories:
        actions, write = _actions_and_value(architecture, controls)
        cell.action_kernel.assign(actions)
        if not architecture.writes_hidden:
            cell.value_kernel.assign(write)


def _second_order_from_keras(architecture, cell):
    kernel = cell.kernel.numpy()
    if architecture.memories:
        written = () if architecture.writes_hidden else (cell.value_kernel.numpy(),)
        controls = _relative(cell, cell.action_kernel.numpy(), *written)
        kernel = np.concatenate([kernel, controls], axis=-1)
    kernel = np.transpose(kernel, (0, 2, 1))
    return {"kernel": np.reshape(kernel, (-1, kernel.shape[-1]))}


def _actions_and_value(architecture, controls):
    """The columns of all actions, and those of the elements written."""
    relative = (len(architecture.layout.actions) - 1) * architecture.memories
    relative, write = np.split(controls, [relative], axis=-1)
    # The kernels take the actions' logits relative to the last action's: here that one is 0.
    last = np.zeros_like(relative[..., : architecture.memories])
    return np.concatenate([relative, last], axis=-1), write


def _relative(cell, actions, *value):
    """The inverse: the last action's logits are what the others are relative to."""
    parts = np.split(actions, len(cell.actions), axis=-1)
    return np.concatenate([*(part - parts[-1] for part in parts[:-1]), *value], axis=-1)
