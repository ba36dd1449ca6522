"""A machine in the forms that other programs read: Python, JSON, Graphviz, SVG, JFLAP."""

from keras_stackrnn.extract.emit.graph import to_graphviz, to_svg
from keras_stackrnn.extract.emit.jflap import to_jflap
from keras_stackrnn.extract.emit.json_table import to_json
from keras_stackrnn.extract.emit.program import to_python

__all__ = ["to_graphviz", "to_jflap", "to_json", "to_python", "to_svg"]
