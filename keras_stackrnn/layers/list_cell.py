"""ListCell: one step of a recurrent network with doubly-linked lists for a memory."""

from typing import Any

import keras

from keras_stackrnn.layers.arguments import arguments
from keras_stackrnn.layers.memory_cell import MemoryCell
from keras_stackrnn.memories.list import LIST
from keras_stackrnn.types import Activation, Constraint, Controller, Initializer, Regularizer


@keras.saving.register_keras_serializable(package="keras_stackrnn")
class ListCell(MemoryCell):
    """Cell class for the List RNN of Joulin & Mikolov (2015).

    A simple recurrent cell that, at each step, reads its lists around their heads and then, on
    each of them, inserts a value at the head, moves the head to the left or to the right or, with
    `no_op`, leaves it where it is. The actions are mixed by their probabilities, so all of it
    learns by gradient descent.

    The states are `[hidden, memory]`, of sizes `units` and `capacity * num_lists`. The memory's
    state reads as `(batch, capacity, num_lists)`: left to right, the head stays in the middle (at
    `capacity // 2`) and the list moves under it, an empty slot is -1.

    Args:
        units: Positive integer, the number of hidden units and of outputs.
        num_lists: Positive integer, the number of lists.
        capacity: Positive integer, how many elements a list holds, half of them on each side of
            the head; what moves past an end is lost. (`None` is for `ListRNN`, whose lists grow.)
        read_depth: Positive integer, how many elements of each list are read: the head, then its
            neighbours left, right, left, …
        no_op: Boolean, whether there is a fourth action that leaves a list as it is.
        use_recurrent_kernel: Boolean, whether the hidden units see their last values. Without,
            the lists are all that the cell remembers.
        use_bias: Boolean, whether hidden units, actions and inserted values have biases.
        rounding: Boolean, whether the most probable action alone is taken at inference; training
            always mixes.
        activation: Activation function of the hidden units; `"auto"`: the controller's own, sigmoid
            of `"simple"`, tanh of the others.
        element_size: Positive integer, how many numbers an element has; one action moves them all.
        controller: `"simple"`, the paper's; `"gru"` or `"lstm"`, which are Keras' own but for what
            they read of the memory; `"second_order"`, for discrete states: the input chooses the
            table that says which one comes next. The states of `"lstm"` are
            `[hidden, cell, memory]`.
        dropout, recurrent_dropout: As in Keras' own cells, which share of the inputs, and of the
            hidden units that the next step sees, is dropped in training.
        memory_dropout: Which share of what is read from the memories is dropped in training.
        seed: Seed of what is dropped.
        writes_hidden: Boolean, whether the element written is the hidden units before the step; of
            `"second_order"`, with an `element_size` of as many as `units`.
        kernel_initializer, recurrent_initializer, memory_initializer, action_initializer,
            insert_initializer, bias_initializer: Initializers of the weights.
        kernel_regularizer, …: Regularizers of the same weights.
        kernel_constraint, …: Constraints of the same weights.
        **kwargs: The arguments of every Keras layer.

    Call arguments:
        inputs: A 2D tensor of floats, with shape `(batch, features)`.
        states: List of two tensors, `[hidden, memory]`.
        training: Python boolean; only relevant with `rounding`.

    Example:

    ```python
    inputs = np.random.random((32, 10, 8)).astype("float32")
    rnn = keras.layers.RNN(keras_stackrnn.ListCell(40, num_lists=5), return_sequences=True)
    outputs = rnn(inputs)  # The outputs have shape `(32, 10, 40)`.
    ```
    """

    KIND = LIST
    WRITE = "insert"

    def __init__(
        self,
        units: int,
        num_lists: int = 1,
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
        insert_initializer: Initializer = "glorot_uniform",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        memory_regularizer: Regularizer = None,
        action_regularizer: Regularizer = None,
        insert_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        memory_constraint: Constraint = None,
        action_constraint: Constraint = None,
        insert_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**arguments(locals()))
        self.num_lists = self.num_memories
