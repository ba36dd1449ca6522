"""Penn Treebank as a TFDS dataset; importing this registers it."""

from keras_stackrnn.datasets.penn_treebank.penn_treebank_dataset_builder import Builder

__all__ = ["Builder"]
