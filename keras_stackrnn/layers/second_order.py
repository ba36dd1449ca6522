"""Cells in which the input chooses the table: see `controllers.SecondOrder`.

Each kernel is `(features, pairs, numbers)`, a pair being one of a hidden unit and a number that was
read; both have a 1 behind them.
"""

from keras import ops

from keras_stackrnn.layers.recurrent_cell import add_bias


def build(cell, features, numbers_read, outputs):
    pairs = (cell.units + 1) * ((numbers_read or 0) + 1)
    cell.kernel = cell._add_kernel("kernel", (features, pairs, cell.units))
    for name, numbers in outputs.items():
        kernel = cell._add_kernel(name, (features, pairs, numbers))
        setattr(cell, f"{name}_kernel", kernel)
    cell.bias = cell._add_bias("bias", cell.units)
    for name, numbers in outputs.items():
        setattr(cell, f"{name}_bias", cell._add_bias(f"{name}_bias", numbers))


def projected(cell, inputs):
    return inputs


def decide(cell, projected, read, states, outputs, hidden_mask):
    hidden = states["hidden"]
    hidden = hidden if hidden_mask is None else hidden * hidden_mask
    features, pairs, _ = cell.kernel.shape
    # Loops want to know the batch of everything in them where they know that of the states.
    batch = ops.shape(hidden)[0]
    chosen = _outer(projected, _with_one(hidden), (batch, features * (cell.units + 1)))
    if read is not None:
        chosen = _outer(chosen, _with_one(read), (batch, features * pairs))

    def product(kernel, bias):
        kernel = ops.reshape(kernel, (features * pairs, kernel.shape[-1]))
        return add_bias(ops.matmul(chosen, kernel), bias)

    states, _ = cell.controller.step([product(cell.kernel, cell.bias)], None, states)
    found = [
        product(getattr(cell, f"{name}_kernel"), getattr(cell, f"{name}_bias")) for name in outputs
    ]
    return states, found


def _with_one(tensor):
    return ops.pad(tensor, [(0, 0), (0, 1)], constant_values=1)


def _outer(rows, columns, shape):
    """`[batch, M]` and `[batch, N]` as `[batch, M * N]`, of that shape."""
    return ops.reshape(rows[:, :, None] * columns[:, None], shape)
