"""The cells and the whole-sequence layers, as Keras users meet them."""

import functools
from collections.abc import Callable

from keras_stackrnn import memories
from keras_stackrnn.layers.list_rnn import ListRNN
from keras_stackrnn.layers.memory_rnn import MemoryRNN
from keras_stackrnn.layers.stack_rnn import StackRNN

_OWN = {layer.CELL.KIND: layer for layer in (StackRNN, ListRNN)}


def layer_of(kind: memories.MemoryKind | str) -> Callable[..., MemoryRNN]:
    """Makes layers of a kind of memory: of its own class, or else `MemoryRNN`."""
    kind = memories.get(kind)
    return _OWN.get(kind) or functools.partial(MemoryRNN, kind=kind)
