"""The cells and the whole-sequence layers, as Keras users meet them."""

import functools
from collections.abc import Callable

from keras_stackrnn import memories
from keras_stackrnn.layers.editor_rnn import EditorRNN
from keras_stackrnn.layers.list_rnn import ListRNN
from keras_stackrnn.layers.memory_rnn import MemoryRNN
from keras_stackrnn.layers.queue_rnn import QueueRNN
from keras_stackrnn.layers.stack_rnn import StackRNN
from keras_stackrnn.layers.tape_rnn import TapeRNN
from keras_stackrnn.memories import MemoryKind

_OWN: dict[MemoryKind | None, type[MemoryRNN]] = {
    layer.CELL.KIND: layer for layer in (StackRNN, ListRNN, TapeRNN, EditorRNN, QueueRNN)
}


def layer_of(kind: memories.MemoryKind | str) -> Callable[..., MemoryRNN]:
    """Makes layers of a kind of memory: of its own class, or else `MemoryRNN`."""
    kind = memories.get(kind)
    return _OWN.get(kind) or functools.partial(MemoryRNN, kind=kind)
