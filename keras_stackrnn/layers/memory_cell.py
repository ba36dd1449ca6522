"""MemoryCell: one step of a recurrent network with memories of any kind."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

# Not public; but it is how `keras.layers.RNN` knows a cell whose dropout masks it has to make.
from keras.src.layers.rnn.dropout_rnn_cell import DropoutRNNCell

from keras_stackrnn import memories
from keras_stackrnn.layers.arguments import (
    arguments,
    by_own_names,
    require_positive_integer,
    require_rate,
    signature_names,
)
from keras_stackrnn.layers.controlled_cell import ControlledCell
from keras_stackrnn.memories import MemoryKind
from keras_stackrnn.memories.layout import MemoryLayout
from keras_stackrnn.memories.soft import EMPTY, action_weights
from keras_stackrnn.types import (
    Activation,
    Constraint,
    Controller,
    Initializer,
    Regularizer,
    Tensor,
)


@keras.saving.register_keras_serializable(package="keras_stackrnn")
class MemoryCell(ControlledCell, DropoutRNNCell):
    """A simple recurrent cell that reads its memories and acts on them.

    `StackCell`, `ListCell` and the others are this with their kind; this is for kinds of your own.
    One step, with the paper's equation numbers, where `read` are the elements that are read:

    ```
    hidden  = activation(inputs @ kernel + hidden @ recurrent_kernel + read @ memory_kernel)  (6)
    actions = softmax(hidden @ action_kernel), one softmax a memory                           (3)
    memory  = update(memory, actions, sigmoid(hidden @ write_kernel))                         (4, 5)
    ```

    Other controllers have Keras' gates in place of (6), where `inputs @ kernel + read @
    memory_kernel` stands for what they read; their kernels have as many blocks of columns.

    The states are `[hidden, memory]`, of an LSTM `[hidden, cell, memory]`. The memory's reads as
    `(batch, capacity, numbers, memories)`: an element has `element_size` numbers, an empty slot is
    -1.

    Args:
        units: Positive integer, the number of hidden units and of outputs.
        num_memories: Positive integer, the number of memories.
        capacity: Positive integer, how many elements a memory holds; what is moved past an end is
            lost. (`None` is for `MemoryRNN`, whose memories grow.)
        read_depth: Positive integer, how many elements of each memory are read.
        no_op: Boolean, whether there is also an action that leaves a memory as it is.
        use_recurrent_kernel: Boolean, whether the hidden units see their last values. Without,
            the memories are all that the cell remembers.
        use_bias: Boolean, whether hidden units, actions and written values have biases.
        rounding: Boolean, whether the most probable action alone is taken at inference; training
            always mixes.
        activation: Activation function of the hidden units; `"auto"`: the controller's own, sigmoid
            of `"simple"`, tanh of the others.
        element_size: Positive integer, how many numbers an element has; one action moves them all.
        controller: `"simple"`, the paper's; `"gru"` or `"lstm"`, which are Keras' own but for what
            they read of the memory; `"second_order"`, for discrete states: the input chooses the
            table that says which one comes next.
        dropout: Float from 0 to below 1, which share of the inputs is dropped in training; as with
            Keras' own cells the same ones at all steps of a sequence.
        recurrent_dropout: The same of the hidden units that the next step sees.
        memory_dropout: The same of what is read from the memories.
        seed: Seed of what is dropped.
        kind: A `memories.MemoryKind`, or the name of one that is registered.
        writes_hidden: Boolean, whether the element written is the hidden units before the step; of
            `"second_order"`, with an `element_size` of as many as `units`.
        kernel_initializer, recurrent_initializer, memory_initializer, action_initializer,
            write_initializer, bias_initializer: Initializers of the weights.
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
    cell = keras_stackrnn.MemoryCell(40, num_memories=5, kind="tape")
    outputs = keras.layers.RNN(cell)(inputs)  # The outputs have shape `(32, 40)`.
    ```
    """

    KIND: memories.MemoryKind | None = None  # of a subclass that has just one
    WRITE = "write"  # what writing is called, as in `push_kernel`
    _memory_dropout_mask = None

    def __init__(
        self,
        units: int,
        num_memories: int = 1,
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
        kind: MemoryKind | str | None = None,
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
        given = by_own_names(arguments(locals()), self.own_names())
        num_memories = require_positive_integer(self.count_name(), given[self.count_name()])
        weight_options = {name: given[name] for name in self.weight_options()}
        kwargs = {name: kwargs[name] for name in kwargs.keys() - self.own_names().values()}
        units = require_positive_integer("units", units)
        read_depth = require_positive_integer("read_depth", read_depth)
        element_size = require_positive_integer("element_size", element_size)
        if capacity is not None:
            capacity = require_positive_integer("capacity", capacity)
            if read_depth > capacity:
                raise ValueError(
                    "Argument `read_depth` cannot be above `capacity`: "
                    f"expected at most {capacity}, got {read_depth}."
                )
        if self.KIND and kind:
            raise ValueError(
                f"{type(self).__name__} has no argument `kind`: its memories are "
                f"{self.KIND.plural}, and those of `MemoryCell` are of any kind."
            )
        memory_kind = memories.get(self.KIND or kind)
        layout = MemoryLayout(memory_kind.using(no_op), read_depth, element_size)
        super().__init__(
            units,
            controller,
            activation,
            use_recurrent_kernel,
            use_bias,
            writes_hidden,
            weight_options,
            **kwargs,
        )
        if writes_hidden and element_size != units:
            raise ValueError(
                "With writes_hidden=True an element is as large as the hidden units: expected "
                f"element_size={units}, got {element_size}."
            )
        self.kind = memory_kind
        self.layout = layout
        self.num_memories = num_memories
        self.capacity = capacity
        self.read_depth = read_depth
        self.no_op = no_op
        self.writes_hidden = writes_hidden
        self.rounding = rounding
        self.element_size = element_size
        self.dropout = require_rate("dropout", dropout)
        self.recurrent_dropout = require_rate("recurrent_dropout", recurrent_dropout)
        self.memory_dropout = require_rate("memory_dropout", memory_dropout)
        if self.recurrent_dropout and self.controller.order == 0:
            raise ValueError(
                "The state of a Keras cell is its own: expected recurrent_dropout=0, got "
                f"{recurrent_dropout}."
            )
        self.seed = seed
        if self.drops:  # a generator's state is part of what is saved
            self.seed_generator = keras.random.SeedGenerator(seed)

    @classmethod
    def count_name(cls) -> str:
        """What the argument is called that says how many memories there are."""
        return f"num_{cls.KIND.plural}" if cls.KIND else "num_memories"

    @classmethod
    def weight_names(cls) -> Sequence[str]:
        return ("kernel", "recurrent", "memory", "action", cls.WRITE, "bias")

    @classmethod
    def own_names(cls) -> dict[str, str]:
        pairs = zip(MemoryCell.weight_options(), cls.weight_options(), strict=True)
        names = {"num_memories": cls.count_name(), **dict(pairs)}
        return {general: own for general, own in names.items() if general != own}

    @classmethod
    def argument_names(cls) -> set[str]:
        """The names of the cell's own arguments, weight options included."""
        classes = cls.__mro__[: cls.__mro__.index(MemoryCell) + 1]
        return signature_names(classes) - {"self", "kwargs", *cls.own_names()}

    @property
    def actions(self) -> tuple[str, ...]:
        """The actions' names, in the order of their weights."""
        return self.layout.actions

    @property
    def row_size(self) -> int:
        """How many numbers one row of all memories has."""
        return self.layout.numbers * self.num_memories

    @property
    def drops(self) -> bool:
        """Whether anything is dropped in training."""
        return bool(self.dropout or self.recurrent_dropout or self.memory_dropout)

    def get_recurrent_dropout_mask(self, step_input: Tensor) -> Tensor | None:
        # Keras asks for it before its loop over time, where the memories' mask has to be made, too.
        if self.memory_dropout and self._memory_dropout_mask is None:
            size = self.read_depth * self.element_size * self.num_memories
            ones = ops.ones((ops.shape(step_input)[0], size), dtype=step_input.dtype)
            self._memory_dropout_mask = self._create_dropout_mask(ones, self.memory_dropout)
        return super().get_recurrent_dropout_mask(step_input)

    def reset_recurrent_dropout_mask(self) -> None:
        super().reset_recurrent_dropout_mask()
        self._memory_dropout_mask = None

    def dropout_masks(
        self, inputs: Tensor, hidden: Tensor | None, training: bool | None
    ) -> dict[str, Tensor]:
        """What inputs, hidden units and what is read are multiplied by, where it is not 1."""
        if not (training and self.drops):
            return {}
        masks = {
            "inputs": self.get_dropout_mask(inputs),
            "hidden": None if hidden is None else self.get_recurrent_dropout_mask(hidden),
            "read": self._memory_dropout_mask,
        }
        return {name: mask for name, mask in masks.items() if mask is not None}

    @property
    def state_names(self) -> tuple[str, ...]:
        """What the states are called, in order."""
        return (*self.controller.states, "memory")

    @property
    def state_size(self) -> list[int | None]:
        memory = None if self.capacity is None else self.capacity * self.row_size
        return [*self.controller.state_sizes(self.units), memory]

    @property
    def value_kernel(self) -> Tensor:
        """The kernel of the elements written, whatever its name."""
        return getattr(self, f"{self.WRITE}_kernel")

    @property
    def value_bias(self) -> Tensor | None:
        return getattr(self, f"{self.WRITE}_bias")

    @property
    def _outputs(self) -> dict[str, int]:
        """What is decided beside the controller's states, and how many numbers that is."""
        outputs = {"action": len(self.actions) * self.num_memories}
        if not self.writes_hidden:
            outputs[self.WRITE] = self.element_size * self.num_memories
        return outputs

    def build(self, input_shape: Sequence[int | None]) -> None:
        self.check_step_shape(input_shape)
        numbers_read = self.read_depth * self.element_size * self.num_memories
        self._build_controller(input_shape[-1], numbers_read, self._outputs)

    def call(
        self, inputs: Tensor, states: Sequence[Tensor], training: bool | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        self.check_step_shape(inputs.shape)
        self.check_inputs(inputs)
        self.check_states(states)
        hidden, after, _ = self.step(inputs, states, training)
        return hidden, after

    def step(
        self, inputs: Tensor, states: Sequence[Tensor], training: bool | None = None
    ) -> tuple[Tensor, list[Tensor], Tensor]:
        """One step: the hidden units, the states, and how much of the memory was lost, a row."""
        *of_controller, memory = states
        slots = self.in_rows(memory)
        read = _joined(self.layout.read(slots, self.layout.head(ops.shape(slots)[1])))
        earlier = dict(zip(self.controller.states, of_controller, strict=True))
        masks = self.dropout_masks(inputs, earlier.get("hidden"), training)
        inputs, read = (
            tensor * masks[name] if name in masks else tensor
            for name, tensor in (("inputs", inputs), ("read", read))
        )
        decided, logits, value = self.controls(
            self.projected(inputs), read, earlier, masks.get("hidden")
        )
        actions = action_weights(
            _split(logits, self.num_memories), rounding=self.rounding and not training
        )
        after = _joined(self.update(slots, actions, value))
        later = [decided[name] for name in self.controller.states]
        return decided["hidden"], [*later, after], self.lost(slots, actions)

    def controls(
        self,
        projected: Tensor,
        read: Tensor,
        states: dict[str, Tensor],
        hidden_mask: Tensor | None = None,
    ) -> tuple[dict[str, Tensor], Tensor, Tensor]:
        """What a step decides.

        Args:
            projected: What `projected` made of the inputs.
            read: `[batch, read_depth * element_size * num_memories]`, what was read.
            states: The controller's states before it, by name.
            hidden_mask: What the hidden units are multiplied by before they are seen.

        Returns:
            The controller's states after it; the actions' logits, `[batch, actions *
            num_memories]`; and the elements to write, `[batch, element_size * num_memories]`.
        """
        after, [logits, *values] = self.decide(
            projected, read, states, tuple(self._outputs), hidden_mask
        )
        if self.writes_hidden:
            return after, logits, ops.repeat(states["hidden"], self.num_memories, axis=-1)
        return after, logits, ops.sigmoid(values[0])

    def begun_anew(self, resets: Tensor, states: Sequence[Tensor]) -> list[Tensor]:
        """The states, or those before a first step in the rows where `resets`, `[batch, 1]`."""
        *of_controller, memory = states
        return [
            *(ops.where(resets, 0, state) for state in of_controller),
            ops.where(resets, EMPTY, memory),
        ]

    def update(self, slots: Tensor, actions: Tensor, value: Tensor) -> Tensor:
        """The memories after a step.

        Args:
            slots: `[batch, rows, row_size]`.
            actions: `[batch, actions, num_memories]`, the actions' weights.
            value: `[batch, element_size * num_memories]`, the elements written.
        """
        head = self.layout.head(ops.shape(slots)[1])
        return self.layout.act(_each(actions), ops.expand_dims(value, 1), slots, head)

    def lost(self, slots: Tensor, actions: Tensor) -> Tensor:
        """How many elements a step takes past an end, `[batch, 1]`."""
        return ops.sum(self.layout.lost(_each(actions), slots)[:, 0], axis=-1, keepdims=True)

    def grow(self, state: Tensor, steps: int | Tensor) -> Tensor:
        """A memory's state with room for `steps` elements more."""
        slots = self.in_rows(state)
        return _joined(self.layout.embed(slots, self.layout.grown(ops.shape(slots)[1], steps)))

    def in_rows(self, state: Tensor) -> Tensor:
        """A memory's state as `[batch, rows, row_size]`."""
        return _split(state, self.row_size)

    def get_initial_state(self, batch_size: int | Tensor | None = None) -> list[Tensor]:
        if self.capacity is None:
            raise ValueError(
                f"{type(self).__name__} needs a `capacity` to make its initial state: expected a "
                "positive integer, got None."
            )
        return self.empty_state(batch_size, self.capacity)

    def empty_state(self, batch_size: int | Tensor | None, rows: int) -> list[Tensor]:
        """The states before the first step, with memories of so many rows."""
        return [
            *(
                ops.zeros((batch_size, size), dtype=self.compute_dtype)
                for size in self.controller.state_sizes(self.units)
            ),
            ops.full((batch_size, rows * self.row_size), EMPTY, dtype=self.compute_dtype),
        ]

    def get_config(self) -> dict[str, Any]:
        config: dict[str, Any] = {
            self.count_name(): self.num_memories,
            "capacity": self.capacity,
            "read_depth": self.read_depth,
            "no_op": self.no_op,
            "use_recurrent_kernel": self.use_recurrent_kernel,
            "rounding": self.rounding,
            "element_size": self.element_size,
            "controller": self.controller.description(),
            "writes_hidden": self.writes_hidden,
            "dropout": self.dropout,
            "recurrent_dropout": self.recurrent_dropout,
            "memory_dropout": self.memory_dropout,
            "seed": self.seed,
        }
        if self.KIND is None:
            config["kind"] = self.kind.description()
        return {**super().get_config(), **config}

    def check_states(self, states: Sequence[Tensor]) -> None:
        """Raises unless states are as many, and of the sizes, as the cell has."""
        if len(states) != len(self.state_names):
            count = {2: "two", 3: "three"}.get(len(self.state_names), len(self.state_names))
            raise ValueError(
                f"{type(self).__name__} expects {count} states, [{', '.join(self.state_names)}], "
                f"got {len(states)}."
            )
        for name, state, size in zip(self.state_names, states, self.state_size, strict=True):
            if size is None:
                expected = f"rows * {self.row_size}) with at least {self.read_depth} rows"
                fits = state.shape[-1] is None or (
                    state.shape[-1] % self.row_size == 0
                    and state.shape[-1] >= self.read_depth * self.row_size
                )
            else:
                expected = f"{size})"
                fits = state.shape[-1] in (None, size)
            if len(state.shape) != 2 or not fits:
                raise ValueError(
                    f"{type(self).__name__} expects a {name} state of shape (batch, {expected}, "
                    f"got shape {tuple(state.shape)}."
                )


def _each(actions) -> list:
    """`[batch, actions, memories]` as a tensor `[batch, 1, memories]` for each action."""
    return [actions[:, action : action + 1] for action in range(actions.shape[1])]


def _joined(rows):
    """`[batch, rows, lanes]` as `[batch, rows * lanes]`, the shape of a Keras state."""
    batch, count, lanes = ops.shape(rows)
    return ops.reshape(rows, (batch, count * lanes))


def _split(state, lanes: int):
    """The inverse of `_joined`."""
    batch, size = ops.shape(state)
    return ops.reshape(state, (batch, size // lanes, lanes))
