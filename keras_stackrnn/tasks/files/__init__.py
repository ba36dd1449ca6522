"""Tasks made of files of one's own: strings, inputs and their answers, strings and their labels."""

from keras_stackrnn.tasks.files.load import FORMS, Source, load

__all__ = ["FORMS", "Source", "load"]
