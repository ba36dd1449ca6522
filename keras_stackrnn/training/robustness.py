"""Which of several models that are right on everything short will be right on what is long.

What they are shown does not tell: it is what they have learned. But those that stay right when
their weights are changed at random turn out to be those whose memory does not drift, nor blur,
where sequences are longer than any they have read.
"""

import numpy as np
import tensorflow as tf

from keras_stackrnn.training import population

_DRAWS = 48


def robustness(
    trainer: population.Trainer,
    weights: dict[str, np.ndarray],
    sequences: tuple[tf.Tensor, tf.Tensor, tf.Tensor],
    spread: float,
    seed: int,
) -> float:
    """The share of sequences that a model has right when its weights are changed.

    Args:
        trainer: Its population's.
        weights: Its weights, without a replica axis.
        sequences: What it reads each time: tokens, targets and which are deterministic.
        spread: Standard deviation of the changes, relative to each weight.
        seed: The changes follow from it.

    Returns:
        The mean over the changes, soft or rounded, whichever is less.
    """
    random = np.random.default_rng(seed)
    changed = {}
    for name in sorted(weights):
        factors = 1 + spread * random.standard_normal((_DRAWS, *weights[name].shape))
        changed[name] = tf.constant(factors * weights[name], tf.float32)
    rights = [
        trainer.validate(changed, *sequences, rounding=rounding).right.numpy()
        for rounding in (False, True)
    ]
    return float(min(right.mean() for right in rights)) / len(sequences[0])
