"""The program that a rounded model has learned: a table one can read, run and trust."""

from keras_stackrnn.extract.extraction import Extraction, extract
from keras_stackrnn.extract.lessons import OfTask, OfTexts
from keras_stackrnn.extract.machine import Machine, UnknownRowError

__all__ = ["Extraction", "Machine", "OfTask", "OfTexts", "UnknownRowError", "extract"]
