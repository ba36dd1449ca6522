"""Tapes, as a Turing machine's: every action writes under the head, then moves it or lets it be."""

from keras_stackrnn.memories.list import LEFT, RIGHT
from keras_stackrnn.memories.zipper import NO_OP, VALUE, Action, Zipper

WRITE_LEFT = LEFT._replace(name="WRITE-LEFT", writes=True)
WRITE_RIGHT = RIGHT._replace(name="WRITE-RIGHT", writes=True)
WRITE = Action("WRITE", 0, 0, VALUE)

TAPE = Zipper("tape", (WRITE_LEFT, WRITE_RIGHT, WRITE, NO_OP))
