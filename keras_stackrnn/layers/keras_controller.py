"""Cells whose controller is a Keras cell: it reads the input and, behind it, what was read."""

from keras import ops

from keras_stackrnn.layers.recurrent_cell import add_bias


def build(cell, features, numbers_read, outputs):
    # An attribute of its own, so that Keras saves it.
    cell.controller_cell = cell.controller.cell
    if not cell.controller_cell.built:
        cell.controller_cell.build((None, features + (numbers_read or 0)))
        cell.controller_cell.built = True
    for name, numbers in outputs.items():
        setattr(cell, f"{name}_kernel", cell._add_kernel(name, (cell.units, numbers)))
    for name, numbers in outputs.items():
        setattr(cell, f"{name}_bias", cell._add_bias(f"{name}_bias", numbers))


def projected(cell, inputs):
    return inputs


def decide(cell, projected, read, states, outputs, hidden_mask):
    seen = projected if read is None else ops.concatenate([projected, read], axis=-1)
    states, _ = cell.controller.step([seen], None, states)
    found = []
    for name in outputs:
        product = ops.matmul(states["hidden"], getattr(cell, f"{name}_kernel"))
        found.append(add_bias(product, getattr(cell, f"{name}_bias")))
    return states, found
