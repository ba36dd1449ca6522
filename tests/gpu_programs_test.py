"""Tests of the programs for GPUs, which XLA lowers on machines without one, too."""

import re

import keras
import numpy as np
import pytest

if keras.backend.backend() != "tensorflow":
    pytest.skip("the kernels are TensorFlow's", allow_module_level=True)

import tensorflow as tf

from keras_stackrnn.kernels import scan
from keras_stackrnn.layers import layer_of

BATCH, FEATURES, UNITS, MEMORIES = 2, 3, 4, 2
BLOCKS = 2
STEPS = BLOCKS * scan.SHORTEST_BLOCK

# Of the operations that XLA has, those that leave the device.
TRANSFERS = {"infeed", "outfeed", "send", "send-done", "recv", "recv-done"}

CASES = {
    **{kind: {"kind": kind} for kind in ("stack", "list", "tape", "editor", "queue")},
    "gru": {"controller": "gru", "use_bias": True},
    "lstm": {"controller": "lstm", "use_bias": True},
    "second_order": {"controller": "second_order", "use_bias": True},
    "vectors": {"element_size": 3, "no_op": True},
    "stateful": {"stateful": True},
    "dropout": {"dropout": 0.2, "recurrent_dropout": 0.2, "memory_dropout": 0.2, "seed": 1},
    "masked": {"called_with": ("mask",)},
    "packed": {"called_with": ("resets",)},
    "both": {"called_with": ("mask", "resets"), "controller": "lstm"},
}


def gpu_program(kind="stack", called_with=(), **options):
    """What XLA lowers a step of training to for a GPU, as text; weights go in and come out."""
    options = {"capacity": 3 * STEPS, "return_sequences": True, **options}
    layer = layer_of(kind)(UNITS, MEMORIES, use_fused=True, **options)
    layer.build((BATCH, STEPS, FEATURES))
    variables = [*layer.variables, *layer.metrics_variables, *(layer.states or [])]

    def step(inputs, marks, values):
        pairs = zip(variables, values, strict=True)
        with keras.StatelessScope(state_mapping=list(pairs)) as scope:
            with tf.GradientTape() as tape:
                tape.watch(values)
                loss = tf.reduce_mean(layer(inputs, training=True, **marks) ** 2)
            after = [scope.get_current_value(variable) for variable in variables]
        gradients = tape.gradient(loss, values)
        return loss, [
            value if gradient is None else value - 0.1 * gradient
            for value, gradient in zip(after, gradients, strict=True)
        ]

    function = tf.function(step, jit_compile=True, autograph=False)
    marks = {name: tf.ones((BATCH, STEPS), tf.bool) for name in called_with}
    values = [tf.convert_to_tensor(variable.value) for variable in variables]
    lower = function.experimental_get_compiler_ir(tf.zeros((BATCH, STEPS, FEATURES)), marks, values)
    return lower(stage="hlo", platform_name="GPU")


@pytest.mark.parametrize("name", CASES)
def test_a_step_of_training_on_a_gpu_has_the_loops_that_are_meant_and_stays_there(
    name, monkeypatch
):
    monkeypatch.setattr(scan, "BLOCKS", BLOCKS)

    program = gpu_program(**CASES[name])

    operations = re.findall(r" ([a-z][\w-]*)\(", program)
    assert operations.count("while") == 2 * BLOCKS
    assert not TRANSFERS & set(operations)
    assert not re.findall(r'custom_call_target="(.*?)"', program)
    assert np.isin(["dot", "dynamic-slice", "dynamic-update-slice"], operations).all()
