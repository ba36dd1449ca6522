"""Traces of Keras models: what is recorded is what happened, and nothing is left changed."""

import contextlib
import importlib

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_case import (
    EMPTY,
    KINDS,
    each_kind,
    raises_only,
    reference_run,
    round_to_best,
    run_python,
    softmax,
    to_numpy,
)
from trace_case import COUNTED, counter, one_hot_model, random_model

if keras.backend.backend() != "tensorflow":
    pytest.skip("traces are tested on TensorFlow alone", allow_module_level=True)

import tensorflow as tf

import keras_stackrnn
from keras_stackrnn import ListCell, ListRNN, StackCell, StackRNN, trace

TEXT = "abcaacbbca"


def one_hot(text, symbols="abc"):
    return np.eye(len(symbols), dtype="float32")[[symbols.index(symbol) for symbol in text]]


def test_a_counter_counts():
    record = trace(counter(), COUNTED)
    [stack] = record.memories

    assert record.symbols == tuple("aabb")
    assert record.upcoming == tuple("abba")
    assert record.deterministic.tolist() == [False, False, True, True]
    assert record.predictions == tuple("aaba")
    assert [record.is_wrong(step) for step in range(4)] == [False, True, False, False]
    sure = 1 / (1 + np.exp(-4.0))
    unsure = 1 / (1 + np.exp(-1.0))
    np.testing.assert_allclose(
        record.next_probabilities, [unsure, 1 - unsure, sure, sure], rtol=1e-6
    )
    assert stack.name == "stack1"
    assert stack.taken == ["PUSH", "PUSH", "POP", "POP"]
    np.testing.assert_array_equal(stack.weights, [[1, 0], [1, 0], [0, 1], [0, 1]])
    np.testing.assert_array_equal(stack.values, [0.5] * 4)
    np.testing.assert_array_equal(stack.tops, [[0.5, -1], [0.5, 0.5], [0.5, -1], [-1, -1]])
    np.testing.assert_array_equal(stack.contents, stack.tops)


def by_hand(kind, cell, inputs):
    """Actions, written values, memories and hidden units at every step, in Python's own floats."""
    steps = []
    for end in range(1, len(inputs) + 1):
        _, hidden, slots = reference_run(kind, cell, inputs[:end].tolist())
        weights = {w.name: to_numpy(w).astype(float) for w in cell.weights}
        logits = np.array(hidden) @ weights["action_kernel"]
        written = np.array(hidden) @ weights[f"{kind.write}_kernel"]
        if cell.use_bias:
            logits = logits + weights["action_bias"]
            written = written + weights[f"{kind.write}_bias"]
        actions = [softmax(column) for column in logits.reshape(len(cell.actions), -1).T.tolist()]
        if cell.rounding:
            actions = [round_to_best(each) for each in actions]
        steps.append((np.array(actions), 1 / (1 + np.exp(-written)), np.array(slots), hidden))
    return tuple(map(np.array, zip(*steps, strict=True)))


@settings(max_examples=12)
@given(
    kind=st.sampled_from(KINDS),
    memories=st.integers(1, 3),
    capacity=st.integers(2, 7),
    read_depth=st.integers(1, 2),
    no_op=st.booleans(),
    rounding=st.booleans(),
    use_bias=st.booleans(),
    text=st.text("abc", min_size=1, max_size=7),
    depth=st.none() | st.integers(1, 5),
    seed=st.integers(0, 99),
)
def test_it_is_what_stepping_by_hand_gives(
    kind, memories, capacity, read_depth, no_op, rounding, use_bias, text, depth, seed
):
    options = {"no_op": no_op, "rounding": rounding, "use_bias": use_bias}
    cell = kind(4, memories, capacity=capacity, read_depth=read_depth, **options)
    layer = keras.layers.RNN(cell, return_sequences=True)
    model = one_hot_model(layer, seed=seed)
    actions, written, slots, hidden = by_hand(kind, cell, one_hot(text))

    record = trace(model, text, vocabulary="abc", depth=depth)

    kernel, bias = map(to_numpy, model.layers[-1].weights)
    expected = [softmax(row) for row in (hidden @ kernel + bias).tolist()]
    np.testing.assert_allclose(record.probabilities, expected, atol=1e-5)
    for m, memory in enumerate(record.memories):
        assert memory.name == f"{kind.name}{m + 1}"
        np.testing.assert_allclose(memory.weights, actions[:, m], atol=1e-5)
        np.testing.assert_allclose(memory.values, written[:, m], atol=1e-5)
        for step in range(len(text)):
            view = kind.view(slots[step, m].tolist(), depth or read_depth)
            view += [EMPTY] * ((depth or read_depth) - len(view))
            if (depth or read_depth) <= capacity // 2:
                np.testing.assert_allclose(memory.tops[step], view, atol=1e-5)
        check_contents(kind, memory.contents, slots[:, m], capacity)


