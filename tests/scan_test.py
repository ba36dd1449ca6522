"""Tests of the kernels themselves: populations, what is kept, and XLA's programs of them."""

import functools
import math
import re

import keras
import numpy as np
import pytest
from test_case import STACK, each_kind, random

if keras.backend.backend() != "tensorflow":
    pytest.skip("the kernels are TensorFlow's", allow_module_level=True)

import tensorflow as tf

from keras_stackrnn import memories
from keras_stackrnn.controllers import Simple
from keras_stackrnn.kernels import lanes, scan
from keras_stackrnn.memories.layout import MemoryLayout
from keras_stackrnn.memories.soft import EMPTY

SIGMOID = Simple()
STEPS, REPLICAS, UNITS, BATCH, MEMORIES, ROWS, READ_DEPTH = 7, 3, 4, 2, 2, 6, 2


def layout_of(kind, no_op=True):
    return MemoryLayout(memories.get(kind.name).using(no_op), READ_DEPTH)


def population(kind):
    """Random inputs for `scan`, the weights among them, by name."""
    controls = layout_of(kind).controls * MEMORIES
    shapes = {
        "projected": (STEPS, REPLICAS, UNITS, BATCH),
        "hidden": (REPLICAS, UNITS, BATCH),
        "memory": (REPLICAS, ROWS, MEMORIES * BATCH),
        "memory_kernel": (REPLICAS, UNITS, READ_DEPTH * MEMORIES),
        "control_kernel": (REPLICAS, controls, UNITS),
        "recurrent_kernel": (REPLICAS, UNITS, UNITS),
        "control_bias": (REPLICAS, controls, 1),
    }
    draws = {name: random(*shape, seed=i) for i, (name, shape) in enumerate(shapes.items())}
    draws["memory"] = np.where(draws["memory"] > 0, 1 / (1 + draws["memory"]), -1)
    return {name: tf.constant(draw, tf.float64) for name, draw in draws.items()}


def replica_of(tensors, replica):
    return {
        name: tensor[:, replica : replica + 1]
        if name == "projected"
        else tensor[replica : replica + 1]
        for name, tensor in tensors.items()
    }


def run(options, tensors, control_noise=None):
    """The results of a scan, and the gradients of all that went in, through all that came out."""
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        projected, hidden, memory, *_ = tensors.values()
        weights = dict(list(tensors.items())[3:])
        steps = scan.Steps(noise=control_noise)
        done = scan.scan(options, projected, {"hidden": hidden}, memory, weights, steps)
        loss = tf.reduce_sum(tf.sin(3 * done.hiddens))
        if done.memory is not None:
            loss += tf.reduce_sum(tf.sin(3 * done.memory))
    results = {
        "hiddens": done.hiddens,
        "controls": done.controls,
        "last": done.memory,
        "lost": done.lost,
    }
    return results, tape.gradient(loss, tensors)


NO_MEMORY, LAST_MEMORY = {}, {"last_memory": True}
DIFFERENTIATED = {"last_memory": True, "differentiate_memory": True}
each_way_with_the_memory = pytest.mark.parametrize(
    "memory", [NO_MEMORY, LAST_MEMORY, DIFFERENTIATED], ids=["none", "last", "differentiated"]
)


def assert_close(ones, others):
    for name, one in ones.items():
        if one is not None:
            np.testing.assert_allclose(one, others[name], rtol=1e-10, atol=1e-12, err_msg=name)


@each_kind
@each_way_with_the_memory
def test_replicas_are_as_if_each_were_alone(kind, memory, monkeypatch):
    monkeypatch.setattr(scan, "SHORTEST_BLOCK", 2)
    options = scan.Scan(layout_of(kind), SIGMOID, **memory)
    tensors = population(kind)

    results, gradients = run(options, tensors)

    for replica in range(REPLICAS):
        alone, gradients_alone = run(options, replica_of(tensors, replica))
        for name in ("hiddens", "controls"):
            np.testing.assert_allclose(results[name][:, replica], alone[name][:, 0], rtol=1e-12)
        for name in ("last", "lost") if options.last_memory else ():
            np.testing.assert_allclose(results[name][replica], alone[name][0], rtol=1e-12)
        assert_close(replica_of(gradients, replica), gradients_alone)


