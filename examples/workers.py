"""Trains a model of one's own on two workers by a loop of one's own: the same losses as on one.

    python examples/workers.py

Each worker reads half of the batch. Gradients are computed by a compiled function, and added up
outside of it, for what workers tell each other is nothing that XLA compiles. `Model.fit` has no
part in this: under Keras 3 it does not work with `MultiWorkerMirroredStrategy`
(keras-team/keras#20585).
"""

import json
import os
import socket
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

STEPS, BATCH, LENGTH = 5, 8, 12


def train(index: int, count: int) -> None:
    import keras
    import numpy as np
    import tensorflow as tf

    from keras_stackrnn import StackRNN

    # Before anything else is done with TensorFlow; TF_CONFIG says who the workers are.
    strategy = tf.distribute.MultiWorkerMirroredStrategy() if count > 1 else None
    keras.utils.set_random_seed(1)  # all begin with the same weights
    layer = StackRNN(16, num_stacks=2, capacity=LENGTH, return_sequences=True)
    model = keras.Sequential([keras.Input((LENGTH, 2)), layer, keras.layers.Dense(2)])
    optimizer = keras.optimizers.Adam(0.02)
    optimizer.build(model.trainable_variables)

    @tf.function(jit_compile=True)
    def gradients_of(inputs, targets):
        with tf.GradientTape() as tape:
            logits = model(inputs, training=True)
            losses = keras.losses.sparse_categorical_crossentropy(targets, logits, from_logits=True)
            loss = tf.reduce_mean(losses)
        return loss, tape.gradient(loss, model.trainable_variables)

    @tf.function
    def mean_of_workers(tensors):
        def of_all(tensors):
            own = [tf.identity(tensor) for tensor in tensors]  # on this worker's device
            return tf.distribute.get_replica_context().all_reduce("MEAN", own)

        return strategy.run(of_all, args=(tensors,))

    for step in range(STEPS):
        bits = np.random.default_rng(step).integers(0, 2, (BATCH, LENGTH))
        bits = bits[index * BATCH // count : (index + 1) * BATCH // count]
        loss, gradients = gradients_of(np.eye(2, dtype="float32")[bits], np.roll(bits, 1, axis=1))
        if strategy is not None:
            loss, *gradients = mean_of_workers([loss, *gradients])
        optimizer.apply(gradients, model.trainable_variables)
        if index == 0:
            print(f"{float(loss):.5f}", flush=True)


def losses_of(count: int) -> list[str]:
    """Starts so many workers on this machine; on several, TF_CONFIG is all that differs."""
    with socket.socket() as first, socket.socket() as second:
        ports = []
        for each in (first, second)[:count]:
            each.bind(("127.0.0.1", 0))
            ports.append(each.getsockname()[1])
    cluster = {"worker": [f"127.0.0.1:{port}" for port in ports]}
    workers = []
    for index in range(count):
        here = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})
        command = [sys.executable, __file__, str(index), str(count)]
        environment = {**os.environ, "TF_CONFIG": here}
        workers.append(
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        )
    printed = [worker.communicate()[0] for worker in workers]
    if any(worker.returncode for worker in workers):
        sys.exit("A worker has failed; what it wrote is above.")
    return printed[0].split()


if __name__ == "__main__":
    if len(sys.argv) == 3:
        train(int(sys.argv[1]), int(sys.argv[2]))
    else:
        alone, together = losses_of(1), losses_of(2)
        print("step  one worker  two workers")
        for step, losses in enumerate(zip(alone, together, strict=True)):
            print(f"{step:>4}  {losses[0]:>10}  {losses[1]:>11}")