def check_contents(kind, contents, slots, capacity):
    """The same elements at the same places, and as few rows as hold them."""
    head = 0 if kind.name == "stack" else capacity // 2
    recorded_head = 0 if kind.name == "stack" else contents.shape[1] // 2
    for place in range(capacity):
        row = place - head + recorded_head
        recorded = contents[:, row] if 0 <= row < contents.shape[1] else EMPTY
        np.testing.assert_allclose(slots[:, place], recorded, rtol=0, atol=1e-5)


@each_kind
@pytest.mark.parametrize("rounding", [False, True])
def test_probabilities_are_those_of_the_model_itself(kind, rounding):
    model = random_model(kind.name, "abc", memories=3, no_op=True, rounding=rounding, layers=2)
    tokens = np.array([["abc".index(symbol) for symbol in TEXT * 2]])
    expected = keras.ops.softmax(model(tokens))[0]
    record = trace(model, TEXT * 2)
    np.testing.assert_allclose(record.probabilities, expected, atol=1e-5)
    assert record.rounded == rounding
    assert [memory.name for memory in record.memories] == [f"{kind.name}{i}" for i in range(1, 7)]


@each_kind
def test_rounding_can_be_had_and_be_left_out(kind):
    soft, rounded = (
        random_model(kind.name, "abc", memories=2, rounding=rounding) for rounding in (False, True)
    )
    for model in (soft, rounded):
        for rounding, like in ((False, soft), (True, rounded)):
            record = trace(model, TEXT, rounding=rounding)
            np.testing.assert_array_equal(record.probabilities, trace(like, TEXT).probabilities)
            assert record.rounded == rounding
    assert not soft.recurrent[0].cell.rounding
    assert rounded.recurrent[0].cell.rounding
    assert np.isin(trace(soft, TEXT, rounding=True).memories[0].weights, (0, 1)).all()


@each_kind
def test_a_growing_memory_is_recorded_to_its_bottom(kind):
    growing = one_hot_model(kind.rnn(4, 2, return_sequences=True))
    ample = one_hot_model(
        keras.layers.RNN(kind(4, 2, capacity=2 * len(TEXT) + 5), return_sequences=True)
    )
    for one, other in zip(
        trace(growing, TEXT, vocabulary="abc").memories,
        trace(ample, TEXT, vocabulary="abc").memories,
        strict=True,
    ):
        np.testing.assert_allclose(one.contents, other.contents, atol=1e-6)
        assert one.lost == other.lost == 0


def test_a_bounded_memory_counts_what_it_loses():
    [memory] = trace(counter(capacity=2), "aaaaabbbbb").memories
    assert memory.lost == 3
    assert memory.contents.shape == (10, 2)
    assert memory.tops[-3:, 0].tolist() == [-1] * 3


def one_of_each(return_sequences=True, **options):
    cells = [StackCell(4, 2), keras.layers.LSTMCell(3), ListCell(4), StackCell(4)]
    return keras.layers.RNN(cells, return_sequences=return_sequences, **options)


def functional():
    inputs = keras.Input((None,), dtype="int32")
    sequences = keras.layers.Embedding(3, 5)(inputs)
    stacked = StackRNN(4, 2, return_sequences=True)(sequences)
    listed = ListRNN(4, return_sequences=True)(sequences)
    outputs = keras.layers.Dense(3)(keras.layers.Concatenate()([stacked, listed]))
    return keras.Model(inputs, outputs)


class Subclassed(keras.Model):
    """Reads one-hot symbols in a `tf.function` of its own, and gives logits."""

    def __init__(self):
        super().__init__()
        self.recurrent = keras.layers.RNN(StackCell(4, 2), return_sequences=True)
        self.outputs = keras.layers.Dense(3)

    @tf.function
    def call(self, inputs):
        return self.outputs(self.recurrent(inputs))


def subclassed():
    model = Subclassed()
    model(one_hot(TEXT)[None])
    return model


