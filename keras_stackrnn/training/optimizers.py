"""A population's optimizers: every replica steps at its own rate, by gradients cut to size."""

import tensorflow as tf

from keras_stackrnn.training.population_state import State


def clipped(gradients, clip_norm: float | None, clip_value: float | None):
    """Each replica's gradient cut to size; one that is not finite, to nothing."""
    norm = tf.sqrt(tf.add_n([tf.reduce_sum(g * g, axis=[1, 2]) for g in gradients.values()]))
    finite = tf.math.is_finite(norm)[:, None, None]

    def clip(gradient):
        if clip_value is not None:
            gradient = tf.clip_by_value(gradient, -clip_value, clip_value)
        if clip_norm is not None:
            gradient *= (clip_norm / tf.maximum(norm, clip_norm))[:, None, None]
        return tf.where(finite, gradient, 0)

    return {name: clip(gradient) for name, gradient in gradients.items()}


def sgd(state: State, gradients, learning_rates) -> State:
    rates = learning_rates[:, None, None]
    weights = {name: state.weights[name] - rates * g for name, g in gradients.items()}
    return state._replace(weights=weights, ages=state.ages + 1)


def adam(state: State, gradients, learning_rates) -> State:
    """Adam (Kingma & Ba 2015) with its usual constants, each replica at its own age and rate."""
    ages = state.ages + 1
    mean_scale = (learning_rates / (1 - 0.9**ages))[:, None, None]
    square_scale = (1 / (1 - 0.999**ages))[:, None, None]
    weights, means, squares = {}, {}, {}
    for name, gradient in gradients.items():
        means[name] = 0.9 * state.means[name] + 0.1 * gradient
        squares[name] = 0.999 * state.squares[name] + 0.001 * gradient * gradient
        step = mean_scale * means[name] / (tf.sqrt(square_scale * squares[name]) + 1e-8)
        weights[name] = state.weights[name] - step
    return state._replace(weights=weights, means=means, squares=squares, ages=ages)


OPTIMIZERS = {"adam": adam, "sgd": sgd}
