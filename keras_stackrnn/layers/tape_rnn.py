"""TapeRNN: a whole-sequence layer with tapes for a memory, fused on TensorFlow."""

import keras

from keras_stackrnn.layers.memory_rnn import MemoryRNN
from keras_stackrnn.layers.tape_cell import TapeCell


@keras.saving.register_keras_serializable(package="keras_stackrnn")
class TapeRNN(MemoryRNN):
    """`keras.layers.RNN(TapeCell(...))` as a layer, with the same weights and results, faster.

    Args:
        units: Positive integer, the number of hidden units and of outputs.
        num_tapes: Positive integer, the number of tapes.
        capacity: How many elements a tape holds; `None`, the default: as many as there are.
        **kwargs: The other arguments of `StackRNN`.

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
        units,
        num_tapes=1,
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
            num_tapes,
            capacity,
            use_fused,
            return_sequences,
            return_state,
            go_backwards,
            stateful,
            unroll,
            **kwargs,
        )
