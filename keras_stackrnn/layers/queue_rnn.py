"""QueueRNN: a whole-sequence layer with queues for a memory, fused on TensorFlow."""

import keras

from keras_stackrnn.layers.memory_rnn import MemoryRNN
from keras_stackrnn.layers.queue_cell import QueueCell


@keras.saving.register_keras_serializable(package="keras_stackrnn")
class QueueRNN(MemoryRNN):
    """`keras.layers.RNN(QueueCell(...))` as a layer, with the same weights and results, faster.

    Args:
        units: Positive integer, the number of hidden units and of outputs.
        num_queues: Positive integer, the number of queues.
        capacity: How many elements a queue holds; `None`, the default: as many as there are.
        **kwargs: The other arguments of `StackRNN`.

    Example:

    ```python
    inputs = np.random.random((32, 10, 8)).astype("float32")
    rnn = keras_stackrnn.QueueRNN(40, num_queues=5, return_sequences=True)
    outputs = rnn(inputs)  # The outputs have shape `(32, 10, 40)`.
    ```
    """

    CELL = QueueCell

    def __init__(
        self,
        units,
        num_queues=1,
        capacity=None,
        use_fused="auto",
        return_sequences=False,
        return_state=False,
        go_backwards=False,
        stateful=False,
        unroll=False,
        **kwargs,
    ):
        super().__init__(
            units,
            num_queues,
            capacity,
            use_fused,
            return_sequences,
            return_state,
            go_backwards,
            stateful,
            unroll,
            **kwargs,
        )
