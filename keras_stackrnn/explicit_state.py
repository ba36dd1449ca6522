"""A model's recurrent layers with their states as values: what one window leaves, the next takes.

A Keras layer keeps its states to itself (`stateful`) or gives them away with gradients to flow back
from them (`return_state`), and for a memory both are dear. Here no gradient leaves a window.
"""

import keras
import tensorflow as tf

from keras_stackrnn.layers import whole_sequences
from keras_stackrnn.models import NextSymbolModel


class ExplicitStateLayers:
    """Takes windows of tokens through the recurrent layers of a model.

    Args:
        model: A `NextSymbolModel`; its memories, if it has any, have an integer capacity.
    """

    def __init__(self, model: NextSymbolModel):
        if model.has_memory and model.capacity is None:
            raise ValueError(
                "States that are carried in one compiled program have one size: expected a model "
                "with an integer `capacity`, got None."
            )
        self._model = model
        self._cells = [layer.cell for layer in model.recurrent]
        self._loops = [
            keras.layers.RNN(cell, return_sequences=True, return_state=True)
            for cell in self._cells
            if not model.has_memory
        ]

    def initial_states(self, rows: int) -> list[list[tf.Tensor]]:
        """The states of each layer before the first symbol, for so many rows."""
        return [cell.get_initial_state(rows) for cell in self._cells]

    def read(self, sequences, states, training: bool):
        """Reads what the model embeds a window's tokens as.

        Args:
            sequences: `[rows, steps, features]`.
            states: Of each layer.
            training: Whether a backward pass follows.

        Returns:
            What the prediction is made from, `[rows, steps, units]`, and the states after it.
        """
        after = []
        for layer, layer_states in enumerate(states):
            sequences, layer_states = self._read_layer(layer, sequences, layer_states, training)
            after.append([tf.stop_gradient(state) for state in layer_states])
        return sequences, after

    def _read_layer(self, layer, sequences, states, training):
        if not self._loops:
            outputs, states, _ = whole_sequences.run(
                self._cells[layer],
                sequences,
                states,
                starts_empty=False,
                training=training,
                keep_state=True,
                differentiate_state=False,
            )
            return outputs, states
        outputs, *states = self._loops[layer](sequences, initial_state=states, training=training)
        return outputs, states
