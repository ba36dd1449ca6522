"""Recurrent networks with a memory of their own, for Keras."""

from keras_stackrnn import memories, trace
from keras_stackrnn.layers import reset_state as _reset_state
from keras_stackrnn.layers.list_cell import ListCell
from keras_stackrnn.layers.list_rnn import ListRNN
from keras_stackrnn.layers.memory_cell import MemoryCell
from keras_stackrnn.layers.memory_rnn import MemoryRNN
from keras_stackrnn.layers.srcn_cell import SRCNCell
from keras_stackrnn.layers.stack_cell import StackCell
from keras_stackrnn.layers.stack_rnn import StackRNN
from keras_stackrnn.models import NextSymbolModel

_reset_state.install()

__all__ = [
    "ListCell",
    "ListRNN",
    "MemoryCell",
    "MemoryRNN",
    "NextSymbolModel",
    "SRCNCell",
    "StackCell",
    "StackRNN",
    "memories",
    "trace",
]
