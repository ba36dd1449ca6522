"""Tests of what layers say when they are compiled as they should not be."""

import os
import subprocess
import sys

import keras
import numpy as np
import pytest
from test_case import random

if keras.backend.backend() != "tensorflow":
    pytest.skip("XLA compiles TensorFlow's functions alone", allow_module_level=True)

import tensorflow as tf

from keras_stackrnn import StackRNN

FEATURES = 3


def compiled(layer, shape):
    """A compiled function of the layer, traced for sequences of a shape."""
    function = tf.function(layer, jit_compile=True, autograph=False)
    return function.get_concrete_function(tf.TensorSpec(shape, tf.float32))


def test_a_length_that_is_not_known_is_warned_of_once():
    layer = StackRNN(4, 2)

    with pytest.warns(UserWarning, match="XLA compiles anew for every length it meets, .*bucket"):
        compiled(layer, (2, None, FEATURES))
    compiled(layer, (3, None, FEATURES))


def test_a_length_that_is_known_or_not_compiled_is_no_matter():
    layer = StackRNN(4, 2)

    compiled(layer, (None, 5, FEATURES))
    tf.function(layer, autograph=False).get_concrete_function(
        tf.TensorSpec((2, None, FEATURES), tf.float32)
    )


@pytest.mark.filterwarnings(
    "ignore:StackRNN is compiled for sequences of a length", "ignore:Your input ran out of data"
)
def test_lengths_in_buckets_train_compiled_and_masked():
    lengths = [2, 3, 5, 6, 2, 4]
    texts = [np.arange(1, length + 1) % 4 + 1 for length in lengths]
    signature = tf.TensorSpec([None], tf.int64), tf.TensorSpec([], tf.float32)
    rows = tf.data.Dataset.from_generator(
        lambda: ((text, len(text)) for text in texts), output_signature=signature
    )
    batches = rows.bucket_by_sequence_length(
        lambda text, _: tf.shape(text)[0], [4, 8], [2, 2, 2], pad_to_bucket_boundary=True
    )
    model = keras.Sequential(
        [keras.layers.Embedding(6, 3, mask_zero=True), StackRNN(4, 2), keras.layers.Dense(1)]
    )
    model.compile("adam", "mse", jit_compile=True)

    history = model.fit(batches, epochs=2, shuffle=False, verbose=0)

    assert np.isfinite(history.history["loss"]).all()
    whole = model.predict(texts[3][None], verbose=0)
    np.testing.assert_allclose(
        model.predict(np.pad(texts[3], (0, 2))[None], verbose=0), whole, atol=1e-6
    )


OVER_TWO_DEVICES = """
import keras, numpy as np, sys, tensorflow as tf
from keras_stackrnn import StackRNN

device = tf.config.LogicalDeviceConfiguration()
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [device] * 2)
inputs, answers = np.random.default_rng(0).random((2, 16, 5, 3), "float32")


def losses(strategy, **options):
    with strategy.scope():
        keras.utils.set_random_seed(1)
        model = keras.Sequential([StackRNN(4, 2, capacity=8), keras.layers.Dense(3)])
        model.compile("sgd", "mse", **options)
    fitted = model.fit(inputs, answers[:, 0], batch_size=8, epochs=2, shuffle=False, verbose=0)
    return fitted.history["loss"]


both = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
alone = losses(tf.distribute.OneDeviceStrategy("CPU:0"), jit_compile=False)
np.testing.assert_allclose(losses(both, jit_compile=False), alone, rtol=1e-5)
losses(both, jit_compile=True)
"""


def test_over_several_devices_a_layer_trains_and_says_that_it_cannot_be_compiled():
    done = subprocess.run(
        [sys.executable, "-c", OVER_TWO_DEVICES], capture_output=True, text=True, env=os.environ
    )

    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1
    assert "ValueError" in done.stderr, last
    assert (
        "StackRNN cannot be compiled over the replicas of a tf.distribute strategy, as a program "
        "of XLA runs on one device: compile the model with jit_compile=False, or train it on one "
        "device."
    ) in done.stderr, done.stderr


def test_results_do_not_depend_on_a_length_being_known():
    layer = StackRNN(4, 2, return_sequences=True)
    inputs = random(2, 5, FEATURES)

    with pytest.warns(UserWarning, match="length"):
        function = compiled(layer, (2, None, FEATURES))

    np.testing.assert_allclose(function(tf.constant(inputs)), layer(inputs), atol=1e-6)
