"""TapeRNN: a whole-sequence layer with tapes for a memory, fused on TensorFlow."""

from typing import Any

import keras

from keras_stackrnn.layers.arguments import arguments
from keras_stackrnn.layers.memory_rnn import MemoryRNN
from keras_stackrnn.layers.tape_cell import TapeCell
from keras_stackrnn.types import Activation, Constraint, Controller, Initializer, Regularizer


@keras.saving.register_keras_serializable(package="keras_stackrnn")
class TapeRNN(MemoryRNN):
    """`keras.layers.RNN(TapeCell(...))` as a layer, with the same weights and results, faster.

    Args:
        units: Positive integer, the number of hidden units and of outputs.
        num_tapes: Positive integer, the number of tapes.
        capacity: How many elements a tape holds; `None`, the default: as many as there are.
        **kwargs: The arguments of every Keras layer. All others are those of `StackRNN`.

    Example:

    ```python
    inputs = np.random.random((32, 10, 8)).astype("float32")
    rnn = keras_stackrnn.TapeRNN(40, num_tapes=5, return_sequences=True)
    outputs = rnn(inputs)  # The outputs have shape `(32, 10, 40)`.
    ```
    """

    CELL = TapeCell

    def __init__(
        self,
        units: int,
        num_tapes: int = 1,
        capacity: int | None = None,
        use_fused: bool | str = "auto",
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        *,
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
        zero_output_for_mask: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**arguments(locals()))
