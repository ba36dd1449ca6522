"""StackRNN: a whole-sequence layer with stacks for a memory, fused on TensorFlow."""

from typing import Any

import keras

from keras_stackrnn.layers.arguments import arguments
from keras_stackrnn.layers.memory_rnn import MemoryRNN
from keras_stackrnn.layers.stack_cell import StackCell
from keras_stackrnn.types import Activation, Constraint, Controller, Initializer, Regularizer


@keras.saving.register_keras_serializable(package="keras_stackrnn")
class StackRNN(MemoryRNN):
    """The Stack RNN of Joulin & Mikolov (2015) as a layer.

    It gives the results of `keras.layers.RNN(StackCell(...))`, with the same weights, faster: on
    TensorFlow whole sequences run in fused kernels, best compiled (`jit_compile=True`).

    Args:
        units: Positive integer, the number of hidden units and of outputs.
        num_stacks: Positive integer, the number of stacks.
        capacity: How many elements a stack holds. `None`, the default: as many as there are; the
            memory's state is then as deep as its elements need, and no element is ever lost. A
            positive integer: no more than that; the metric `lost_elements`, which `fit` and
            `evaluate` log, counts what went past the end.
        use_fused: `"auto"`, the default, runs the fused kernels where it can and the cell in a
            loop, with a warning, where it cannot: with `unroll`, with an activation other than
            sigmoid, tanh, relu or linear, and always on backends other than TensorFlow. `True`
            raises there, `False` always loops.
        return_sequences: Boolean, whether to return the last output or all of them.
        return_state: Boolean, whether to return the last states, `[hidden, memory]`, as well.
        go_backwards: Boolean, whether to process the sequences backwards.
        stateful: Boolean, whether the last states are the next batch's first ones.
            `reset_state()` empties the memory. To compile it, give an integer `capacity`.
        unroll: Boolean, whether to unroll the loop.
        zero_output_for_mask: Boolean, whether the outputs of masked steps are zeros, and not the
            last ones that counted.
        **kwargs: The arguments of every Keras layer. All others are those of `StackCell`.

    Call arguments:
        sequences: A 3D tensor of floats, with shape `(batch, timesteps, features)`.
        initial_state: List of two tensors, `[hidden, memory]`; of any depth if `capacity=None`.
        mask: Binary tensor of shape `(batch, timesteps)`; optional.
        training: Python boolean; only relevant with `rounding`.

    Example:

    ```python
    inputs = np.random.random((32, 10, 8)).astype("float32")
    rnn = keras_stackrnn.StackRNN(40, num_stacks=10, return_sequences=True)
    outputs = rnn(inputs)  # The outputs have shape `(32, 10, 40)`.
    ```
    """

    CELL = StackCell

    def __init__(
        self,
        units: int,
        num_stacks: int = 1,
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
        push_initializer: Initializer = "glorot_uniform",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        memory_regularizer: Regularizer = None,
        action_regularizer: Regularizer = None,
        push_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        memory_constraint: Constraint = None,
        action_constraint: Constraint = None,
        push_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        zero_output_for_mask: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**arguments(locals()))