def bidirectional():
    layer = keras.layers.RNN(StackCell(4, 2), return_sequences=True)
    return one_hot_model(keras.layers.Bidirectional(layer))


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda: one_hot_model(one_of_each()), ["stack1", "stack2", "list1", "stack3"]),
        (functional, ["stack1", "stack2", "list1"]),
        (subclassed, ["stack1", "stack2"]),
        (bidirectional, ["stack1", "stack2", "stack3", "stack4"]),
    ],
    ids=["several cells", "functional", "subclassed", "bidirectional"],
)
def test_any_model_with_memories_can_be_traced(make, names):
    model = make()
    takes_tokens = make is functional
    tokens = np.array([["abc".index(symbol) for symbol in TEXT]])
    outputs = to_numpy(model(tokens if takes_tokens else one_hot(TEXT)[None]))[0]
    if make in (functional, subclassed):
        outputs = np.array([softmax(row) for row in outputs.tolist()])

    record = trace(model, TEXT, vocabulary="abc")

    assert [memory.name for memory in record.memories] == names
    np.testing.assert_allclose(record.probabilities, outputs, atol=1e-6)
    for memory in record.memories:
        deeper = memory.with_depth(memory.tops.shape[1])
        np.testing.assert_allclose(memory.tops, deeper.tops, atol=1e-6)


def test_functions_of_others_stay_compiled_while_a_model_is_traced():
    model, eager = subclassed(), []
    model.outputs.activation = lambda x: eager.append(tf.config.functions_run_eagerly()) or x

    trace(model, TEXT, vocabulary="abc")

    assert eager == [False]
    assert isinstance(type(model).call, tf.types.experimental.PolymorphicFunction)
    assert "call" not in vars(model)


@pytest.mark.parametrize(
    ("batch", "what"),
    [(2, "Layer 'out_of_sight'"), (1, "The model's memory")],
    ids=["new", "known"],
)
def test_a_memory_inside_of_a_graph_that_cannot_be_opened_is_a_sentence(batch, what):
    layer = keras.layers.RNN(StackCell(4, 2), return_sequences=True, name="out_of_sight")
    graph = tf.function(lambda inputs: layer(inputs))

    class Closed(keras.Model):
        def __init__(self):
            super().__init__()
            self.recurrent = layer

        def call(self, inputs):
            return graph(inputs)

    model = Closed()
    model(np.stack([one_hot(TEXT)] * batch))
    with pytest.raises(ValueError, match=rf"{what} runs in the graph of a tf\.function"):
        trace(model, TEXT, vocabulary="abc")


def test_a_backward_memory_is_recorded_in_the_texts_order():
    layer = keras.layers.RNN(StackCell(4), return_sequences=True, go_backwards=True)
    forward = keras.layers.RNN(layer.cell, return_sequences=True)
    [backward_memory] = trace(one_hot_model(layer), "abca", vocabulary="abc").memories
    [memory] = trace(one_hot_model(forward), "acba", vocabulary="abc").memories
    for name in ("weights", "values", "tops", "contents"):
        reversed_too = getattr(backward_memory, name)[::-1]
        np.testing.assert_allclose(reversed_too, getattr(memory, name), atol=1e-6)


def test_a_model_that_predicts_once_predicts_at_the_last_symbol():
    model = one_hot_model(one_of_each(return_sequences=False))
    record = trace(model, TEXT, vocabulary="abc")
    assert record.predictions[:-1] == (None,) * (len(TEXT) - 1)
    np.testing.assert_allclose(record.probabilities[-1], model(one_hot(TEXT)[None])[0], atol=1e-6)


def test_outputs_that_are_no_symbols_are_no_predictions():
    model = keras.Sequential([keras.Input((None, 3)), StackRNN(4, return_sequences=True)])
    record = trace(model, TEXT, vocabulary="abc")
    assert record.predictions == (None,) * len(TEXT)
    assert len(record.memories[0].tops) == len(TEXT)


def test_a_model_that_was_fit_on_one_length_reads_others():
    layers = [keras.layers.RNN(StackCell(4), return_sequences=True), keras.layers.Dense(3)]
    model = keras.Sequential(layers)
    model.compile("sgd", "mse")
    model.fit(np.zeros((4, 5, 3)), np.zeros((4, 5, 3)), batch_size=2, verbose=0)
    assert len(trace(model, TEXT, vocabulary="abc").symbols) == len(TEXT) != 5


def test_half_precision():
    with_policy = keras.layers.RNN(
        StackCell(4, 2, dtype="mixed_bfloat16"), return_sequences=True, dtype="mixed_bfloat16"
    )
    record = trace(one_hot_model(with_policy), TEXT, vocabulary="abc")
    assert record.memories[0].weights.dtype == np.float32
    np.testing.assert_allclose(record.memories[0].weights.sum(axis=1), 1, atol=0.01)


