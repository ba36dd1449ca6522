"""EditorRNN: a whole-sequence layer with editors for a memory, fused on TensorFlow."""

import keras

from keras_stackrnn.layers.editor_cell import EditorCell
from keras_stackrnn.layers.memory_rnn import MemoryRNN


@keras.saving.register_keras_serializable(package="keras_stackrnn")
class EditorRNN(MemoryRNN):
    """`keras.layers.RNN(EditorCell(...))` as a layer, with the same weights and results, faster.

    Args:
        units: Positive integer, the number of hidden units and of outputs.
        num_editors: Positive integer, the number of editors.
        capacity: How many elements an editor holds; `None`, the default: as many as there are.
        **kwargs: The other arguments of `StackRNN`.

    Example:

    ```python
    inputs = np.random.random((32, 10, 8)).astype("float32")
    rnn = keras_stackrnn.EditorRNN(40, num_editors=5, return_sequences=True)
    outputs = rnn(inputs)  # The outputs have shape `(32, 10, 40)`.
    ```
    """

    CELL = EditorCell

    def __init__(
        self,
        units,
        num_editors=1,
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
            num_editors,
            capacity,
            use_fused,
            return_sequences,
            return_state,
            go_backwards,
            stateful,
            unroll,
            **kwargs,
        )
