"""Labelled strings as a TFDS dataset; importing this registers it."""

from keras_stackrnn.datasets.recognition_languages.recognition_languages_dataset_builder import (
    Builder,
)

__all__ = ["Builder"]
