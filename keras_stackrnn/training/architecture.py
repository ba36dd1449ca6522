"""The one description of a model that configurations, populations and Keras models share."""

import dataclasses
from collections.abc import Sequence

from keras_stackrnn import controllers, memories
from keras_stackrnn.memories.layout import MemoryLayout
from keras_stackrnn.models import CONTROLLERS_ALONE, NextSymbolModel, SequenceModel, has_memory


@dataclasses.dataclass(frozen=True)
class Architecture:
    """A sequence model but for its weights; see `SequenceModel` for what each value means.

    `capacity` is that of training. `context_units` of 0 are those of the model itself;
    `outputs`, how many answers there are, as many as `symbols` if not said. `centred` says that the
    biases that learn are centred ones: see centring.py.
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
    writes_hidden: bool = False
    outputs: int | None = None
    centred: bool = False

    @property
    def answers(self) -> int:
        return self.symbols if self.outputs is None else self.outputs

    @property
    def decider(self) -> controllers.Controller:
        """The controller."""
        name = CONTROLLERS_ALONE.get(self.kind, self.controller)
        return controllers.get(name, writes_hidden=self.writes_hidden)

    @property
    def layout(self) -> MemoryLayout:
        """What the memories are; where there are none, of any kind, as there are none of it."""
        kind = memories.get(self.kind if has_memory(self.kind) else "stack").using(self.no_op)
        return MemoryLayout(kind, self.read_depth, self.element_size)

    @property
    def rows(self) -> int:
        """How many elements the memories hold in training."""
        return self.read_depth if self.capacity is None else self.capacity

    @property
    def controls(self) -> int:
        """How many numbers a step decides about all memories of a model."""
        layout = self.layout
        numbers = layout.controls - (layout.element_size if self.writes_hidden else 0)
        return numbers * self.memories

    @property
    def logits(self) -> int:
        """How many numbers of a layer's step get noise: of the controls, and of discrete states."""
        return self.controls + (self.units if self.decider.order > 1 else 0)

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
            names = (*names, "element_size", "controller", "writes_hidden")
            arguments |= {name: getattr(self, name) for name in names}
        if self.context_units:
            arguments["context_units"] = self.context_units
        return model_class(self.kind, vocabulary, self.units, **{**arguments, **changes})
