"""Stacks, as in the paper: PUSH and POP, and perhaps NO-OP."""

from keras_stackrnn.memories.zipper import FROM_LEFT, NO_OP, VALUE, Action, Zipper

PUSH = Action("PUSH", +1, 0, VALUE)
POP = Action("POP", -1, 0, FROM_LEFT)

STACK = Zipper("stack", (PUSH, POP, NO_OP), head_word="top", place_word="depth")
