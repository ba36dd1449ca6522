"""Centred training: what sigmoids say is learned from as if it lay around 0.

A sigmoid lies around 1/2. When a kernel that reads many of them learns, all it gives is shifted,
and the bias has to make up for that: a long narrow valley, which gradients go down slowly. In

    (sigmoids - 1/2) @ kernel + centred_bias

the two have little to do with each other (Schraudolph 1998, "Centering neural network gradient
factors"). It is the same network, with bias = centred_bias - 1/2 * sum(kernel): the optimizer alone
sees the centred bias.
"""

from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from keras_stackrnn.models import NextSymbolModel

_MIDDLE = 0.5

# Kernels that share the hidden units' bias. Others that read sigmoids have one of their own name.
_OF_HIDDEN_UNITS = ("recurrent_kernel", "memory_kernel")


def uncentred(weights: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """The weights of a population's networks, of those that its optimizer sees.

    A hidden unit needs no bias of its own: one symbol is read at a time, so its row of `kernel` is
    one. See `population_state.weight_shapes`.
    """

    return _moved(weights, -_MIDDLE)


def centred(weights: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """The inverse: what an optimizer sees of a network's weights."""
    return _moved(weights, _MIDDLE)


def _moved(weights, share):
    def part(name):
        return share * tf.reduce_sum(weights[name], axis=-1, keepdims=True)

    of_hidden = part("memory_kernel")
    if "recurrent_kernel" in weights:
        of_hidden += part("recurrent_kernel")
    return weights | {
        "kernel": weights["kernel"] + tf.linalg.matrix_transpose(of_hidden),
        "control_bias": weights["control_bias"] + part("control_kernel"),
        "output_bias": weights["output_bias"] + part("output_kernel"),
    }


class _Reader(NamedTuple):
    kernel: keras.Variable
    bias: keras.Variable  # of what the kernel gives
    middle: np.ndarray  # of each feature that the kernel reads


class Centring:
    """The kernels of a model that read sigmoids, and the biases that make up for these' middle.

    Of a GRU or an LSTM there are none: what it gives lies around 0 already. Nor are there of a
    second-order controller, whose hidden units are probabilities.

    Args:
        model: A model with biases.

    Attributes:
        outputs: The middle of each feature that the output layer reads.
    """

    def __init__(self, model: NextSymbolModel):
        self._readers = []
        self.outputs = np.zeros(model.output_layer.kernel.shape[0], np.float32)
        if model.kind in ("gru", "lstm", "second_order"):
            return
        inputs = np.zeros(model.recurrent[0].cell.kernel.shape[0], np.float32)
        for layer in model.recurrent:
            weights = {weight.name: weight for weight in layer.weights}
            self._readers.append(_Reader(weights["kernel"], weights["bias"], inputs))
            for name, kernel in weights.items():
                own_bias = name.removesuffix("_kernel") + "_bias"
                bias = "bias" if name in _OF_HIDDEN_UNITS else own_bias
                if name.endswith("_kernel") and bias in weights:
                    middle = np.full(kernel.shape[0], _MIDDLE, np.float32)
                    self._readers.append(_Reader(kernel, weights[bias], middle))
            # What follows the hidden units are context units, which are linear.
            inputs = np.zeros(layer.cell.output_size, np.float32)
            inputs[: layer.cell.units] = _MIDDLE
        self.outputs = inputs
        self._readers.append(_Reader(model.output_layer.kernel, model.output_layer.bias, inputs))

    def enter(self) -> None:
        """Makes the model's biases centred ones."""
        self._move_biases(1)

    def leave(self) -> None:
        """Makes centred biases the model's own again."""
        self._move_biases(-1)

    def gradients(self, gradients: list[tf.Tensor], variables: list) -> list[tf.Tensor]:
        """What these gradients of the model's variables are once the biases are centred."""
        places = {id(variable): place for place, variable in enumerate(variables)}
        centred = list(gradients)
        for kernel, bias, middle in self._readers:
            centred[places[id(kernel)]] -= middle[:, None] * gradients[places[id(bias)]]
        return centred

    def _move_biases(self, sign):
        for kernel, bias, middle in self._readers:
            bias.assign_add(sign * tf.linalg.matvec(kernel.value, middle, transpose_a=True))
