"""Makes `RNN.reset_state` empty our memories.

Keras creates a stateful layer's states from its cell's `get_initial_state`, yet resets them to
zeros; and on a list of cells it fails. To our cells zero is an element and not an empty slot, so
a plain `keras.layers.RNN(StackCell(...), stateful=True)` would start its second sequence with full
stacks. Layers without one of our cells keep Keras' own behaviour.
"""

import keras
from keras import tree

from keras_stackrnn.layers.memory_cell import MemoryCell

_keras_reset_state = keras.layers.RNN.reset_state


def _reset_state(self):
    cells = getattr(self.cell, "cells", [self.cell])
    if self.states is None or not any(isinstance(cell, MemoryCell) for cell in cells):
        return _keras_reset_state(self)
    batch_size = tree.flatten(self.states)[0].shape[0]
    initial = tree.flatten(self.get_initial_state(batch_size))
    for variable, value in zip(tree.flatten(self.states), initial, strict=True):
        variable.assign(value)


def install() -> None:
    keras.layers.RNN.reset_state = _reset_state
