"""The one description of a model that configurations, populations and Keras models share."""

import dataclasses
from collections.abc import Sequence

from keras_stackrnn import memories
from keras_stackrnn.memories.layout import MemoryLayout
from keras_stackrnn.models import NextSymbolModel, SequenceModel, has_memory


@dataclasses.dataclass(frozen=True)
class Architecture:
    """A sequence model but for its weights; see `SequenceModel` for what each value means.

    `capacity` is that of training. `context_units` of 0 are those of the model itself;
    `outputs`, how many answers there are, as many as `symbols` if not said.
    """

    kind: str
    symbols: int
    units: int
    layers: int
    memories: int
    capacity: int | None
    read_depth: int
    no_op: bool
    use_recurrent_kernel: bool = True
    use_bias: bool = True
    embedding_size: int | None = None
    context_units: int = 0
    element_size: int = 1
    controller: str = "simple"
    outputs: int | None = None

    @property
    def answers(self) -> int:
        return self.symbols if self.outputs is None else self.outputs

    @property
    def layout(self) -> MemoryLayout:
        kind = memories.get(self.kind).using(self.no_op)
        return MemoryLayout(kind, self.read_depth, self.element_size)

    @property
    def controls(self) -> int:
        """How many numbers decide about all memories of a model."""
        return self.layout.controls * self.memories

    def model(
        self,
        vocabulary: Sequence[str],
        task: str,
        model_class: type[SequenceModel] = NextSymbolModel,
        **changes,
    ) -> SequenceModel:
        """A Keras model of this kind, but for `changes` of its arguments."""
        arguments = {
            "layers": self.layers,
            "use_bias": self.use_bias,
            "embedding_size": self.embedding_size,
            "task": task,
        }
        if has_memory(self.kind):
            names = ("memories", "capacity", "read_depth", "no_op", "use_recurrent_kernel")
            names = (*names, "element_size", "controller")
            arguments |= {name: getattr(self, name) for name in names}
        if self.context_units:
            arguments["context_units"] = self.context_units
        return model_class(self.kind, vocabulary, self.units, **{**arguments, **changes})
