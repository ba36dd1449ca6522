"""Recurrent networks with a memory of their own, for Keras."""

from keras_stackrnn import reset_state as _reset_state
from keras_stackrnn import trace
from keras_stackrnn.list_cell import ListCell
from keras_stackrnn.list_rnn import ListRNN
from keras_stackrnn.models import NextSymbolModel
from keras_stackrnn.srcn_cell import SRCNCell
from keras_stackrnn.stack_cell import StackCell
from keras_stackrnn.stack_rnn import StackRNN

_reset_state.install()

__all__ = ["ListCell", "ListRNN", "NextSymbolModel", "SRCNCell", "StackCell", "StackRNN", "trace"]
