"""Recurrent networks with a memory of their own, for Keras."""

from keras_stackrnn import reset_state as _reset_state
from keras_stackrnn.list_cell import ListCell
from keras_stackrnn.stack_cell import StackCell

_reset_state.install()

__all__ = ["ListCell", "StackCell"]
