"""All that a training of a Keras model changes: how it begins, and as arrays for a checkpoint."""

import keras
import numpy as np
import tensorflow as tf

_OPTIMIZERS = {"adam": keras.optimizers.Adam, "sgd": keras.optimizers.SGD}
_INITIALIZERS = {"recurrent_kernel": "Orthogonal", "embeddings": "RandomUniform"}


def initial_weights(model: keras.Model, seed: int) -> list[np.ndarray]:
    """Keras' usual initial weights, but all from one seed."""

    def fresh(number, weight, usual):
        if weight.name.endswith("bias"):
            return usual
        kind = getattr(keras.initializers, _INITIALIZERS.get(weight.name, "GlorotUniform"))
        return keras.ops.convert_to_numpy(kind(seed=seed + number)(weight.shape))

    pairs = zip(model.weights, model.get_weights(), strict=True)
    return [fresh(number, *pair) for number, pair in enumerate(pairs)]


def optimizer_for(
    model: keras.Model,
    name: str,
    learning_rate: float,
    clip_norm: float | None,
    clip_value: float | None = None,
) -> keras.optimizers.Optimizer:
    """An optimizer with all its variables there from the start."""
    optimizer = _OPTIMIZERS[name](learning_rate, global_clipnorm=clip_norm, clipvalue=clip_value)
    optimizer.build(model.trainable_variables)
    return optimizer


def to_arrays(variables: list, states) -> list[np.ndarray]:
    """Variables, and after them a nest of states."""
    return [keras.ops.convert_to_numpy(each) for each in (*variables, *tf.nest.flatten(states))]


def assign(variables: list, states, arrays: list[np.ndarray]):
    """Gives variables the values of `to_arrays`, and returns its states, nested like these."""
    for variable, array in zip(variables, arrays, strict=False):
        variable.assign(array)
    own = [tf.constant(array) for array in arrays[len(variables) :]]
    return tf.nest.pack_sequence_as(states, own)


def numbered(groups: dict[str, list[np.ndarray]]) -> dict[str, np.ndarray]:
    """Lists of arrays under a name for each array: `best/0`, `best/1`, …"""
    return {f"{name}/{i}": a for name, group in groups.items() for i, a in enumerate(group)}


def group_of(arrays: dict[str, np.ndarray], name: str) -> list[np.ndarray]:
    """The list that `numbered` was given under a name."""
    size = sum(key.startswith(f"{name}/") for key in arrays)
    return [arrays[f"{name}/{i}"] for i in range(size)]
