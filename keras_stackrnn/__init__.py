"""Recurrent networks with a memory of their own, for Keras."""

import importlib.metadata as _metadata

from keras_stackrnn import startup as _startup

if not _startup.asks_for_overview():
    with _startup.only_errors():
        from keras_stackrnn import gallery, memories, trace
        from keras_stackrnn.layers import reset_state as _reset_state
        from keras_stackrnn.layers.controller_cell import ControllerCell
        from keras_stackrnn.layers.editor_cell import EditorCell
        from keras_stackrnn.layers.editor_rnn import EditorRNN
        from keras_stackrnn.layers.list_cell import ListCell
        from keras_stackrnn.layers.list_rnn import ListRNN
        from keras_stackrnn.layers.memory_cell import MemoryCell
        from keras_stackrnn.layers.memory_rnn import MemoryRNN
        from keras_stackrnn.layers.queue_cell import QueueCell
        from keras_stackrnn.layers.queue_rnn import QueueRNN
        from keras_stackrnn.layers.srcn_cell import SRCNCell
        from keras_stackrnn.layers.stack_cell import StackCell
        from keras_stackrnn.layers.stack_rnn import StackRNN
        from keras_stackrnn.layers.tape_cell import TapeCell
        from keras_stackrnn.layers.tape_rnn import TapeRNN
        from keras_stackrnn.models import NextSymbolModel
        from keras_stackrnn.task_models import Recognizer, Transducer

        _reset_state.install()


try:
    __version__ = _metadata.version("keras-stackrnn")
except _metadata.PackageNotFoundError:  # a folder that was not installed
    __version__ = "unknown"

__all__ = [
    "ControllerCell",
    "EditorCell",
    "EditorRNN",
    "ListCell",
    "ListRNN",
    "MemoryCell",
    "MemoryRNN",
    "NextSymbolModel",
    "QueueCell",
    "QueueRNN",
    "Recognizer",
    "SRCNCell",
    "StackCell",
    "StackRNN",
    "TapeCell",
    "TapeRNN",
    "Transducer",
    "gallery",
    "memories",
    "trace",
]
