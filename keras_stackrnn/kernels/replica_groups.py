"""Compiles a function of a population so that it runs on several cores.

XLA's program for many small models hardly uses a second core: its loops are long, and what it does
in each step is too short to share out. Replicas are independent of each other, though: groups of
them can run side by side, all through the same program, and what each group works on is smaller
and nearer to its core.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

# More groups use more cores, but each takes every step of the loops for itself.
GROUPS = 4


def replica_groups(function: Callable[..., Any], axes: Sequence[int | None]) -> Callable[..., Any]:
    """A compiled `function` that takes a few groups of the replicas at a time.

    Args:
        function: Of tensors or structures of them, to structures of tensors that begin with the
            replica axis.
        axes: For each argument, which of its axes is the replicas', or `None` if all share it.

    Returns:
        The function, as one `tf.function`. It makes as many groups as divide the replicas evenly,
        at most `GROUPS`, and compiles once for all of them.
    """
    compiled = tf.function(function, autograph=False, jit_compile=True)

    def run(*arguments):
        groups = math.gcd(_replicas(arguments, axes), GROUPS)
        parts = [_split(*pair, groups) for pair in zip(arguments, axes, strict=True)]
        results = [compiled(*group) for group in zip(*parts, strict=True)]
        return tf.nest.map_structure(lambda *parts: tf.concat(parts, axis=0), *results)

    return tf.function(run, autograph=False)


def _split(argument, axis, groups) -> list:
    """One argument for each group."""
    if axis is None:
        return [argument] * groups
    tensors = [tf.split(tensor, groups, axis) for tensor in tf.nest.flatten(argument)]
    return [tf.nest.pack_sequence_as(argument, group) for group in zip(*tensors, strict=True)]


def _replicas(arguments, axes) -> int:
    for argument, axis in zip(arguments, axes, strict=True):
        if axis is not None:
            return tf.nest.flatten(argument)[0].shape[axis]
    raise ValueError(f"expected an argument with a replica axis, got axes {axes}")