@each_kind
@pytest.mark.parametrize("memory", [NO_MEMORY, LAST_MEMORY], ids=["none", "last"])
def test_a_population_compiled_is_the_same_over_several_blocks(kind, memory, monkeypatch):
    monkeypatch.setattr(scan, "SHORTEST_BLOCK", 3)
    options = scan.Scan(layout_of(kind), SIGMOID, **memory)
    tensors = {name: tf.cast(tensor, tf.float32) for name, tensor in population(kind).items()}

    results, gradients = run(options, tensors)
    compiled = tf.function(lambda tensors: run(options, tensors), jit_compile=True)
    compiled_results, compiled_gradients = compiled(tensors)

    for name, result in results.items():
        if result is not None:
            np.testing.assert_allclose(result, compiled_results[name], rtol=1e-5, atol=1e-6)
    for name, gradient in gradients.items():
        np.testing.assert_allclose(
            gradient, compiled_gradients[name], rtol=1e-4, atol=1e-5, err_msg=name
        )


@each_kind
@each_way_with_the_memory
@pytest.mark.parametrize("way", ["in_one_block", "one_loop_forward"])
def test_one_block_gives_the_numbers_that_several_give(kind, memory, way, monkeypatch):
    monkeypatch.setattr(scan, "SHORTEST_BLOCK", 2)
    tensors = population(kind)

    several, gradients = run(scan.Scan(layout_of(kind), SIGMOID, **memory), tensors)
    one = scan.Scan(layout_of(kind), SIGMOID, **{way: True}, **memory)
    in_one, gradients_in_one = run(one, tensors)

    for name in ("hiddens", "controls"):
        np.testing.assert_array_equal(several[name], in_one[name])
    assert_close(gradients, gradients_in_one)


@each_kind
@each_way_with_the_memory
def test_rows_kept_or_worked_out_again_give_the_same_gradients(kind, memory, monkeypatch):
    monkeypatch.setattr(scan, "SHORTEST_BLOCK", 2)
    (kept, kept_gradients), (again, gradients_again) = (
        run(
            scan.Scan(layout_of(kind), Simple("tanh"), keep_rows=keep_rows, **memory),
            population(kind),
        )
        for keep_rows in (True, False)
    )

    assert_close(kept, again)
    assert_close(kept_gradients, gradients_again)


@each_kind
@pytest.mark.parametrize("shortest_block", [1, 3, STEPS])
def test_the_last_memory_changes_no_prediction_and_no_gradient(kind, shortest_block, monkeypatch):
    monkeypatch.setattr(scan, "SHORTEST_BLOCK", shortest_block)
    tensors = population(kind)
    without, gradients_without = run(scan.Scan(layout_of(kind), SIGMOID), tensors)
    with_it, gradients_with_it = run(scan.Scan(layout_of(kind), SIGMOID, **LAST_MEMORY), tensors)
    differentiated, _ = run(scan.Scan(layout_of(kind), SIGMOID, **DIFFERENTIATED), tensors)

    assert_close(without, with_it)
    assert_close(gradients_without, gradients_with_it)
    assert_close(with_it, differentiated)


def test_gradients_flow_back_only_from_a_memory_that_comes_out():
    with pytest.raises(ValueError, match="differentiate_memory=True needs last_memory=True"):
        scan.Scan(layout_of(STACK), SIGMOID, differentiate_memory=True)


@each_kind
@each_way_with_the_memory
def test_a_window_is_the_same_as_its_steps_one_by_one(kind, memory, monkeypatch):
    monkeypatch.setattr(scan, "SHORTEST_BLOCK", 2)
    tensors = population(kind)
    noise = tf.constant(random(STEPS, REPLICAS, *tensors["control_bias"].shape[1:], seed=9))
    noise = tf.cast(noise, tf.float64) * tf.ones([BATCH], tf.float64)
    window, _ = run(scan.Scan(layout_of(kind), SIGMOID, **memory), tensors, noise)

    step_options, now = scan.Scan(layout_of(kind), SIGMOID, **LAST_MEMORY), dict(tensors)
    steps = []
    for t in range(STEPS):
        now["projected"] = tensors["projected"][t : t + 1]
        step, _ = run(step_options, now, noise[t : t + 1])
        now |= {"hidden": step["hiddens"][0], "memory": step["last"]}
        steps.append(step)

    one_by_one = {
        "hiddens": tf.concat([step["hiddens"] for step in steps], axis=0),
        "controls": tf.concat([step["controls"] for step in steps], axis=0),
        "last": steps[-1]["last"],
        "lost": tf.add_n([step["lost"] for step in steps]),
    }
    assert_close(window, one_by_one)


