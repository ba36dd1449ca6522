"""QueueCell: one step of a recurrent network with queues for a memory."""

from typing import Any

import keras

from keras_stackrnn.layers.arguments import arguments
from keras_stackrnn.layers.memory_cell import MemoryCell
from keras_stackrnn.memories.queue import QUEUE
from keras_stackrnn.types import Activation, Constraint, Controller, Initializer, Regularizer


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
        **kwargs: The arguments of every Keras layer. All others are those of `StackCell`, with
            `enqueue_` in place of `push_`.

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
        units: int,
        num_queues: int = 1,
        capacity: int | None = 64,
        read_depth: int = 2,
        no_op: bool = False,
        use_recurrent_kernel: bool = True,
        use_bias: bool = False,
        rounding: bool = False,
        activation: Activation = "auto",
        element_size: int = 1,
        controller: Controller = "simple",
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        memory_dropout: float = 0.0,
        seed: int | None = None,
        *,
        writes_hidden: bool = False,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        memory_initializer: Initializer = "glorot_uniform",
        action_initializer: Initializer = "glorot_uniform",
        enqueue_initializer: Initializer = "glorot_uniform",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        memory_regularizer: Regularizer = None,
        action_regularizer: Regularizer = None,
        enqueue_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        memory_constraint: Constraint = None,
        action_constraint: Constraint = None,
        enqueue_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**arguments(locals()))
        self.num_queues = self.num_memories
