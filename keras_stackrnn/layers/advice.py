"""What a layer says about how it is run: once, where it is slow, and plainly, where it cannot."""

import warnings
from typing import Any

import keras

from keras_stackrnn.types import Tensor


def warn_of_loop(layer: Any, reason: str) -> None:
    """Says why a layer is not fused, and what that costs."""
    _warn(
        layer,
        f"{type(layer).__name__} runs its cell in a loop, which takes about ten times as long as "
        f"its fused kernels: {reason}. With use_fused=False it does so without a word.",
    )


def when_compiled(layer: Any, sequences: Tensor) -> None:
    """Warns or raises where XLA is about to compile a layer and should not as it is.

    Args:
        layer: A `MemoryRNN`, while it is called.
        sequences: `[batch, steps, features]`.
    """
    if keras.backend.backend() != "tensorflow":
        return
    from keras_stackrnn.kernels.compilation import is_being_compiled

    if not is_being_compiled():
        return
    name = type(layer).__name__
    if layer.stateful and layer.cell.capacity is None:
        raise ValueError(
            f"{name} with stateful=True and capacity=None cannot be compiled, as its state's size "
            "depends on what it reads: give it an integer `capacity`, or compile the model with "
            "jit_compile=False."
        )
    if _is_over_several_devices(layer):
        raise ValueError(
            f"{name} cannot be compiled over the replicas of a tf.distribute strategy, as a "
            "program of XLA runs on one device: compile the model with jit_compile=False, or "
            "train it on one device."
        )
    if sequences.shape[1] is None:
        _warn(
            layer,
            f"{name} is compiled for sequences of a length that is not known: XLA compiles anew "
            "for every length it meets, and each step works on all rows of the memories. Pad all "
            "sequences to one length (and mask what is padded), or to a few with "
            "tf.data.Dataset.bucket_by_sequence_length.",
        )


def _is_over_several_devices(layer):
    """Whether a model's own `fit`, `evaluate` or `predict` compiles all replicas as one program."""
    import tensorflow as tf

    if tf.distribute.get_strategy().num_replicas_in_sync == 1:
        return False
    model = layer._get_call_context().entry_layer
    return bool(getattr(model, "jit_compile", False))


def _warn(layer, advice):
    if advice not in layer.advice_given:
        layer.advice_given = (*layer.advice_given, advice)
        warnings.warn(advice, stacklevel=2)
