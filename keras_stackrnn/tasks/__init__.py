"""What can be learned: sequences, what is asked of them, and which of them are for the test.

    from keras_stackrnn import tasks
    tasks.get("chomsky/reverse_string").samples("validation", 5, 1)

Datasets, training, evaluation and serving draw from the same tasks. A task of one's own is a
function with a decorator: `next_symbol`, `transduction` or `recognition`.
"""

from keras_stackrnn.tasks import (  # noqa: F401 they register
    addition,
    chomsky,
    counting,
    dyck,
    files,
    flare,
    memorization,
    reversal,
    small,
)
from keras_stackrnn.tasks.draws import VERSION, Draw, Draws, draw_key
from keras_stackrnn.tasks.next_symbol import next_symbol
from keras_stackrnn.tasks.pattern import Pattern
from keras_stackrnn.tasks.recognition import Labelled, Recognition, recognition
from keras_stackrnn.tasks.registry import add, add_family, get, names
from keras_stackrnn.tasks.rows import Rows
from keras_stackrnn.tasks.symbols import Symbols
from keras_stackrnn.tasks.task import Lesson, Task
from keras_stackrnn.tasks.transduction import AnswerPlaces, Pairs, Transduction, transduction

__all__ = [
    "VERSION",
    "AnswerPlaces",
    "Draw",
    "Draws",
    "Labelled",
    "Lesson",
    "Pairs",
    "Pattern",
    "Recognition",
    "Rows",
    "Symbols",
    "Task",
    "Transduction",
    "add",
    "add_family",
    "draw_key",
    "get",
    "names",
    "next_symbol",
    "recognition",
    "transduction",
]
