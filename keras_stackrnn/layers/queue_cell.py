"""QueueCell: one step of a recurrent network with queues for a memory."""

import keras

from keras_stackrnn.layers.memory_cell import MemoryCell
from keras_stackrnn.memories.queue import QUEUE


@keras.saving.register_keras_serializable(package="keras_stackrnn")
class QueueCell(MemoryCell):
    """A cell whose memories are queues: first in, first out.

    At each step it reads the elements at the front of its queues and then, on each of them, puts a
    value behind the last element, takes the front element away or, with `no_op`, does nothing.
    While actions are mixed, a queue has a distribution over lengths, and the value goes wherever
    its end may be.

    The states are `[hidden, memory]`, of sizes `units` and `2 * capacity * num_queues`. The
    memory's state reads as `(batch, capacity, 2, num_queues)`: front first, elements and marks; a
    mark is 0 for a slot that is in use and -1 for one that is not, an empty slot is -1.

    Args:
        units: Positive integer, the number of hidden units and of outputs.
        num_queues: Positive integer, the number of queues.
        capacity: Positive integer, how many elements a queue holds; what is enqueued when it is
            full is lost. (`None` is for `QueueRNN`.)
        read_depth: Positive integer, how many elements of each are read.
        no_op: Boolean, whether there is also an action that leaves a queue as it is.
        **kwargs: The other arguments of `StackCell`; weights are called `enqueue_kernel` in place
            of `push_kernel`.

    Example:

    ```python
    inputs = np.random.random((32, 10, 8)).astype("float32")
    rnn = keras.layers.RNN(keras_stackrnn.QueueCell(40, num_queues=5), return_sequences=True)
    outputs = rnn(inputs)  # The outputs have shape `(32, 10, 40)`.
    ```
    """

    KIND = QUEUE
    WRITE = "enqueue"

    def __init__(
        self,
        units,
        num_queues=1,
        capacity=64,
        read_depth=2,
        no_op=False,
        use_recurrent_kernel=True,
        use_bias=False,
        rounding=False,
        activation="auto",
        element_size=1,
        controller="simple",
        dropout=0.0,
        recurrent_dropout=0.0,
        memory_dropout=0.0,
        seed=None,
        **kwargs,
    ):
        super().__init__(
            units,
            num_queues,
            capacity,
            read_depth,
            no_op,
            use_recurrent_kernel,
            use_bias,
            rounding,
            activation,
            element_size,
            controller,
            dropout,
            recurrent_dropout,
            memory_dropout,
            seed,
            **kwargs,
        )
        self.num_queues = self.num_memories
