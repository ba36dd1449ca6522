"""The Chomsky hierarchy's tasks as a TFDS dataset; importing this registers it."""

from keras_stackrnn.datasets.chomsky.chomsky_dataset_builder import Builder

__all__ = ["Builder"]
