"""A smaller network: only the memories that matter, what the others said being folded in.

What a memory that is left out would have told the hidden units is foretold, by least squares over
the rows of the fine table, from the symbol read and the memories that stay. That is a guess and no
proof: the small network has to be right on what the large one learned from, and is evaluated and
certified as any other.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from keras_stackrnn.extract.changes import ChangeError, right_on_training
from keras_stackrnn.extract.extraction import Extraction, extract
from keras_stackrnn.memories.soft import EMPTY
from keras_stackrnn.models import NextSymbolModel


class _StandIn(NamedTuple):
    """What is added to the hidden units for memories that are left out."""

    of_symbols: np.ndarray  # [symbols, units]
    of_kept: np.ndarray  # [elements read of the memories that stay, units]


def pruned(
    model: NextSymbolModel, found: Extraction, name: str
) -> tuple[NextSymbolModel, Extraction]:
    """A network with as few memories as are enough to be right on all n of training.

    Args:
        model: The model.
        found: What was read out of it, for a task.
        name: What to call the new one.

    Returns:
        The new model and what is read out of it. `ChangeError` says that there is none.

    Example:

    ```python
    model = keras_stackrnn.gallery.load("memorize")
    model, found = pruned(model, extract(model), "memorize, pruned")
    ```
    """
    if model.embedding is not None:
        raise ChangeError(f"{found.name} embeds its symbols; those read one-hot can be pruned.")
    for kept in _choices(found.quotient.kept, model.memories):
        for stand_in in _stand_ins(found, _memory_kernel(model), kept):
            smaller = _with_memories(model, kept, stand_in)
            if right_on_training(smaller, found.lessons.pattern):
                return smaller, extract(smaller, found.lessons, name)
    raise ChangeError(
        f"No memory of {found.name} is left out: with fewer than its {model.memories} it is wrong "
        "on what it learned from."
    )


def _choices(kept: tuple[int, ...], memories: int) -> Iterator[tuple[int, ...]]:
    """Memories to keep, fewer than all: those of the quotient; those and one more."""
    kept = tuple(memory for memory in kept if memory < memories) or (0,)
    others = [memory for memory in range(memories) if memory not in kept]
    for more in ((), *((one,) for one in others)):
        if len(kept) + len(more) < memories:
            yield tuple(sorted((*kept, *more)))


def _memory_kernel(model) -> np.ndarray:
    """`[read elements, memories, units]`; read elements go by place, then by number."""
    [layer] = model.recurrent
    kernel = np.asarray(layer.cell.memory_kernel)
    return kernel.reshape(-1, model.memories, kernel.shape[1])


def _stand_ins(found, kernel, kept) -> Iterator[_StandIn]:
    """Ways to foretell what is left out: from symbols and memories kept; from symbols alone."""
    network, machine, elements = found.network, found.fine, found.table.elements
    keys = list(machine.rows)
    read = np.array(
        [
            [
                network.empty[memory] if number == EMPTY else elements[memory][number]
                for (memory, _), number in zip(machine.places, key.seen, strict=True)
                if memory < network.memories
            ]
            for key in keys
        ]
    ).reshape(len(keys), network.memories, -1)
    read = read.transpose(0, 2, 1)  # as in the kernel
    dropped = [memory for memory in range(network.memories) if memory not in kept]
    said = np.einsum("rem,emu->ru", read[..., dropped], kernel[:, dropped])
    symbols = np.eye(len(network.vocabulary))[[key.token for key in keys]]
    of_kept = read[..., list(kept)].reshape(len(keys), -1)
    for known in (np.concatenate([symbols, of_kept], axis=1), symbols):
        weights = np.linalg.lstsq(known, said, rcond=None)[0]
        of_elements = np.zeros((of_kept.shape[1], said.shape[1]))
        of_elements[: len(weights) - symbols.shape[1]] = weights[symbols.shape[1] :]
        yield _StandIn(weights[: symbols.shape[1]], of_elements)


def _with_memories(model, kept, stand_in):
    """The same model with some of its memories, and what stands in for the others."""
    config = {**model.get_config(), "memories": len(kept), "capacity": None, "rounding": True}
    smaller = type(model).from_config(config)
    [old], [new] = (each.recurrent for each in (model, smaller))
    old, new = old.cell, new.cell
    kept = list(kept)
    new.kernel.assign(np.asarray(old.kernel) + stand_in.of_symbols)
    of_kept = _memory_kernel(model)[:, kept].reshape(new.memory_kernel.shape)
    new.memory_kernel.assign(of_kept + stand_in.of_kept)
    for name in ("action_kernel", "value_kernel", "action_bias", "value_bias"):
        before, after = getattr(old, name), getattr(new, name)
        if before is not None:
            of_memories = np.asarray(before).reshape(*before.shape[:-1], -1, model.memories)
            after.assign(of_memories[..., kept].reshape(after.shape))
    for name in ("recurrent_kernel", "bias"):
        if getattr(old, name) is not None:
            getattr(new, name).assign(getattr(old, name))
    smaller.output_layer.set_weights(model.output_layer.get_weights())
    return smaller
