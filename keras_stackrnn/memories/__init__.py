"""What memories are: their actions, and what these do to rows of elements.

`register` adds a kind of your own, and every room of the package then knows it by its name.
"""

from keras_stackrnn.memories.editor import EDITOR
from keras_stackrnn.memories.kind import MemoryKind
from keras_stackrnn.memories.list import LIST
from keras_stackrnn.memories.queue import QUEUE
from keras_stackrnn.memories.registry import get, names, register
from keras_stackrnn.memories.stack import STACK
from keras_stackrnn.memories.tape import TAPE
from keras_stackrnn.memories.zipper import (
    FROM_LEFT,
    FROM_RIGHT,
    NO_OP,
    STAYS,
    VALUE,
    Action,
    Zipper,
)

__all__ = [
    "EDITOR",
    "FROM_LEFT",
    "FROM_RIGHT",
    "LIST",
    "NO_OP",
    "QUEUE",
    "STACK",
    "STAYS",
    "TAPE",
    "VALUE",
    "Action",
    "MemoryKind",
    "Zipper",
    "get",
    "names",
    "register",
]

for _kind in (STACK, LIST, TAPE, EDITOR, QUEUE):
    register(_kind)
