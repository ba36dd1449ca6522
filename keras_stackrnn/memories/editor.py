"""Editors: all that a cursor in a text can do, so that what the memory is, is learned as well."""

from keras_stackrnn.memories.list import INSERT, LEFT, RIGHT
from keras_stackrnn.memories.stack import POP
from keras_stackrnn.memories.tape import WRITE
from keras_stackrnn.memories.zipper import NO_OP, Zipper

DELETE = POP._replace(name="DELETE")

EDITOR = Zipper("editor", (INSERT, DELETE, LEFT, RIGHT, WRITE, NO_OP))
