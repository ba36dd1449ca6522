"""TapeCell: one step of a recurrent network with tapes for a memory."""

from typing import Any

import keras

from keras_stackrnn.layers.arguments import arguments
from keras_stackrnn.layers.memory_cell import MemoryCell
from keras_stackrnn.memories.tape import TAPE
from keras_stackrnn.types import Activation, Constraint, Controller, Initializer, Regularizer


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
        **kwargs: The arguments of every Keras layer. All others are those of `StackCell`, with
            `write_` in place of `push_`.

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
        units: int,
        num_tapes: int = 1,
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
        write_initializer: Initializer = "glorot_uniform",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        memory_regularizer: Regularizer = None,
        action_regularizer: Regularizer = None,
        write_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        memory_constraint: Constraint = None,
        action_constraint: Constraint = None,
        write_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**arguments(locals()))
        self.num_tapes = self.num_memories
