"""Doubly-linked lists, as in the paper: INSERT beside the head, LEFT, RIGHT, and perhaps NO-OP."""

from keras_stackrnn.memories.zipper import FROM_LEFT, FROM_RIGHT, NO_OP, VALUE, Action, Zipper

INSERT = Action("INSERT", +1, 0, VALUE)
LEFT = Action("LEFT", -1, +1, FROM_LEFT)
RIGHT = Action("RIGHT", +1, -1, FROM_RIGHT)

LIST = Zipper("list", (INSERT, LEFT, RIGHT, NO_OP))