STATEFUL = {
    "cell": lambda: keras.layers.RNN(StackCell(4, 2), return_sequences=True, stateful=True),
    "several cells": lambda: one_of_each(stateful=True),
    "growing": lambda: StackRNN(4, 2, return_sequences=True, stateful=True),
    "bounded": lambda: ListRNN(4, 2, capacity=3, return_sequences=True, stateful=True),
}


@pytest.mark.parametrize("name", STATEFUL)
def test_a_stateful_model_starts_empty_and_keeps_its_state(name):
    layer = STATEFUL[name]()
    model = one_hot_model(layer, batch_size=2)
    inputs = np.stack([one_hot(TEXT)] * 2)
    first = to_numpy(model(inputs))[0]
    states = [to_numpy(each) for each in keras.tree.flatten(layer.states)]
    lost = name == "bounded" and float(layer.lost_elements.result())

    record = trace(model, TEXT, vocabulary="abc")

    np.testing.assert_allclose(record.probabilities, first, atol=1e-6)
    for state, after in zip(states, keras.tree.flatten(layer.states), strict=True):
        np.testing.assert_array_equal(state, to_numpy(after))
    if name == "bounded":
        assert lost > 0
        assert float(layer.lost_elements.result()) == lost


def test_the_model_is_left_as_it_was():
    model = random_model(vocabulary="abc", memories=2, capacity=3)
    [layer] = model.recurrent
    trace(model, TEXT)
    before = {thing: dict(vars(thing)) for thing in (layer, layer.cell)}
    trace(model, TEXT, rounding=True, force={"stack1": "POP"})
    with contextlib.suppress(ValueError):
        trace(model, TEXT, rounding=True, force={"stack9": "POP"})
    for thing, attributes in before.items():
        assert vars(thing).keys() == attributes.keys()
        assert [n for n in attributes if vars(thing)[n] is not attributes[n]] == []
    assert not tf.config.functions_run_eagerly()


class TestForce:
    def test_an_action_at_one_symbol(self):
        """One PUSH more at a b, and the model waits for one b more."""
        model = counter()
        record = trace(model, "aabbb", force={"stack1": {2: "PUSH"}})
        assert record.memories[0].taken == ["PUSH", "PUSH", "PUSH", "POP", "POP"]
        np.testing.assert_array_equal(record.memories[0].weights[2], [1, 0])
        assert record.predictions == tuple("aabbb")
        assert trace(model, "aabbb").predictions[3] == "a"
        assert record.forced == "stack1 PUSH at 2"

    def test_an_action_at_all_symbols(self):
        record = trace(counter(), COUNTED, force={"stack1": "POP"})
        assert record.memories[0].taken == ["POP"] * 4
        assert record.predictions == tuple("aaaa")
        assert record.forced == "stack1 always POP"

    def test_other_memories_are_free(self):
        model = random_model(vocabulary="abc", memories=3, layers=2)
        free, record = trace(model, TEXT), trace(model, TEXT, force={"stack5": {4: "POP"}})
        for place, (one, other) in enumerate(zip(free.memories, record.memories, strict=True)):
            changed = (one.weights != other.weights).any(axis=1)
            if place < 3:
                assert not changed.any()
            assert not changed[:4].any()
        np.testing.assert_array_equal(record.memories[4].weights[4], [0, 1])

    def test_of_a_backward_memory_the_place_is_the_texts(self):
        layer = keras.layers.RNN(StackCell(4), return_sequences=True, go_backwards=True)
        record = trace(one_hot_model(layer), "abca", vocabulary="abc", force={"stack1": {0: "POP"}})
        np.testing.assert_array_equal(record.memories[0].weights[0], [0, 1])

    @pytest.mark.parametrize(
        ("force", "message"),
        [
            (
                {"stack2": "POP"},
                "There is no memory 'stack2' to force: expected one of stack1.",
            ),
            (
                {"stack1": "NO-OP"},
                "Cannot force 'NO-OP' on stack1: expected one of PUSH, POP.",
            ),
            (
                {"stack1": {4: "POP"}},
                "Cannot force stack1 at text[4]: expected a place from 0 to 3.",
            ),
        ],
    )
    def test_what_cannot_be_forced(self, force, message):
        with raises_only(message):
            trace(counter(), COUNTED, force=force)


def two_readers():
    layer = StackRNN(4, return_sequences=True)
    inputs = keras.Input((None, 3))
    both = keras.layers.Concatenate()([layer(inputs), layer(inputs)])
    return keras.Model(inputs, keras.layers.Dense(3)(both))