@each_kind
@pytest.mark.parametrize("rows", [READ_DEPTH, 5, 8, 30])
@pytest.mark.parametrize("shortest_block", [1, 3, STEPS])
@pytest.mark.parametrize("keep_rows", [False, True])
def test_memories_known_to_start_empty_change_nothing_but_their_own_gradient(
    kind, rows, shortest_block, keep_rows, monkeypatch
):
    monkeypatch.setattr(scan, "SHORTEST_BLOCK", shortest_block)
    tensors = population(kind)
    tensors["memory"] = tf.fill([REPLICAS, rows, MEMORIES * BATCH], tf.cast(EMPTY, tf.float64))
    (known, known_gradients), (unknown, gradients) = (
        run(
            scan.Scan(layout_of(kind), SIGMOID, keep_rows=keep_rows, starts_empty=is_known),
            tensors,
        )
        for is_known in (True, False)
    )

    assert_close(known, unknown)
    np.testing.assert_array_equal(
        known_gradients.pop("memory"), np.zeros(gradients["memory"].shape)
    )
    assert_close(known_gradients, gradients)


def test_rows_worked_on_are_those_that_are_filled_and_can_still_be_read():
    def rows(starts_empty):
        blocks = scan._blocks(layout_of(STACK), 50, 200, starts_empty, most=5)
        return [block.rows for block in blocks]

    assert rows(starts_empty=False) == [51, 41, 31, 21, 11]
    assert rows(starts_empty=True) == [10, 20, 30, 21, 11]


def test_one_product_for_all_steps_is_put_in_the_order_of_steps():
    tensor = tf.constant(random(REPLICAS, UNITS, STEPS * BATCH, seed=1))

    steps_first = lanes.steps_first(tensor, STEPS)

    by_step = tf.reshape(tensor, [REPLICAS, UNITS, STEPS, BATCH])
    np.testing.assert_array_equal(steps_first, np.moveaxis(by_step, 2, 0))
    np.testing.assert_array_equal(lanes.steps_last(steps_first), tensor)


@each_kind
def test_noise_is_added_to_the_logits(kind):
    """The same at every step and in every batch element it is one more bias."""
    options = scan.Scan(layout_of(kind), SIGMOID)
    tensors = population(kind)
    bias = tensors.pop("control_bias")
    noise = tf.broadcast_to(bias, [STEPS, *bias.shape[:2], BATCH])

    noisy, noisy_gradients = run(options, tensors, noise)
    biased, gradients = run(options, {**tensors, "control_bias": bias})

    assert_close(noisy, biased)
    assert_close(noisy_gradients, gradients)


@each_kind
def test_rounded_actions_are_those_of_the_largest_weights(kind):
    tensors = population(kind)
    kernel = layout_of(kind)
    soft, _ = run(scan.Scan(kernel, SIGMOID), tensors)
    hard, _ = run(scan.Scan(kernel, SIGMOID, rounding=True), tensors)

    soft_weights, _ = scan.split_controls(soft["controls"][:1], 1)
    weights, _ = scan.split_controls(hard["controls"], 1)
    weights, soft_weights = tf.concat(weights, axis=2), tf.concat(soft_weights, axis=2)

    assert set(np.unique(weights)) == {0, 1}
    np.testing.assert_array_equal(tf.reduce_sum(weights, axis=2), 1)
    np.testing.assert_array_equal(tf.argmax(weights[0], axis=1), tf.argmax(soft_weights[0], axis=1))


# XLA takes seconds for each block: two of them, each as short as it may be, are several.
BLOCKS = 2
WINDOW = BLOCKS * scan.SHORTEST_BLOCK
# As many steps as make all blocks that there may be.
LONG_WINDOW = scan.BLOCKS * scan.SHORTEST_BLOCK


