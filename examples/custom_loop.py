"""A training loop of your own, compiled: gradients, clipping and a schedule in plain TensorFlow.

python examples/custom_loop.py

The task is a^n b^n: after the first b, everything can be predicted, and only that is scored.
"""

import keras
import tensorflow as tf

from keras_stackrnn import StackRNN
from keras_stackrnn.training.streams import Stream

LANES, WINDOW = 16, 50


def main(steps: int = 600) -> float:
    """Trains, and returns the share of predictable symbols that are right in the end."""
    model = keras.Sequential(
        [
            keras.Input(batch_shape=(LANES, WINDOW, 2)),
            # The windows of a lane continue one another, so the memory is carried on.
            StackRNN(20, num_stacks=4, capacity=64, stateful=True, return_sequences=True),
            keras.layers.Dense(2),
        ]
    )
    optimizer = keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(0.02, steps))
    optimizer.build(model.trainable_variables)

    @tf.function(jit_compile=True)
    def step(tokens, targets, scored):
        weights = tf.cast(scored, tf.float32)
        with tf.GradientTape() as tape:
            logits = model(tf.one_hot(tokens, 2), training=True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits)
            loss = tf.reduce_sum(weights * losses) / (tf.reduce_sum(weights) + 1e-6)
        gradients = tape.gradient(loss, model.trainable_variables)
        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        right = tf.cast(tf.argmax(logits, -1, tf.int32) == tf.cast(targets, tf.int32), tf.float32)
        return loss, tf.reduce_sum(weights * right) / (tf.reduce_sum(weights) + 1e-6)

    stream = Stream("anbn", lanes=LANES, window=WINDOW, n_range=(1, 9))
    for number, window in enumerate(stream.as_dataset().take(steps), start=1):
        loss, right = step(window["tokens"], window["targets"], window["deterministic"])
        if number % 100 == 0 or number == steps:
            print(f"step {number}: loss {float(loss):.3f}, {float(right):.1%} right")
    return float(right)


if __name__ == "__main__":
    main()