def two_inputs():
    inputs = [keras.Input((None, 3)), keras.Input((None, 3))]
    layer = StackRNN(4, return_sequences=True)
    return keras.Model(inputs, layer(keras.layers.Add()(inputs)))


def of_fixed_length():
    inputs = keras.Input((4, 3))
    return keras.Model(inputs, StackRNN(3, return_sequences=True)(inputs))


BAD = {
    "no memory": (
        lambda: trace(
            keras.Sequential([keras.Input((None, 3)), keras.layers.LSTM(3)], name="m"),
            TEXT,
            vocabulary="abc",
        ),
        "Model 'm' has no memory to trace: expected a StackCell, a StackRNN or the like in it.",
    ),
    "no model": (
        lambda: trace("anbn", TEXT),
        "There is nothing to trace in 'anbn': expected a Keras model.",
    ),
    "unknown symbol": (
        lambda: trace(counter(), "abc"),
        "Unknown symbol in the text: expected one of a b, got 'c'.",
    ),
    "unknown word": (
        lambda: trace(random_model(vocabulary=[f"w{i}" for i in range(21)]), "w1 x"),
        "Unknown symbol in the text: expected one of 21 symbols, got 'x'.",
    ),
    "no text": (
        lambda: trace(counter(), ""),
        "There is nothing to trace: expected a text with symbols, got ''.",
    ),
    "no vocabulary": (
        lambda: trace(keras.Sequential([keras.Input((None, 3)), StackRNN(3)], name="m"), TEXT),
        "Model 'm' does not know its symbols: expected vocabulary='ab' or the like, with a symbol "
        "for each token id, got None.",
    ),
    "a symbol twice": (
        lambda: trace(counter(), "ab", vocabulary="aab"),
        "Received an invalid value for argument `vocabulary`: expected distinct symbols, got "
        "['a', 'a', 'b'].",
    ),
    "another vocabulary": (
        lambda: trace(one_hot_model(StackRNN(4, return_sequences=True)), "ab", vocabulary="ab"),
        "The model reads 3 features of each symbol: expected a vocabulary of as many symbols, to "
        "be read one-hot, got 2.",
    ),
    "another length": (
        lambda: trace(of_fixed_length(), "ab", vocabulary="abc"),
        "The model reads texts of 4 symbols and no others, got 2.",
    ),
    "not built": (
        lambda: trace(keras.Sequential([StackRNN(3)], name="m"), "ab", vocabulary="abc"),
        "Model 'm' has no weights yet: train or load it, or call it once.",
    ),
    "two inputs": (
        lambda: trace(two_inputs(), "ab", vocabulary="abc"),
        "A trace wants a model with one input, the text; got 2.",
    ),
    "images": (
        lambda: trace(
            keras.Sequential([keras.Input((4, 2, 3)), keras.layers.TimeDistributed(StackRNN(3))]),
            "ab",
            vocabulary="abc",
        ),
        "A trace wants a model that reads (batch, symbols) token ids or (batch, symbols, features) "
        "one-hot symbols, got one with inputs of shape (None, 4, 2, 3).",
    ),
    "read twice": (
        lambda: trace(two_readers(), "ab", vocabulary="abc"),
        "A trace wants one step of every memory for each symbol: expected 2, got 4 of stack1.",
    ),
    "depth": (
        lambda: trace(counter(), "ab", depth=0),
        "Received an invalid value for argument `depth`: expected a positive integer, got 0.",
    ),
    "deterministic": (
        lambda: trace(counter(), "ab", deterministic=[True]),
        "`deterministic` says of each symbol whether it can be predicted: expected 2 booleans, "
        "got shape (1,).",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_answered_with_one_sentence(name):
    cause, message = BAD[name]
    with raises_only(message):
        cause()


IMPORTS = """
import keras_stackrnn
first = keras_stackrnn.trace
import keras_stackrnn.trace
from keras_stackrnn.trace import trace
import keras_stackrnn.trace.figures
assert keras_stackrnn.trace is first and callable(first) and first.trace is trace
assert keras_stackrnn.trace.figures.KINDS
try:
    keras_stackrnn.trace("no model", "ab")
except ValueError as error:
    print(error)
"""


def test_the_function_and_the_package_have_one_name():
    printed = run_python("-c", IMPORTS)
    assert printed == "There is nothing to trace in 'no model': expected a Keras model.\n"
    assert importlib.import_module("keras_stackrnn.trace") is keras_stackrnn.trace
    assert keras_stackrnn.trace(counter(), "ab").symbols == ("a", "b")
