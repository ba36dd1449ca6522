"""Sequences of the algorithmic patterns, 200 for each n."""

import dataclasses
import functools
from typing import ClassVar

import numpy as np
import tensorflow_datasets.public_api as tfds

from keras_stackrnn import patterns

_DEFAULT_PATTERN = "anbn"


@dataclasses.dataclass(eq=False)
class PatternConfig(tfds.core.BuilderConfig):
    """Which pattern, and how much of it.

    Attributes:
        pattern: Name of the pattern; by default the config's own name.
        sequences_per_n: Number of sequences for each n.
        largest_training_n: Largest n of the train and the validation split.
        largest_test_n: Largest n of the test split.
    """

    pattern: str = ""
    sequences_per_n: int = 200
    largest_training_n: int = patterns.LARGEST_TRAINING_N
    largest_test_n: int = patterns.LARGEST_TEST_N

    def __post_init__(self):
        self.pattern = self.pattern or self.name
        self.description = (
            self.description or f"For example `{self.rule.example}`; n is the {self.rule.n_means}."
        )

    @property
    def rule(self) -> patterns.Pattern:
        return patterns.get(self.pattern)

    def range_of_n(self, split: str) -> range:
        """Every n of a split, in the order of the stored sequences."""
        largest = self.largest_test_n if split == "test" else self.largest_training_n
        return range(self.rule.smallest_n, largest + 1)

    def split_of_n(self, n: int, split: str = "test") -> str:
        """The slice of a split that holds the sequences of one n."""
        ns = self.range_of_n(split)
        if n not in ns:
            raise ValueError(
                f"Split {split!r} of {self.name!r} has n from {ns[0]} to {ns[-1]}, got {n}."
            )
        start = ns.index(n) * self.sequences_per_n
        return f"{split}[{start}:{start + self.sequences_per_n}]"


class Builder(tfds.core.GeneratorBasedBuilder):
    """Builder of algorithmic_patterns; every registered pattern is a config."""

    VERSION = tfds.core.Version(patterns.VERSION)
    RELEASE_NOTES: ClassVar = {"1.0.0": "Initial release."}
    BUILDER_CONFIGS: ClassVar = [PatternConfig(name=name) for name in patterns.names()]
    DEFAULT_BUILDER_CONFIG_NAME = _DEFAULT_PATTERN

    def __init__(self, *, config: str | PatternConfig | None = None, **kwargs):
        if isinstance(config, str):
            patterns.get(config.partition(":")[0])  # says which patterns there are
        super().__init__(config=config, **kwargs)

    @classmethod
    def get_builder_config(cls, name, version=None):
        return super().get_builder_config(name, version) or _config_of_late_pattern(name)

    def _info(self) -> tfds.core.DatasetInfo:
        return self.dataset_info_from_configs(
            features=tfds.features.FeaturesDict(
                {
                    "text": tfds.features.Text(),
                    "tokens": tfds.features.Tensor(shape=(None,), dtype=np.int32),
                    "deterministic": tfds.features.Tensor(shape=(None,), dtype=np.bool_),
                    "n": tfds.features.Scalar(np.int32),
                }
            ),
            homepage="https://arxiv.org/abs/1503.01007",
            disable_shuffling=True,
            metadata=tfds.core.MetadataDict(alphabet=self.builder_config.rule.alphabet),
        )

    def _split_generators(self, dl_manager: tfds.download.DownloadManager):
        return {split: self._generate_examples(split) for split in ("train", "validation", "test")}

    def _generate_examples(self, split: str):
        config = self.builder_config
        for n in config.range_of_n(split):
            for index in range(config.sequences_per_n):
                sequence = config.rule.sample(n, split, index)
                yield f"{n}_{index}", {**sequence._asdict(), "n": n}


def split_of_n(pattern: str, n: int, split: str = "test") -> str:
    """The slice of a split that holds the sequences of one n.

    Args:
        pattern: Name of the config.
        n: The n wanted.
        split: `"train"`, `"validation"` or `"test"`.

    Returns:
        A split as TFDS reads it.

    Example:

    >>> split_of_n("anbn", 30)
    'test[5800:6000]'
    """
    patterns.get(pattern)
    return Builder.get_builder_config(pattern).split_of_n(n, split)


def _config_of_late_pattern(name: str) -> PatternConfig | None:
    """The config of a pattern that the class did not know when it was made, if there is one."""
    try:
        patterns.get(name)
    except ValueError:
        return None
    return _make_config(name)


@functools.cache
def _make_config(name: str) -> PatternConfig:
    # TFDS compares configs by identity: one object a name.
    return PatternConfig(name=name)
