"""TapeCell: one step of a recurrent network with tapes for a memory."""

import keras

from keras_stackrnn.layers.memory_cell import MemoryCell
from keras_stackrnn.memories.tape import TAPE


@keras.saving.register_keras_serializable(package="keras_stackrnn")
class TapeCell(MemoryCell):
    """A cell whose memories are tapes, as a Turing machine's.

    At each step it reads its tapes around their heads and then, on each of them, writes a value
    under the head and moves the head to the left, to the right, or lets it where it is; with
    `no_op` it may also do nothing.

    The states are `[hidden, memory]`, of sizes `units` and `capacity * num_tapes`. The memory's
    state reads as `(batch, capacity, num_tapes)`: left to right, the head stays in the middle (at
    `capacity // 2`) and the tape moves under it, an
    empty slot is -1.

    Args:
        units: Positive integer, the number of hidden units and of outputs.
        num_tapes: Positive integer, the number of tapes.
        capacity: Positive integer, how many elements a tape holds; half of them on each side
            of the head; what moves past an end is lost. (`None` is for `TapeRNN`.)
        read_depth: Positive integer, how many elements of each are read.
        no_op: Boolean, whether there is also an action that leaves a tape as it is.
        **kwargs: The other arguments of `StackCell`; weights are called `write_kernel` in place
            of `push_kernel`.

    Example:

    ```python
    inputs = np.random.random((32, 10, 8)).astype("float32")
    rnn = keras.layers.RNN(keras_stackrnn.TapeCell(40, num_tapes=5), return_sequences=True)
    outputs = rnn(inputs)  # The outputs have shape `(32, 10, 40)`.
    ```
    """

    KIND = TAPE
    WRITE = "write"

    def __init__(
        self,
        units,
        num_tapes=1,
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
            num_tapes,
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
        self.num_tapes = self.num_memories