@functools.cache
def training_step(kind, steps, capacity, stateful=False, blocks=BLOCKS):
    """XLA's program for one step of training, as text."""
    options = {"use_fused": True, "return_sequences": True, "stateful": stateful}
    layer = kind.rnn(4, memories=2, capacity=capacity, **options)
    inputs = tf.zeros((2, steps, 3))
    layer.build(inputs.shape)

    @tf.function(jit_compile=True)
    def step(inputs):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(layer(inputs, training=True) ** 2)
        weights = layer.trainable_weights
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(0.1 * gradient)
        return loss

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "BLOCKS", blocks)
        return step.experimental_get_compiler_ir(inputs)(stage="optimized_hlo")


def loops_of(program):
    """What each loop carries, as the text of its type."""
    return re.findall(r"= \((.*?)\) while\(", program)


BYTES = {"pred": 1, "s32": 4, "f32": 4}


def bytes_of(shapes):
    """The size of all arrays in the text of a type."""
    return sum(
        BYTES[dtype] * math.prod(int(size) for size in sizes.split(",") if size)
        for dtype, sizes in re.findall(r"(\w+)\[([\d,]*)\]", shapes)
    )


def temporary_bytes(program):
    """No less than what the program's own arrays take, those that its loops carry included."""
    _, entry = re.split(r"^ENTRY ", program, flags=re.MULTILINE)
    made = re.findall(r"= (\S+|\(.*?\)) ([\w-]+)\(", entry)
    views = ("parameter", "tuple", "get-tuple-element", "bitcast")
    return sum(bytes_of(shapes) for shapes, operation in made if operation not in views)


@each_kind
def test_a_step_of_training_has_only_the_loops_that_are_meant(kind):
    program = training_step(kind, WINDOW, 3 * WINDOW)

    # Each block of steps has one loop forward and one backward.
    assert len(loops_of(program)) == 2 * BLOCKS


def test_a_long_window_has_all_blocks_that_there_may_be():
    program = training_step(STACK, LONG_WINDOW, 3 * LONG_WINDOW, blocks=scan.BLOCKS)

    assert len(loops_of(program)) == 2 * scan.BLOCKS


@each_kind
def test_a_memory_that_is_carried_on_takes_no_loop_more(kind):
    program = training_step(kind, WINDOW, 3 * WINDOW, stateful=True)

    assert len(loops_of(program)) == 2 * BLOCKS


def test_steps_of_unknown_number_have_one_loop_forward_and_one_backward():
    tensors = {name: tf.cast(tensor, tf.float32) for name, tensor in population(STACK).items()}
    options = scan.Scan(layout_of(STACK), SIGMOID)

    @tf.function(jit_compile=True)
    def step(projected):
        shape = tf.TensorShape([None, *projected.shape[1:]])
        unknown = tf.compat.v1.placeholder_with_default(projected, shape)
        return run(options, {**tensors, "projected": unknown})[1]

    program = step.experimental_get_compiler_ir(tensors["projected"])(stage="optimized_hlo")
    assert len(loops_of(program)) == 2


@each_kind
def test_a_step_of_training_never_leaves_the_device(kind):
    program = training_step(kind, WINDOW, 3 * WINDOW)

    operations = set(re.findall(r" ([a-z][\w-]*)\(", program))
    assert {"while", "dot", "fusion"} <= operations
    transfers = {"infeed", "outfeed", "send", "send-done", "recv", "recv-done", "custom-call"}
    assert not operations & transfers


@each_kind
def test_memory_does_not_grow_with_capacity_beyond_the_windows_reach(kind):
    beyond, far_beyond = (
        temporary_bytes(training_step(kind, WINDOW, times * WINDOW)) for times in (3, 30)
    )

    assert far_beyond == beyond


def test_memory_grows_linearly_with_the_window():
    short, twice, four_times = (
        temporary_bytes(training_step(STACK, times * LONG_WINDOW, 6)) for times in (1, 2, 4)
    )

    assert four_times - twice == pytest.approx(2 * (twice - short), rel=0.01)
