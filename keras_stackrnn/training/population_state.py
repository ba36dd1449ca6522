"""All that lasts of a population beyond an episode, and how replicas come and go in it.

A leading axis holds the replicas.
"""

import dataclasses
from typing import NamedTuple

import tensorflow as tf

from keras_stackrnn.training.architecture import Architecture

# What reads the last layer's hidden units; all other weights are a layer's.
_OUTPUTS = ("output_kernel", "output_bias")


def weight_shapes(architecture: Architecture) -> dict[str, tuple[int, int]]:
    """The shapes of one replica's weights, as the kernels take them.

    The first layer's have their own names, those of layer 1 a `_1` behind them, and so on.
    """
    of_order = {1: _first_order_shapes, 2: _second_order_shapes}[architecture.decider.order]
    shapes = {}
    for layer in range(architecture.layers):
        features = architecture.units if layer else architecture.symbols
        for name, shape in of_order(architecture, features).items():
            shapes[_name_in(layer, name)] = shape
    shapes["output_kernel"] = (architecture.answers, architecture.units)
    if architecture.use_bias:
        shapes["output_bias"] = (architecture.answers, 1)
    return shapes


def layers_of(architecture: Architecture, weights: dict) -> list[dict]:
    """The weights of each layer, by the names that the first one's have."""
    if architecture.layers == 1:
        return [{name: weight for name, weight in weights.items() if name not in _OUTPUTS}]
    names = weight_shapes(dataclasses.replace(architecture, layers=1)).keys() - _OUTPUTS
    return [
        {name: weights[_name_in(layer, name)] for name in names}
        for layer in range(architecture.layers)
    ]


def joined(layers: list[dict]) -> dict:
    """The inverse of `layers_of`."""
    return {
        _name_in(layer, name): weight
        for layer, weights in enumerate(layers)
        for name, weight in weights.items()
    }


def _name_in(layer, name):
    return f"{name}_{layer}" if layer else name


def _first_order_shapes(architecture, features):
    units, controller = architecture.units, architecture.decider
    gates = units * controller.gates
    shapes = {"kernel": (features, gates)}
    if architecture.memories:
        shapes["memory_kernel"] = (gates, _numbers_read(architecture))
        shapes["control_kernel"] = (architecture.controls, units)
    if architecture.use_recurrent_kernel:
        shapes["recurrent_kernel"] = (gates, units)
    if architecture.use_bias and not architecture.centred:
        # Centred, each symbol's row of the first kernel is one: see centring.py.
        shapes["bias"] = (gates, 1)
        if controller.biases > 1:
            shapes["recurrent_bias"] = (gates, 1)
    if architecture.use_bias and architecture.memories:
        shapes["control_bias"] = (architecture.controls, 1)
    return shapes


def _second_order_shapes(architecture, features):
    pairs = (architecture.units + 1) * (_numbers_read(architecture) + 1)
    return {"kernel": (features * architecture.logits, pairs)}


def _numbers_read(architecture):
    return architecture.read_depth * architecture.element_size * architecture.memories


class State(NamedTuple):
    """All that lasts beyond an episode. `means` and `squares` are Adam's, `ages` count updates."""

    weights: dict[str, tf.Tensor]
    means: dict[str, tf.Tensor]
    squares: dict[str, tf.Tensor]
    ages: tf.Tensor


# What a hidden unit that listens to one symbol is given if it is read, and if another one is.
_LISTENS = 3.0


def initial_weights(
    architecture: Architecture, seed: int, scale: float, listening: bool = False
) -> dict[str, tf.Tensor]:
    """One replica's weights, normally distributed, and its biases, 0 but for what a controller
    begins with.

    With `listening`, each hidden unit is on for one symbol and off for all others, to begin with.
    """

    def fresh(name, shape, number):
        if name.split("_")[0] == "bias":
            initial = architecture.decider.initial_bias(tf.zeros_initializer())
            return tf.reshape(initial(shape[:1], tf.float32), shape)
        if "bias" in name:
            return tf.zeros(shape)
        return scale * tf.random.stateless_normal(shape, [seed, number])

    weights = {
        name: fresh(name, shape, i)
        for i, (name, shape) in enumerate(weight_shapes(architecture).items())
    }
    if listening:
        symbols, columns = weights["kernel"].shape
        heard = tf.one_hot(tf.range(columns) % symbols, symbols, axis=0)
        weights["kernel"] += _LISTENS * (2 * heard - 1)
    return weights


def new_state(replicas: list[dict[str, tf.Tensor]]) -> State:
    """The state with these weights, before anything was learned."""
    weights = {name: tf.stack([replica[name] for replica in replicas]) for name in replicas[0]}
    zeros = {name: tf.zeros_like(weight) for name, weight in weights.items()}
    return State(weights, zeros, dict(zeros), tf.zeros([len(replicas)]))


def replace(state: State, replica: int, weights: dict[str, tf.Tensor]) -> State:
    """The state with a fresh replica in the place of another."""

    def cleared(tensors):
        return {k: _with_row(v, replica, tf.zeros_like(v[0])) for k, v in tensors.items()}

    return with_weights(state, replica, weights)._replace(
        means=cleared(state.means),
        squares=cleared(state.squares),
        ages=_with_row(state.ages, replica, 0.0),
    )


def take(state: State, sources: list[int]) -> State:
    """The state with replica `sources[i]` in place i."""
    return tf.nest.map_structure(lambda tensor: tf.gather(tensor, sources), state)


def with_weights(state: State, replica: int, weights: dict[str, tf.Tensor]) -> State:
    """The state with other weights for one replica."""
    return state._replace(
        weights={k: _with_row(v, replica, weights[k]) for k, v in state.weights.items()}
    )


def _with_row(tensor, place, row):
    return tf.tensor_scatter_nd_update(tensor, [[place]], [row])
