"""The algorithmic patterns as a TFDS dataset; importing this registers it."""

from keras_stackrnn.datasets.algorithmic_patterns.algorithmic_patterns_dataset_builder import (
    Builder,
    PatternConfig,
    split_of_n,
)

__all__ = ["Builder", "PatternConfig", "split_of_n"]
