"""What StackCell and ListCell share: arguments, weights and the controller's step."""

import inspect

from keras import ops

from keras_stackrnn.layers.recurrent_cell import RecurrentCell, add_bias, require_positive_integer
from keras_stackrnn.memories import soft as memory


class MemoryCell(RecurrentCell):
    """Base of the cells: a simple recurrent cell that reads its memories and acts on them.

    A subclass says which actions there are, what they do to the memories and what is read. One
    step, with the paper's equation numbers:

    ```
    hidden  = activation(inputs @ kernel + hidden @ recurrent_kernel + read @ memory_kernel)  (6)
    actions = softmax(hidden @ action_kernel), one softmax a memory                           (3)
    memory  = update(memory, actions, sigmoid(hidden @ write_kernel))                         (4, 5)
    ```
    """

    ACTIONS: tuple[str, ...]
    MEMORIES: str  # what the memories are called: "stacks"
    WRITE: str  # what writing is called: "push"

    def __init__(
        self,
        units,
        num_memories,
        capacity,
        read_depth,
        no_op,
        use_recurrent_kernel,
        use_bias,
        rounding,
        activation,
        **kwargs,
    ):
        units = require_positive_integer("units", units)
        num_memories = require_positive_integer(f"num_{self.MEMORIES}", num_memories)
        read_depth = require_positive_integer("read_depth", read_depth)
        if capacity is not None:
            capacity = require_positive_integer("capacity", capacity)
            if read_depth > capacity:
                raise ValueError(
                    "Argument `read_depth` cannot be above `capacity`: "
                    f"expected at most {capacity}, got {read_depth}."
                )
        super().__init__(units, use_bias, activation, **kwargs)
        self.num_memories = num_memories
        self.capacity = capacity
        self.read_depth = read_depth
        self.no_op = no_op
        self.use_recurrent_kernel = use_recurrent_kernel
        self.rounding = rounding
        self.output_size = units

    @classmethod
    def weight_initializers(cls):
        return {
            "kernel": "glorot_uniform",
            "recurrent": "orthogonal",
            "memory": "glorot_uniform",
            "action": "glorot_uniform",
            cls.WRITE: "glorot_uniform",
            "bias": "zeros",
        }

    @classmethod
    def argument_names(cls) -> list[str]:
        """The names of the cell's own arguments, weight options included."""
        own = [name for name in inspect.signature(cls).parameters if name != "kwargs"]
        return own + [name for name, _ in cls._weight_options()]

    @property
    def actions(self) -> tuple[str, ...]:
        """The actions' names, in the order of their weights."""
        return self.ACTIONS if self.no_op else self.ACTIONS[:-1]

    @property
    def state_size(self) -> list[int]:
        if self.capacity is None:
            return [self.units, None]
        return [self.units, self.capacity * self.num_memories]

    @property
    def write_kernel(self):
        return getattr(self, f"{self.WRITE}_kernel")

    @property
    def write_bias(self):
        return getattr(self, f"{self.WRITE}_bias")

    def build(self, input_shape):
        self.check_step_shape(input_shape)
        controls = len(self.actions) * self.num_memories
        self.kernel = self._add_kernel("kernel", (input_shape[-1], self.units))
        self.recurrent_kernel = None
        if self.use_recurrent_kernel:
            self.recurrent_kernel = self._add_kernel("recurrent", (self.units, self.units))
        self.memory_kernel = self._add_kernel(
            "memory", (self.read_depth * self.num_memories, self.units)
        )
        self.action_kernel = self._add_kernel("action", (self.units, controls))
        setattr(
            self,
            f"{self.WRITE}_kernel",
            self._add_kernel(self.WRITE, (self.units, self.num_memories)),
        )
        self.bias = self._add_bias("bias", self.units)
        self.action_bias = self._add_bias("action_bias", controls)
        setattr(self, f"{self.WRITE}_bias", self._add_bias(f"{self.WRITE}_bias", self.num_memories))

    def call(self, inputs, states, training=None):
        self.check_step_shape(inputs.shape)
        self.check_inputs(inputs)
        self.check_states(states)
        hidden, after, _ = self.step(inputs, states, training)
        return hidden, [hidden, after]

    def step(self, inputs, states, training=None):
        """One step: the hidden units, the memory's state, and how much of it was lost, a row."""
        hidden, slots = states[0], memory.unflatten(states[1], self.num_memories)
        before = ops.matmul(inputs, self.kernel)
        before = before + ops.matmul(self.read(slots), self.memory_kernel)
        if self.use_recurrent_kernel:
            before = before + ops.matmul(hidden, self.recurrent_kernel)
        hidden = self.activation(add_bias(before, self.bias))

        logits = add_bias(ops.matmul(hidden, self.action_kernel), self.action_bias)
        actions = memory.action_weights(
            memory.unflatten(logits, self.num_memories), rounding=self.rounding and not training
        )
        value = ops.sigmoid(add_bias(ops.matmul(hidden, self.write_kernel), self.write_bias))
        after = memory.flatten(self.update(slots, actions, value))
        return hidden, after, self.lost(slots, actions)

    def read(self, slots):
        raise NotImplementedError("A memory cell says what it reads.")

    def update(self, slots, actions, value):
        raise NotImplementedError("A memory cell says what its actions do.")

    def lost(self, slots, actions):
        raise NotImplementedError("A memory cell says what falls off its ends.")

    def grow(self, state, steps):
        raise NotImplementedError("A memory cell says where its memory grows.")

    def get_initial_state(self, batch_size=None):
        if self.capacity is None:
            raise ValueError(
                f"{type(self).__name__} needs a `capacity` to make its initial state: expected a "
                "positive integer, got None."
            )
        hidden_size, memory_size = self.state_size
        return [
            ops.zeros((batch_size, hidden_size), dtype=self.compute_dtype),
            ops.full((batch_size, memory_size), memory.EMPTY, dtype=self.compute_dtype),
        ]

    def get_config(self):
        config = {
            f"num_{self.MEMORIES}": self.num_memories,
            "capacity": self.capacity,
            "read_depth": self.read_depth,
            "no_op": self.no_op,
            "use_recurrent_kernel": self.use_recurrent_kernel,
            "rounding": self.rounding,
        }
        return {**super().get_config(), **config}

    def check_states(self, states):
        if len(states) != 2:
            raise ValueError(
                f"{type(self).__name__} expects two states, [hidden, memory], got {len(states)}."
            )
        for name, state, size in zip(("hidden", "memory"), states, self.state_size, strict=True):
            if size is None:
                expected = f"rows * {self.num_memories}) with at least {self.read_depth} rows"
                fits = state.shape[-1] is None or (
                    state.shape[-1] % self.num_memories == 0
                    and state.shape[-1] >= self.read_depth * self.num_memories
                )
            else:
                expected = f"{size})"
                fits = state.shape[-1] in (None, size)
            if len(state.shape) != 2 or not fits:
                raise ValueError(
                    f"{type(self).__name__} expects a {name} state of shape (batch, {expected}, "
                    f"got shape {tuple(state.shape)}."
                )
