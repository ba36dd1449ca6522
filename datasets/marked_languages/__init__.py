"""Dyck languages and reversals as a TFDS dataset; importing this registers it."""

from keras_stackrnn.datasets.marked_languages.marked_languages_dataset_builder import Builder

__all__ = ["Builder"]
