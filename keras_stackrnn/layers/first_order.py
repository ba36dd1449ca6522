"""Cells whose kernels add up: what comes from the input, from what was read, from the state."""

from keras import ops

from keras_stackrnn.layers.recurrent_cell import add_bias


def build(cell, features, numbers_read, outputs):
    gates = cell.controller.gates * cell.units
    cell.kernel = cell._add_kernel("kernel", (features, gates))
    cell.recurrent_kernel = None
    if cell.use_recurrent_kernel:
        cell.recurrent_kernel = cell._add_kernel("recurrent", (cell.units, gates))
    if numbers_read is not None:
        cell.memory_kernel = cell._add_kernel("memory", (numbers_read, gates))
    for name, numbers in outputs.items():
        setattr(cell, f"{name}_kernel", cell._add_kernel(name, (cell.units, numbers)))
    many = cell.controller.biases
    shape = (gates,) if many == 1 else (many, gates)
    cell.bias = cell._add_bias("bias", shape, cell.controller.initial_bias)
    for name, numbers in outputs.items():
        setattr(cell, f"{name}_bias", cell._add_bias(f"{name}_bias", numbers))


def projected(cell, inputs):
    return ops.matmul(inputs, cell.kernel)


def decide(cell, projected, read, states, outputs, hidden_mask):
    before = projected
    if read is not None:
        before = before + ops.matmul(read, cell.memory_kernel)
    states = states_after(cell, before, states, cell.input_bias, hidden_mask)
    found = []
    for name in outputs:
        product = ops.matmul(states["hidden"], getattr(cell, f"{name}_kernel"))
        found.append(add_bias(product, getattr(cell, f"{name}_bias")))
    return states, found


def states_after(cell, before, states, bias=None, hidden_mask=None):
    """The controller's states after a step.

    Args:
        before: `[batch, gates * units]`, what comes from the input and what was read.
        bias: Added to `before`, if that has not been done yet.
    """
    recurrent = None
    if cell.use_recurrent_kernel:
        hidden = states["hidden"]
        hidden = hidden if hidden_mask is None else hidden * hidden_mask
        recurrent = ops.matmul(hidden, cell.recurrent_kernel)
    if cell.controller.biases == 1:
        # Summed up first, in the order of equation 6.
        before = add_bias(before if recurrent is None else before + recurrent, bias)
        recurrent = None
    else:
        before = add_bias(before, bias)
        if recurrent is not None and cell.use_bias:
            recurrent = recurrent + cell.bias[1]
    gates = cell.controller.gates
    after, _ = cell.controller.step(
        ops.split(before, gates, axis=-1) if gates > 1 else [before],
        recurrent if recurrent is None else ops.split(recurrent, gates, axis=-1),
        states,
    )
    return after
