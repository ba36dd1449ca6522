"""Sequence models: token ids in, the logits of an answer at each of them out."""

from collections.abc import Iterable
from typing import Any, Self

import keras
from keras import ops

from keras_stackrnn import memories as known_memories
from keras_stackrnn.layers import layer_of
from keras_stackrnn.layers.arguments import require_positive_integer
from keras_stackrnn.layers.controller_cell import ControllerCell
from keras_stackrnn.layers.srcn_cell import SRCNCell
from keras_stackrnn.types import Tensor

# What can be built without a memory, and the controller that each of them is.
CONTROLLERS_ALONE = {
    "rnn": "simple",
    "gru": "gru",
    "lstm": "lstm",
    "second_order": "second_order",
}
BASELINES = (*CONTROLLERS_ALONE, "srcn")
MOST_LAYERS = 1000
# A symbol that gets more than this probability is one that a model takes for possible.
THRESHOLD = 0.005


def kinds() -> tuple[str, ...]:
    """All that a model can be: each registered kind of memory, and the baselines."""
    return (*known_memories.names(), *BASELINES)


def has_memory(kind: str) -> bool:
    """Whether models of this kind have a memory."""
    return kind in known_memories.names()


class SequenceModel(keras.Model):
    """Reads sequences of token ids and gives, at each, the logits of its answers.

    What an answer is, a subclass says. The vocabulary and the task are part of the configuration:
    a model that is loaded from a `.keras` file knows its symbols.

    Args:
        kind: The name of a kind of memory, as in `"stack"`, whose layer is then used; or without a
            memory `"rnn"`, `"gru"` or `"lstm"`, which are Keras' own `SimpleRNN`, `GRU` or `LSTM`,
            `"second_order"`, that controller alone, or `"srcn"`, an `RNN` of `SRCNCell`.
        vocabulary: Sequence of distinct strings; a symbol's place is its token id.
        units: Positive integer, the number of hidden units of a layer.
        layers: Positive integer, the number of recurrent layers, at most 1,000.
        memories: Number of memories of a layer; only for kinds that have one.
        capacity: How many elements a memory holds; `None`: as many as there are.
        read_depth: How many elements of a memory are read.
        no_op: Boolean, whether leaving the memory as it is, is one of the actions.
        rounding: Boolean, whether the most probable action alone is taken at inference.
        use_recurrent_kernel: Boolean, whether hidden units see the ones before them directly;
            only kinds with a memory can do without.
        use_bias: Boolean, whether the layers and the output have biases.
        element_size: Positive integer, how many numbers an element of a memory has.
        controller: What decides about a memory: `"simple"`, `"gru"`, `"lstm"` or `"second_order"`.
        writes_hidden: Boolean, whether the element written is the hidden units before the step;
            only with the controller `"second_order"`.
        context_units: Number of slow context units of a layer; only for `"srcn"`.
        embedding_size: Size of a trained embedding of the symbols; `None`: one-hot.
        task: Name of what the model was trained on; optional.

    Call arguments:
        tokens: Integer tensor of shape `(batch, timesteps)`.
    """

    # How many of the last symbols of the vocabulary nobody writes.
    marks = 0

    def __init__(
        self,
        kind: str,
        vocabulary: Iterable[str],
        units: int,
        layers: int = 1,
        memories: int = 1,
        capacity: int | None = None,
        read_depth: int = 2,
        no_op: bool = False,
        rounding: bool = False,
        use_recurrent_kernel: bool = False,
        use_bias: bool = False,
        embedding_size: int | None = None,
        task: str | None = None,
        context_units: int = 40,
        element_size: int = 1,
        controller: str = "simple",
        writes_hidden: bool = False,
        **kwargs: Any,
    ):
        if kind not in kinds():
            raise ValueError(
                f"Received an invalid value for argument `kind`: expected one of {kinds()}, "
                f"got {kind!r}."
            )
        if rounding and not has_memory(kind):
            raise ValueError(
                "Argument `rounding` rounds the actions on a memory, which only the kinds "
                f"{known_memories.names()} have, got rounding={rounding} with kind {kind!r}."
            )
        vocabulary = list(vocabulary)
        if not vocabulary or len(set(vocabulary)) < len(vocabulary):
            raise ValueError(
                "Received an invalid value for argument `vocabulary`: expected distinct symbols, "
                f"got {vocabulary!r}."
            )
        super().__init__(**kwargs)
        self.kind = kind
        self.vocabulary = vocabulary
        self.units = units
        self.num_layers = require_positive_integer("layers", layers)
        if self.num_layers > MOST_LAYERS:
            raise ValueError(
                "Received an invalid value for argument `layers`: expected at most "
                f"{MOST_LAYERS}, got {layers!r}."
            )
        self.memories = memories
        self.capacity = capacity
        self.read_depth = read_depth
        self.no_op = no_op
        self.rounding = rounding
        self.use_recurrent_kernel = use_recurrent_kernel
        self.use_bias = use_bias
        self.embedding_size = embedding_size
        self.task = task
        self.context_units = context_units
        self.element_size = element_size
        self.controller = controller
        self.writes_hidden = writes_hidden

        self.embedding = None
        if embedding_size is not None:
            self.embedding = keras.layers.Embedding(
                len(vocabulary), embedding_size, name="embedding"
            )
        self.recurrent = [self._recurrent_layer(f"{kind}_{i}") for i in range(self.num_layers)]
        self.output_layer = keras.layers.Dense(len(self.answers), use_bias=use_bias, name="logits")
        self.build((None, None))

    def _recurrent_layer(self, name):
        common = {"return_sequences": True, "use_bias": self.use_bias, "name": name}
        if self.kind == "rnn":
            return keras.layers.SimpleRNN(self.units, activation="sigmoid", **common)
        if self.kind == "gru":
            return keras.layers.GRU(self.units, **common)
        if self.kind == "lstm":
            return keras.layers.LSTM(self.units, **common)
        if self.kind == "second_order":
            cell = ControllerCell(self.units, self.kind, use_bias=self.use_bias, name="cell")
            return keras.layers.RNN(cell, return_sequences=True, name=name)
        if self.kind == "srcn":
            cell = SRCNCell(self.units, self.context_units, use_bias=self.use_bias, name="cell")
            return keras.layers.RNN(cell, return_sequences=True, name=name)
        return layer_of(self.kind)(
            self.units,
            self.memories,
            capacity=self.capacity,
            read_depth=self.read_depth,
            no_op=self.no_op,
            rounding=self.rounding,
            use_recurrent_kernel=self.use_recurrent_kernel,
            element_size=self.element_size,
            controller=self.controller,
            writes_hidden=self.writes_hidden,
            **common,
        )

    @property
    def answers(self) -> list[str]:
        """What the model gives logits of."""
        return self.vocabulary

    def answer_places_of(self, lengths: Any) -> tuple[Any, Any]:
        """Where the first answer to texts of these lengths stands, and how many there are.

        They may be arrays or tensors of integers. Places beyond a text's end hold marks.
        """
        return 0 * lengths, lengths

    @property
    def has_memory(self) -> bool:
        return has_memory(self.kind)

    def reading(self) -> dict[str, Any]:
        """How what a user writes becomes what the model reads, fit for JSON: its task's `form`, and
        where answers have places of their own, how many `answer_places` and places of `computation`
        there are (`Transduction` says it), and which symbol ends an answer."""
        return {
            "form": "next_symbol",
            "answer_places": [0, 1, 0],
            "computation": 0,
            "terminator": None,
        }

    def build(self, tokens_shape: tuple[int | None, ...]) -> None:
        features = self.embedding_size or len(self.vocabulary)
        if self.embedding is not None:
            self.embedding.build(tokens_shape)
        for layer in self.recurrent:
            layer.build((*tokens_shape, features))
            features = layer.cell.output_size
        self.output_layer.build((*tokens_shape, features))
        self.built = True

    def call(self, tokens: Tensor, training: bool | None = None) -> Tensor:
        sequences = self.embed(tokens)
        for layer in self.recurrent:
            sequences = layer(sequences, training=training)
        return self.output_layer(sequences)

    def embed(self, tokens: Tensor) -> Tensor:
        """What the first recurrent layer reads for these tokens."""
        if self.embedding is not None:
            return self.embedding(tokens)
        return ops.one_hot(tokens, len(self.vocabulary), dtype=self.compute_dtype)

    def twin(self, **changes: Any) -> Self:
        """The same model with the same weights, but for `changes` of its configuration.

        Example:

        ```python
        rounded = model.twin(rounding=True)
        ```
        """
        config = {**self.get_config(), **changes}
        twin = type(self).from_config(config)
        twin.set_weights(self.get_weights())
        return twin

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "kind": self.kind,
            "vocabulary": list(self.vocabulary),
            "units": self.units,
            "layers": self.num_layers,
            "memories": self.memories,
            "capacity": self.capacity,
            "read_depth": self.read_depth,
            "no_op": self.no_op,
            "rounding": self.rounding,
            "use_recurrent_kernel": self.use_recurrent_kernel,
            "use_bias": self.use_bias,
            "embedding_size": self.embedding_size,
            "task": self.task,
            "context_units": self.context_units,
            "element_size": self.element_size,
            "controller": self.controller,
            "writes_hidden": self.writes_hidden,
        }


@keras.saving.register_keras_serializable(package="keras_stackrnn")
class NextSymbolModel(SequenceModel):
    """Reads sequences of token ids and predicts, at each, the one that follows.

    Its arguments are those of a `SequenceModel`; its answers are the symbols that it reads.

    Example:

    ```python
    model = NextSymbolModel("stack", vocabulary="ab", units=40, memories=10)
    logits = model(np.array([[0, 0, 1, 1]]))  # The logits have shape `(1, 4, 2)`.
    ```
    """
