"""The program that a rounded model has learned: a table one can read, run and trust."""

from keras_stackrnn.extract.extraction import Extraction, extract
from keras_stackrnn.extract.lessons import OfTask, OfTexts
from keras_stackrnn.extract.machine import Machine, UnknownRowError
from keras_stackrnn.extract.prune import pruned
from keras_stackrnn.extract.sharpen import sharpened

__all__ = [
    "Extraction",
    "Machine",
    "OfTask",
    "OfTexts",
    "UnknownRowError",
    "extract",
    "pruned",
    "sharpened",
]
