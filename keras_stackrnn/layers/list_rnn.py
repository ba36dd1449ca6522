"""ListRNN: a whole-sequence layer with lists for a memory, fused on TensorFlow."""

import keras

from keras_stackrnn.layers.list_cell import ListCell
from keras_stackrnn.layers.memory_rnn import MemoryRNN


@keras.saving.register_keras_serializable(package="keras_stackrnn")
class ListRNN(MemoryRNN):
    """The List RNN of Joulin & Mikolov (2015) as a layer.

    It gives the results of `keras.layers.RNN(ListCell(...))`, with the same weights, faster: on
    TensorFlow whole sequences run in fused kernels, best compiled (`jit_compile=True`).

    Args:
        units: Positive integer, the number of hidden units and of outputs.
        num_lists: Positive integer, the number of lists.
        capacity: How many elements a list holds. `None`, the default: as many as there are; the
            memory's state is then as deep as its elements need, and no element is ever lost. A
            positive integer: no more than that; the metric `lost_elements`, which `fit` and
            `evaluate` log, counts what went past the end.
        use_fused: `"auto"`, the default, runs the fused kernels where it can and the cell in a
            loop where it cannot: with `unroll`, with an activation other than
            sigmoid, tanh, relu or linear, on another backend than TensorFlow. `True` raises
            there, `False` always loops. In float64 only `True` fuses: of some sizes XLA (of
            TensorFlow 2.21) miscompiles it.
        return_sequences: Boolean, whether to return the last output or all of them.
        return_state: Boolean, whether to return the last states, `[hidden, memory]`, as well.
        go_backwards: Boolean, whether to process the sequences backwards.
        stateful: Boolean, whether the last states are the next batch's first ones.
            `reset_state()` empties the memory. To compile it, give an integer `capacity`.
        unroll: Boolean, whether to unroll the loop.
        **kwargs: The other arguments of `ListCell` (`read_depth`, `no_op`,
            `use_recurrent_kernel`, `use_bias`, `rounding`, `activation`, initializers,
            regularizers, constraints) and of `keras.layers.RNN`.

    Call arguments:
        sequences: A 3D tensor of floats, with shape `(batch, timesteps, features)`.
        initial_state: List of two tensors, `[hidden, memory]`; of any depth if `capacity=None`.
        mask: Binary tensor of shape `(batch, timesteps)`; optional.
        training: Python boolean; only relevant with `rounding`.

    Example:

    ```python
    inputs = np.random.random((32, 10, 8)).astype("float32")
    rnn = keras_stackrnn.ListRNN(40, num_lists=10, return_sequences=True)
    outputs = rnn(inputs)  # The outputs have shape `(32, 10, 40)`.
    ```
    """

    CELL = ListCell

    def __init__(
        self,
        units,
        num_lists=1,
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
            num_lists,
            capacity,
            use_fused,
            return_sequences,
            return_state,
            go_backwards,
            stateful,
            unroll,
            **kwargs,
        )
