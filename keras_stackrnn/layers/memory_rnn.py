"""MemoryRNN: a whole-sequence layer with memories of any kind, fused on TensorFlow."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_stackrnn.controllers import KerasCell
from keras_stackrnn.controllers.controller import DERIVATIVES
from keras_stackrnn.layers import advice
from keras_stackrnn.layers.arguments import arguments, by_own_names, refuse_unknown
from keras_stackrnn.layers.memory_budget import refuse_if_too_large
from keras_stackrnn.layers.memory_cell import MemoryCell
from keras_stackrnn.memories import MemoryKind
from keras_stackrnn.types import (
    Activation,
    Constraint,
    Controller,
    Initializer,
    Regularizer,
    Tensor,
)


@keras.saving.register_keras_serializable(package="keras_stackrnn")
class MemoryRNN(keras.layers.RNN):
    """`keras.layers.RNN` over a memory cell, with a fused path on TensorFlow.

    `StackRNN`, `ListRNN` and the others are this with their cell; this is for kinds of your own.

    Args:
        units: Positive integer, the number of hidden units and of outputs.
        num_memories: Positive integer, the number of memories.
        capacity: How many elements a memory holds. `None`, the default: as many as there are; the
            memory's state is then as deep as its elements need, and no element is ever lost. A
            positive integer: no more than that; the metric `lost_elements`, which `fit` and
            `evaluate` log, counts what went past an end.
        use_fused: `"auto"`, the default, runs the fused kernels where it can and the cell in a
            loop, with a warning, where it cannot: with `unroll`, with an activation other than
            sigmoid, tanh, relu or linear, and always on backends other than TensorFlow. `True`
            raises there, `False` always loops. Of a kind whose head is in the middle, in float64
            and compiled, only `True` fuses: of some sizes XLA (of TensorFlow 2.21) miscompiles it.
        return_sequences: Boolean, whether to return the last output or all of them.
        return_state: Boolean, whether to return the last states, `[hidden, memory]`, as well.
        go_backwards: Boolean, whether to process the sequences backwards.
        stateful: Boolean, whether the last states are the next batch's first ones.
            `reset_state()` empties the memory. To compile it, give an integer `capacity`.
        unroll: Boolean, whether to unroll the loop.
        kind: A `memories.MemoryKind`, or the name of one that is registered.
        zero_output_for_mask: Boolean, whether the outputs of masked steps are zeros, and not the
            last ones that counted.
        **kwargs: The arguments of every Keras layer. All others are those of `MemoryCell`.

    Call arguments:
        sequences: A 3D tensor of floats, with shape `(batch, timesteps, features)`.
        initial_state: List of two tensors, `[hidden, memory]`; of any depth if `capacity=None`.
        mask: Binary tensor of shape `(batch, timesteps)`; optional.
        training: Python boolean; only relevant with `rounding`.
        resets: Binary tensor of shape `(batch, timesteps)`; optional. At a step that is marked,
            state and memory begin anew, unless it is masked: so several sequences can lie in one
            row.

    Example:

    ```python
    inputs = np.random.random((32, 10, 8)).astype("float32")
    rnn = keras_stackrnn.MemoryRNN(40, num_memories=5, kind="tape", return_sequences=True)
    outputs = rnn(inputs)  # The outputs have shape `(32, 10, 40)`.
    ```
    """

    CELL: type[MemoryCell] = MemoryCell

    def __init__(
        self,
        units: int,
        num_memories: int = 1,
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
        kind: MemoryKind | str | None = None,
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
        if use_fused not in ("auto", True, False):
            raise ValueError(
                "Received an invalid value for argument `use_fused`: expected 'auto', True or "
                f"False, got {use_fused!r}."
            )
        given = by_own_names(arguments(locals()), self.own_names())
        names = self.CELL.argument_names()
        refuse_unknown(type(self), kwargs, names)
        cell = self.CELL(
            **{name: given[name] for name in names & given.keys()},
            dtype=kwargs.get("dtype"),
            trainable=kwargs.get("trainable", True),
            name="cell",
        )
        kwargs = {name: kwargs[name] for name in kwargs.keys() - names}
        super().__init__(
            cell,
            return_sequences=return_sequences,
            return_state=return_state,
            go_backwards=go_backwards,
            stateful=stateful,
            unroll=unroll,
            zero_output_for_mask=zero_output_for_mask,
            **kwargs,
        )
        # What Keras compiles of its own accord, on a GPU, leaves out what cannot be compiled.
        self.supports_jit = cell.capacity is not None or not stateful
        self.use_fused = use_fused
        self.advice_given: tuple[str, ...] = ()
        if cell.capacity is not None:
            # Shows up in the logs of `fit` and `evaluate`: nothing is lost silently.
            self.lost_elements = keras.metrics.Sum(name="lost_elements")

    @classmethod
    def own_names(cls) -> dict[str, str]:
        """What arguments are called here, by the name that a base class has for them."""
        return cls.CELL.own_names()

    def get_initial_state(self, batch_size: int | Tensor | None) -> list[Tensor]:
        if self.cell.capacity is not None:
            return super().get_initial_state(batch_size)
        return self.cell.empty_state(batch_size, self.cell.read_depth)

    def compute_output_shape(
        self, sequences_shape: Sequence[int | None], initial_state_shape: Any = None
    ) -> tuple:
        shape = super().compute_output_shape(sequences_shape, initial_state_shape)
        if self.cell.capacity is None and self.return_state:
            return *shape, (sequences_shape[0], None)
        return shape

    def _create_state_variables(self, batch_size):
        super()._create_state_variables(batch_size)
        if self.cell.capacity is None:
            # In place: Keras would count a new list's variables among the weights.
            self.states[-1] = _growing_variable(self.states[-1], type(self).__name__)

    def call(
        self,
        sequences: Tensor,
        initial_state: Sequence[Tensor] | None = None,
        mask: Tensor | None = None,
        training: bool = False,
        resets: Tensor | None = None,
    ) -> Tensor | tuple[Tensor, ...]:
        if sequences.shape[1] == 0:
            raise ValueError(
                f"{type(self).__name__} expects sequences of at least one step, "
                f"got shape {tuple(sequences.shape)}."
            )
        if self.unroll and sequences.shape[1] is None:
            raise ValueError(
                f"{type(self).__name__} with unroll=True needs to know the number of steps, "
                f"got shape {tuple(sequences.shape)}."
            )
        advice.when_compiled(self, sequences)
        # Keras' own `call`, but for saying on the way whether the memory is known to be empty.
        starts_empty = initial_state is None and not self.stateful
        if initial_state is None:
            batch_size = ops.shape(sequences)[0]
            initial_state = self.states if self.stateful else self.get_initial_state(batch_size)
        self._check_batch_size(sequences)
        dtype = self.cell.compute_dtype
        initial_state = [ops.convert_to_tensor(state, dtype=dtype) for state in initial_state]
        # Before any loop: what is dropped is the same at all steps.
        self._maybe_config_dropout_masks(self.cell, sequences[:, 0], initial_state)
        last_output, outputs, states = self.inner_loop(
            sequences, initial_state, mask, training, starts_empty, resets
        )
        self._maybe_reset_dropout_masks(self.cell)
        if self.stateful:
            for variable, state in zip(self.states, states, strict=True):
                variable.assign(state)
        output = outputs if self.return_sequences else last_output
        return (output, *states) if self.return_state else output

    def _check_batch_size(self, sequences):
        expected, got = self._expected_batch_size, sequences.shape[0]
        if self.stateful and None not in (expected, got) and expected != got:
            raise ValueError(
                f"{type(self).__name__} with stateful=True expects batches of the size that its "
                f"states have, {expected}, got {got}."
            )

    def inner_loop(
        self,
        sequences: Tensor,
        initial_state: Sequence[Tensor],
        mask: Tensor | None,
        training: bool = False,
        starts_empty: bool = False,
        resets: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, list[Tensor]]:
        self.cell.check_inputs(sequences)
        self.cell.check_states(initial_state)
        mask, resets = _booleans(mask), _booleans(resets)
        if mask is not None and resets is not None:
            resets = ops.logical_and(resets, mask)  # a masked step leaves all as it was
        marks = {"mask": mask, "resets": resets}
        if self.is_fused():
            loop = self._fused_loop(sequences, initial_state, training, starts_empty, **marks)
        else:
            if self.use_fused and keras.backend.backend() == "tensorflow":
                advice.warn_of_loop(self, self._reason_not_to_fuse())
            loop = self._cell_loop(sequences, initial_state, training, **marks)
        outputs, states, lost = loop
        if self.cell.capacity is not None:
            self.lost_elements.update_state(lost)
        return outputs[:, -1], outputs, states

    def is_fused(self) -> bool:
        """Whether the fused kernels are used; raises where they must be and cannot."""
        reason = self._reason_not_to_fuse()
        if self.use_fused is True and reason:
            raise ValueError(f"{type(self).__name__} cannot run with use_fused=True: {reason}.")
        return self.use_fused is not False and not reason

    def _reason_not_to_fuse(self):
        if keras.backend.backend() != "tensorflow":
            return (
                f"the backend is {keras.backend.backend()}, and only TensorFlow has fused kernels"
            )
        if self.unroll:
            return "unroll=True asks for a loop in Python"
        from keras_stackrnn.kernels.compilation import is_being_compiled

        kind = self.cell.kind
        in_danger = kind.has_two_sides and self.compute_dtype == "float64"
        if self.use_fused == "auto" and in_danger and is_being_compiled():
            return f"XLA (of TensorFlow 2.21) miscompiles {kind.plural} of some sizes in float64"
        if isinstance(self.cell.controller, KerasCell):
            name = type(self.cell.controller.cell).__name__
            return f"the controller is a Keras cell, {name}, of which only Keras knows the gradient"
        activation = self.cell.activation
        if not self.cell.controller.can_go_back:
            name = getattr(activation, "__name__", type(activation).__name__)
            return f"the activation is {name!r}, and expected is one of {tuple(DERIVATIVES)}"
        return None

    def _fused_loop(self, sequences, initial_state, training, starts_empty, mask, resets):
        from keras_stackrnn.layers import whole_sequences

        if self.go_backwards:
            sequences, mask, resets = (
                each if each is None else ops.flip(each, axis=1)
                for each in (sequences, mask, resets)
            )
        outputs, states, lost = whole_sequences.run(
            self.cell,
            sequences,
            initial_state,
            starts_empty=starts_empty,
            training=training,
            keep_state=self.stateful or self.return_state,
            differentiate_state=self.return_state,
            mask=mask,
            resets=resets,
        )
        if mask is not None:
            # As Keras has it: the last output that counted, or none.
            some = mask if self.zero_output_for_mask else ops.cumsum(ops.cast(mask, "int32"), 1) > 0
            outputs = ops.where(some[..., None], outputs, 0)
        if states[-1] is None:
            states = [*states[:-1], initial_state[-1]]
        return outputs, self._trimmed(states), lost

    def _cell_loop(self, sequences, initial_state, training, mask, resets):
        """The cell, step by step in Keras' own loop, counting what is lost on the way."""
        *states, slots = initial_state
        batch, steps = ops.shape(sequences)[:2]
        if self.cell.capacity is None:
            slots = self.cell.grow(slots, steps)
        refuse_if_too_large(
            self.cell,
            batch=batch,
            rows=None if slots.shape[1] is None else slots.shape[1] // self.cell.row_size,
            steps=steps,
            training=training,
        )
        loop = keras.layers.RNN(
            _LossCountingCell(self.cell, training, resets is not None),
            return_sequences=self.return_sequences,
            go_backwards=self.go_backwards,
            stateful=self.stateful,
            unroll=self.unroll,
            zero_output_for_mask=self.zero_output_for_mask,
            name="loop",
        )
        if resets is not None:
            column = ops.cast(resets, sequences.dtype)[..., None]
            sequences = ops.concatenate([sequences, column], axis=-1)
        _, outputs, states = loop.inner_loop(
            sequences, [*states, slots, ops.zeros_like(states[0][:, :1])], mask
        )
        *states, lost = states
        return outputs, self._trimmed(states), ops.sum(lost)

    def _trimmed(self, states):
        """Growing memories lose the rows that are empty throughout, where shapes may depend on
        values: not inside a `tf.function`, which may be compiled, unless the layer is stateful."""
        if self.cell.capacity is not None or keras.backend.backend() != "tensorflow":
            return states
        import tensorflow as tf

        from keras_stackrnn.layers import whole_sequences

        if not (tf.executing_eagerly() or self.stateful):
            return states
        *states, memory = states
        return [*states, whole_sequences.trim(self.cell, memory)]

    def memory_of(self, states: Sequence[Tensor]) -> Tensor:
        """The memories in the states that the layer returns or is given.

        Args:
            states: The layer's states, the memory's last.

        Returns:
            `(batch, depth, memories, element_size)`, whatever the kind of memory.
        """
        cell = self.cell
        slots = cell.in_rows(states[-1])
        elements = slots[..., : cell.element_size * cell.num_memories]
        batch, depth, _ = ops.shape(elements)
        shape = (batch, depth, cell.element_size, cell.num_memories)
        return ops.transpose(ops.reshape(elements, shape), (0, 1, 3, 2))

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        del config["cell"]
        cell_config = self.cell.get_config()
        for name in ("name", "trainable", "dtype", "build_config"):
            cell_config.pop(name, None)
        return {**config, **cell_config, "use_fused": self.use_fused}

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> "MemoryRNN":
        return cls(**config)


class _LossCountingCell:
    """A memory cell with a state more: how many elements each batch element has lost."""

    def __init__(self, cell, training, has_resets):
        self.cell = cell
        self.training = training
        self.has_resets = has_resets  # in the last column of the inputs
        self.state_size = [*cell.state_size, 1]

    def __call__(self, inputs, states):
        return self.call(inputs, states)

    def call(self, inputs, states):
        *states, lost_before = states
        if self.has_resets:
            inputs, resets = inputs[:, :-1], inputs[:, -1:] > 0
            states = self.cell.begun_anew(resets, states)
        hidden, states, lost = self.cell.step(inputs, states, self.training)
        return hidden, [*states, lost_before + lost]


def _booleans(marks):
    return None if marks is None else ops.cast(marks, "bool")


def _growing_variable(state, layer_name):
    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            f"{layer_name} with stateful=True and capacity=None needs the TensorFlow backend; "
            f"with {keras.backend.backend()} give it an integer `capacity`."
        )
    import tensorflow as tf

    value = tf.convert_to_tensor(state.value)
    return tf.Variable(value, trainable=False, shape=[value.shape[0], None], name="rnn_state")
