"""What the tests of traces share: a model that counts by weights set by hand, and random ones."""

import keras
import numpy as np
from test_case import randomise

from keras_stackrnn.models import NextSymbolModel

COUNTED = "aabb"


def counter(**options) -> NextSymbolModel:
    """A model of a^n b^n: PUSH at a, POP at b, and a follows once one element was left.

    Three hidden units say: a was read; b was read; b was read and there is no second element. All
    are exactly 0 or 1, and so are the actions. Elements are 0.5.
    """
    model = NextSymbolModel("stack", "ab", units=3, task="anbn", **options)
    weights = {
        "kernel": [[100, -100, -300], [-100, 100, -25]],
        "memory_kernel": [[0, 0, 0], [0, 0, -100]],
        "action_kernel": [[100, -100], [-100, 100], [0, 0]],
        "push_kernel": [[0], [0], [0]],
    }
    model.recurrent[0].set_weights([np.array(each, "float32") for each in weights.values()])
    model.output_layer.set_weights([np.array([[1, 0], [0, 4], [8, 0]], "float32")])
    return model


def random_model(kind="stack", vocabulary="01+=.", seed=0, scale=1.5, **options) -> NextSymbolModel:
    model = NextSymbolModel(kind, vocabulary, **{"units": 6, **options})
    randomise(model, seed=seed, scale=scale)
    return model


def one_hot_model(*layers, symbols=3, batch_size=None, seed=0) -> keras.Model:
    """Layers between one-hot symbols and the probabilities of the next one."""
    model = keras.Sequential(
        [
            keras.Input((None, symbols), batch_size=batch_size),
            *layers,
            keras.layers.Dense(symbols, activation="softmax"),
        ]
    )
    randomise(model, seed=seed)
    return model
