"""EditorCell: one step of a recurrent network with editors for a memory."""

import keras

from keras_stackrnn.layers.memory_cell import MemoryCell
from keras_stackrnn.memories.editor import EDITOR


@keras.saving.register_keras_serializable(package="keras_stackrnn")
class EditorCell(MemoryCell):
    """A cell whose memories are edited as a text is at its cursor.

    At each step it reads its memories around their heads and then, on each of them, inserts a
    value, deletes the element under the head, writes over it, moves the head to the left or to the
    right or, with `no_op`, does nothing. That is what a stack, a list and a tape can do: which of
    them the memory is, is learned.

    The states are `[hidden, memory]`, of sizes `units` and `capacity * num_editors`. The memory's
    state reads as `(batch, capacity, num_editors)`: left to right, the head stays in the middle (at
    `capacity // 2`) and the elements move under it, an
    empty slot is -1.

    Args:
        units: Positive integer, the number of hidden units and of outputs.
        num_editors: Positive integer, the number of editors.
        capacity: Positive integer, how many elements an editor holds; half of them on each side
            of the head; what moves past an end is lost. (`None` is for `EditorRNN`.)
        read_depth: Positive integer, how many elements of each are read.
        no_op: Boolean, whether there is also an action that leaves an editor as it is.
        **kwargs: The other arguments of `StackCell`; weights are called `write_kernel` in place
            of `push_kernel`.

    Example:

    ```python
    inputs = np.random.random((32, 10, 8)).astype("float32")
    rnn = keras.layers.RNN(keras_stackrnn.EditorCell(40, num_editors=5), return_sequences=True)
    outputs = rnn(inputs)  # The outputs have shape `(32, 10, 40)`.
    ```
    """

    KIND = EDITOR
    WRITE = "write"

    def __init__(
        self,
        units,
        num_editors=1,
        capacity=64,
        read_depth=2,
        no_op=True,
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
            num_editors,
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
        self.num_editors = self.num_memories
