"""The languages to be learned from few strings as a TFDS dataset; importing this registers it."""

from keras_stackrnn.datasets.small_languages.small_languages_dataset_builder import (
    Builder,
    SmallConfig,
)

__all__ = ["Builder", "SmallConfig"]
