"""Export: a trained model as a SavedModel for TensorFlow Serving and the embedded server."""

from keras_stackrnn.export.saved_model import export

__all__ = ["export"]
