"""Exported models: every signature, run as servers run it, against the Keras model."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from export_fixtures import (
    CASES,
    VOCABULARY,
    assert_close,
    request_of,
    sequences,
    text_of,
)
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow_serving.apis import prediction_log_pb2

from keras_stackrnn.export.reader import SHALLOW
from keras_stackrnn.export.warmup import RECORDS
from keras_stackrnn.memories.soft import EMPTY, action_weights

WITH_MEMORY = [name for name, case in CASES.items() if case["kind"] in ("stack", "list")]
# All cases run as TensorFlow Serving runs them; loading and tracing one in TensorFlow 2 will do.
WAYS = [*((name, "in_session") for name in CASES), ("list", "eagerly")]


@pytest.fixture(params=CASES)
def exported(request, exports):
    return exports(request.param)


@pytest.fixture(params=WITH_MEMORY)
def exported_memory(request, exports):
    return exports(request.param)


@pytest.fixture(params=WAYS, ids=" ".join)
def run(request, exports):
    """Runs signatures in one of the ways; knows the Keras model."""
    name, way = request.param
    exported = exports(name)
    run = functools.partial(getattr(exported, way))
    run.exported = exported
    return run


def assert_equal(actual, expected):
    assert actual.keys() == expected.keys()
    for name in actual:
        np.testing.assert_array_equal(actual[name], expected[name], err_msg=name)


def test_the_default_predicts_what_the_model_does(run):
    rows = sequences()
    outputs = run("serving_default", **request_of(rows))
    for i, row in enumerate(rows):
        if row:
            expected = run.exported.reference.probabilities(row)
            assert_close(outputs["probabilities"][i], expected[-1])
            log_likelihood = np.log(expected[np.arange(len(row) - 1), row[1:]]).sum()
            np.testing.assert_allclose(outputs["log_likelihood"][i], log_likelihood, atol=1e-5)
        else:
            assert outputs["log_likelihood"][i] == 0
    logits = run.exported.model(np.array(rows[:1], np.int32))
    assert_close(outputs["probabilities"][0], tf.nn.softmax(logits)[0, -1])
    np.testing.assert_array_equal(outputs["next_token"], outputs["probabilities"].argmax(axis=1))
    assert outputs["next_token"].dtype == np.int32


def test_scores_are_the_models(run):
    rows = sequences()
    outputs = run("score", **request_of(rows, columns=11))
    assert outputs["log_probabilities"].shape == outputs["predictions"].shape == (4, 11)
    for i, row in enumerate(rows):
        if row:
            expected = run.exported.reference.probabilities(row)
            given = expected[np.arange(len(row) - 1), row[1:]]
            assert_close(np.exp(outputs["log_probabilities"][i, 1 : len(row)]), given)
            predictions = outputs["predictions"][i, : len(row)]
            np.testing.assert_array_equal(predictions, expected.argmax(axis=1))
        assert not outputs["log_probabilities"][i, :1].any()
        assert not outputs["log_probabilities"][i, len(row) :].any()
        assert (outputs["predictions"][i, len(row) :] == -1).all()


def test_texts_are_predicted_as_their_tokens_are(run):
    rows = sequences()
    outputs = run("predict_text", text=[text_of(row) for row in rows])
    expected = run.exported.in_session("serving_default", **request_of(rows))
    np.testing.assert_array_equal(outputs["probabilities"], expected["probabilities"])
    symbols = np.array([symbol.encode() for symbol in VOCABULARY])
    np.testing.assert_array_equal(outputs["next_symbol"], symbols[expected["next_token"]])
    order = np.argsort(-outputs["probabilities"], axis=1)
    np.testing.assert_array_equal(outputs["top_symbols"], symbols[order])
    sorted_probabilities = np.take_along_axis(outputs["probabilities"], order, axis=1)
    np.testing.assert_array_equal(outputs["top_probabilities"], sorted_probabilities)


def test_steps_arrive_where_the_whole_sequence_does(run):
    rows = sequences()
    states = run("initial_state", batch_size=np.int32(len(rows)))
    for begin, end in [(0, 1), (1, 4), (4, 4), (4, 9)]:
        outputs = run("step", **request_of([row[begin:end] for row in rows]), **states)
        probabilities = outputs.pop("probabilities")
        assert outputs.keys() == states.keys()
        states = outputs
    whole = run("serving_default", **request_of(rows))
    assert_close(probabilities, whole["probabilities"])
    for i, row in enumerate(rows):
        check_states(run.exported, row, {name: each[i] for name, each in states.items()})


def check_states(exported, row, states):
    """Compares one row's states with those of the Keras layers."""
    for i in range(exported.model.num_layers):
        names = [
            f"{name}_{i}"
            for name in ("hidden", "memory", "carry", "context")
            if f"{name}_{i}" in states
        ]
        if not row:
            for name in names:
                assert (states[name] == (EMPTY if "memory" in name else 0)).all()
            continue
        for name, expected in zip(names, exported.reference.states(row)[i], strict=True):
            actual = states[name]
            if "memory" in name:
                assert states[f"depth_{i}"] * row_size(exported.model) == len(actual)
                actual, expected = (embedded(exported.model, each) for each in (actual, expected))
            assert_close(actual, expected)


def row_size(model):
    """How many numbers a row of all memories has."""
    return model.memories * model.element_size


def embedded(model, memory, rows=101):
    """A row's memory, which is as deep as others need it, in one of many rows."""
    size = row_size(model)
    missing = rows - len(memory) // size
    before = rows // 2 - len(memory) // size // 2 if model.kind == "list" else 0
    return np.pad(memory, [before * size, (missing - before) * size], constant_values=EMPTY)


@pytest.mark.parametrize("name", ["stack rounded", "list rounded"])
def test_sequences_are_read_alike_on_either_side_of_where_memories_are_piled(exports, name):
    exported = exports(name)
    edge = SHALLOW - exported.model.read_depth
    rows = sequences([edge, edge + 1])
    for row in rows:
        outputs = exported.in_session("serving_default", **request_of([row]))
        assert_close(outputs["probabilities"][0], exported.reference.probabilities(row)[-1])


def test_a_state_is_as_deep_as_its_elements(exported_memory):
    model = exported_memory.model
    states = exported_memory.in_session("initial_state", batch_size=np.int32(2))
    outputs = exported_memory.in_session("step", **request_of(sequences([30, 12])), **states)
    occupied = (outputs["memory_0"].reshape(2, -1, row_size(model)) != EMPTY).any(axis=(0, 2))
    assert occupied[-1] or (occupied[0] and model.kind == "list")
    # A list's head is in the middle of as many rows on either side.
    assert model.read_depth < len(occupied) <= (2 * 30 - 1 if model.kind == "list" else 30)


@pytest.mark.parametrize("seed", range(3))
def test_padding_changes_nothing(exported, seed):
    rows = sequences(np.random.default_rng(seed).integers(0, 8, 5), seed)
    columns = max(1, *(len(row) for row in rows))
    clean, dirty = request_of(rows, columns), request_of(rows, columns + 3, seed)
    for signature in ("serving_default", "score"):
        expected = exported.in_session(signature, **clean)
        outputs = exported.in_session(signature, **dirty)
        if signature == "score":
            outputs = {name: each[:, :columns] for name, each in outputs.items()}
        assert_equal(outputs, expected)
    states = exported.in_session("initial_state", batch_size=np.int32(len(rows)))
    states = exported.in_session("step", **request_of(sequences([3, 2, 0, 5, 1])), **states)
    states.pop("probabilities")
    expected = exported.in_session("step", **clean, **states)
    assert_equal(exported.in_session("step", **dirty, **states), expected)


def test_a_row_does_not_depend_on_its_company(exported):
    rows = sequences()
    together = exported.in_session("serving_default", **request_of(rows))
    for i, row in enumerate(rows):
        alone = exported.in_session("serving_default", **request_of([row], columns=12))
        for name, value in alone.items():
            np.testing.assert_allclose(together[name][i], value[0], atol=1e-6)


def test_states_survive_the_padding_of_a_server_that_merges_requests(exported_memory):
    """It pads the shallower memories at the end, with their first element."""
    run = exported_memory.in_session
    apart, next_symbols = [], [[1, 0], [0, 2]]
    for row in sequences([2, 9], seed=5):
        states = run("initial_state", batch_size=np.int32(1))
        states = run("step", **request_of([row]), **states)
        states.pop("probabilities")
        apart.append(states)
    width = {name: max(states[name].shape[-1] for states in apart) for name in apart[0]}
    merged = {}
    for name in apart[0]:
        rows = [states[name] for states in apart]
        if name.startswith("memory"):
            rows = [
                np.pad(row, [(0, 0), (0, width[name] - row.shape[1])], constant_values=row[0, 0])
                for row in rows
            ]
        merged[name] = np.concatenate(rows)
    assert len({states["memory_0"].shape for states in apart}) == 2
    together = run("step", **request_of(next_symbols), **merged)
    for i, (states, symbols) in enumerate(zip(apart, next_symbols, strict=True)):
        alone = run("step", **request_of([symbols]), **states)
        assert_close(together["probabilities"][i], alone["probabilities"][0])


@pytest.mark.parametrize("columns", [0, 3])
def test_nothing_to_read_is_no_error(exported, columns):
    request = {"tokens": np.zeros([2, columns], np.int32), "lengths": np.zeros(2, np.int32)}
    outputs = exported.in_session("serving_default", **request)
    assert_close(outputs["probabilities"].sum(axis=1), 1)
    assert exported.in_session("score", **request)["predictions"].tolist() == [[-1] * columns] * 2
    states = exported.in_session("initial_state", batch_size=np.int32(2))
    after = exported.in_session("step", **request, **states)
    assert_equal({name: after[name] for name in states}, states)
    if "trace" in exported.session.signatures:
        assert exported.in_session("trace", text=["", ""])["symbols"].shape == (2, 0)


def test_no_rows_are_no_error(exported):
    request = {"tokens": np.zeros([0, 2], np.int32), "lengths": np.zeros(0, np.int32)}
    outputs = exported.in_session("serving_default", **request)
    assert outputs["probabilities"].shape == (0, len(VOCABULARY))


def test_initial_state_of_one_number_or_of_one_for_each_row(exported):
    expected = exported.in_session("initial_state", batch_size=np.int32(3))
    assert {len(state) for state in expected.values()} == {3}
    assert_equal(exported.in_session("initial_state", batch_size=np.full(3, 3, np.int32)), expected)


def test_temperature_0_always_takes_the_most_probable(run):
    rows = sequences()
    options = {"max_symbols": np.int32(6), "temperature": np.float32(0), "seed": np.int64(0)}
    outputs = run("generate", text=[text_of(row) for row in rows], **options)
    for row, text in zip(rows, outputs["text"], strict=True):
        if not row:
            continue
        row = list(row)
        for _ in range(6):
            row.append(int(run.exported.reference.probabilities(row)[-1].argmax()))
        assert text == text_of(row[-6:])


def test_each_row_has_its_own_options(exported):
    texts = [b"ab", b"a", b""]
    options = {
        "max_symbols": np.array([12, 0, 20], np.int32),
        "temperature": np.array([1.0, 0.0, 5.0], np.float32),
        "seed": np.array([3, 4, 2**40], np.int64),
    }
    together = exported.in_session("generate", text=texts, **options)["text"]
    assert [len(text) for text in together] == [12, 0, 20]
    for i, text in enumerate(texts):
        alone = {name: value[i : i + 1] for name, value in options.items()}
        assert exported.in_session("generate", text=[text], **alone)["text"] == together[i]
    options["seed"] = options["seed"] + 1
    others = exported.in_session("generate", text=texts, **options)["text"]
    assert others[2] != together[2]
    assert others[2] != together[2]


def in_parts(exported, text, sizes, **options):
    """Continues texts in parts of so many symbols, row by row its own; what was written, by row."""
    rows = len(text)
    state = exported.in_session("initial_state", batch_size=np.int32(rows))
    written, position = [b""] * rows, np.zeros(rows, np.int64)
    for part in sizes:
        outputs = exported.in_session(
            "generate_on", text=text, max_symbols=part, position=position, **options, **state
        )
        state = {name: outputs[name] for name in state}
        for row, pieces in enumerate(outputs["written"]):
            assert not any(pieces[part[row] :])
            written[row] += b"".join(pieces)
        position, text = position + part, [b""] * rows
    return written, state


def test_parts_of_a_continuation_are_the_whole_one(exported):
    texts = [b"ab", b"a", b""]
    options = {"temperature": np.array([1.0, 0.0, 5.0], np.float32), "seed": np.arange(5, 8)}
    whole = exported.in_session("generate", text=texts, max_symbols=np.int32(12), **options)["text"]
    sizes = np.array([[1, 4, 6], [2, 5, 0], [3, 1, 5], [6, 2, 1]], np.int32)
    written, state = in_parts(exported, texts, sizes, **options)
    assert written == whole.tolist()
    # The state is that of whoever read all of it.
    read = [(text + more).decode() for text, more in zip(texts, whole, strict=True)]
    rows = [[VOCABULARY.index(symbol) for symbol in text] for text in read]
    start = exported.in_session("initial_state", batch_size=np.int32(3))
    read = exported.in_session("step", **request_of(rows), **start)
    again = {"tokens": np.array([[0]] * 3, np.int32), "lengths": np.ones(3, np.int32)}
    assert_close(
        exported.in_session("step", **again, **state)["probabilities"],
        exported.in_session("step", **again, **{name: read[name] for name in state})[
            "probabilities"
        ],
    )


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_symbols_are_drawn_by_their_probabilities(exports, temperature):
    exported, draws = exports("stack"), 4000
    outputs = exported.in_session(
        "generate",
        text=[b"ab"] * draws,
        max_symbols=np.int32(1),
        temperature=np.float32(temperature),
        seed=np.arange(draws),
    )
    powers = exported.reference.probabilities([0, 1])[-1] ** (1 / temperature)
    expected = powers / powers.sum()
    drawn = np.array([(outputs["text"] == symbol.encode()).mean() for symbol in VOCABULARY])
    deviations = np.sqrt(expected * (1 - expected) / draws)
    assert (np.abs(drawn - expected) < 4 * deviations).all()


def test_a_trace_shows_what_the_memories_did(run):
    model = run.exported.model
    if not model.has_memory:
        assert "trace" not in run.exported.session.signatures
        return
    rows = sequences([6, 0, 3])
    outputs = run("trace", text=[text_of(row) for row in rows])
    names = [name.encode() for name in model.recurrent[0].cell.actions]
    assert outputs["action_names"].tolist() == [names] * 3
    assert outputs["lengths"].tolist() == [6, 0, 3]
    for i, row in enumerate(rows):
        end = len(row)
        symbols = [VOCABULARY[token].encode() for token in row]
        assert outputs["symbols"][i].tolist() == symbols + [b""] * (6 - end)
        if row:
            expected = run.exported.reference.probabilities(row)
            assert_close(outputs["probabilities"][i, :end], expected)
        for t in range(end):
            tops, actions = last_actions(run.exported, row[: t + 1])
            assert_close(outputs["tops"][i, t], tops)
            assert_close(outputs["actions"][i, t], actions)
            assert_close(outputs["values"][i, t], last_values(run.exported, row[: t + 1]))
        assert outputs["vocabulary"][i].tolist() == [symbol.encode() for symbol in VOCABULARY]
        assert (outputs["tops"][i, end:] == EMPTY).all()
        assert not outputs["actions"][i, end:].any()
        assert not outputs["values"][i, end:].any()
        assert not outputs["probabilities"][i, end:].any()


def last_values(exported, row):
    """What all memories were last given to write, of elements their mean."""
    values = []
    for layer, (_, written) in zip(exported.model.recurrent, decided(exported, row), strict=True):
        values += list(written.reshape(layer.cell.element_size, -1).mean(axis=0))
    return np.array(values)


def last_actions(exported, row):
    """The tops and the last actions of all memories, from the states of the Keras layers."""
    model, tops, actions = exported.model, [], []
    states, found = exported.reference.states(row), decided(exported, row)
    for layer, (_, memory), (logits, _) in zip(model.recurrent, states, found, strict=True):
        memory = memory.reshape(-1, layer.cell.element_size, model.memories).mean(axis=1)
        tops += list(memory[len(memory) // 2 if model.kind == "list" else 0])
        logits = logits.reshape(1, -1, model.memories)
        actions += list(np.array(action_weights(tf.constant(logits), layer.cell.rounding))[0].T)
    return np.array(tops), np.array(actions)


def decided(exported, row):
    """Of each layer the logits of the last actions, and the elements that there were to write."""
    model = exported.model
    if model.controller == "second_order":
        return [decided_by_pairs(exported, row)]
    found = []
    states = exported.reference.states(row)
    for layer, (hidden, _) in zip(model.recurrent, states, strict=True):
        cell = layer.cell
        logits, values = hidden @ cell.action_kernel.numpy(), hidden @ cell.value_kernel.numpy()
        if cell.use_bias:
            logits, values = logits + cell.action_bias.numpy(), values + cell.value_bias.numpy()
        found.append((logits, 1 / (1 + np.exp(-values))))
    return found


def decided_by_pairs(exported, row):
    """The same of a second-order cell, whose states after a step do not tell."""
    cell = exported.model.recurrent[0].cell
    rows, hidden = np.full((cell.read_depth, cell.row_size), EMPTY, "float32"), np.zeros(cell.units)
    if len(row) > 1:
        hidden, memory = exported.reference.states(row[:-1])[0]
        rows = memory.reshape(-1, cell.row_size)
    read = np.array(cell.layout.read(tf.constant(rows), cell.layout.head(len(rows))))
    hidden = tf.constant(hidden[None], tf.float32)
    inputs = exported.model.embed(tf.constant([row[-1]]))
    _, logits, values = cell.controls(inputs, tf.constant(read.reshape(1, -1)), {"hidden": hidden})
    return np.array(logits[0]), np.array(values[0])


@pytest.mark.parametrize(
    ("signature", "inputs", "message"),
    [
        (
            "predict_text",
            {"text": ["abé", "xa"]},
            "Unknown symbol: expected one of a b ., got é, x",
        ),
        ("predict_text", {"text": [b"a\xff"]}, "Unknown symbol: expected one of a b ., got \ufffd"),
        ("trace", {"text": ["a?"]}, "Unknown symbol: expected one of a b ., got ?"),
        (
            "serving_default",
            {"tokens": [[0, 3, -1]], "lengths": [3]},
            "Unknown token: expected 0 to 2, got 3, -1",
        ),
        (
            "score",
            {"tokens": [[0, 0]], "lengths": [3]},
            "Expected lengths between 0 and the number of tokens in a row, 2, got 3",
        ),
        (
            "score",
            {"tokens": [[0, 0]], "lengths": [-1]},
            "Expected lengths between 0 and the number of tokens in a row, 2, got -1",
        ),
        (
            "serving_default",
            {"tokens": [[0, 0]], "lengths": [1, 1]},
            "Expected as many rows in each of tokens, lengths, got 1, 2",
        ),
        ("initial_state", {"batch_size": -2}, "Expected a batch_size of 0 or more, got -2"),
        (
            "generate",
            {"text": ["a"], "max_symbols": -1, "temperature": 1.0, "seed": np.int64(0)},
            "Expected max_symbols between 0 and 10000, got -1",
        ),
        (
            "generate",
            {"text": ["a"] * 101, "max_symbols": 10000, "temperature": 1.0, "seed": np.int64(0)},
            "Expected at most 1000000 symbols for all texts together, got 101 times 10000",
        ),
        (
            "generate",
            {"text": ["a"], "max_symbols": 1, "temperature": -0.5, "seed": np.int64(0)},
            "Expected a temperature of 0 or more, got -0.5",
        ),
        (
            "generate_on",
            {
                "text": ["a"],
                "max_symbols": 1,
                "temperature": 1.0,
                "seed": np.int64(0),
                "position": np.int64(-1),
                "hidden_0": np.zeros([1, 4]),
                "memory_0": np.zeros([1, 6]),
                "depth_0": [3],
            },
            "Expected a position of 0 or more, got -1",
        ),
        (
            "step",
            {
                "tokens": [[0]],
                "lengths": [1],
                "hidden_0": np.zeros([1, 4]),
                "memory_0": np.zeros([1, 5]),
                "depth_0": [1],
            },
            "Expected memory_0 with 2 columns for each of 2 or more rows, got 5 columns",
        ),
        (
            "step",
            {
                "tokens": [[0]],
                "lengths": [1],
                "hidden_0": np.zeros([1, 4]),
                "memory_0": np.zeros([1, 6]),
                "depth_0": [4],
            },
            "Expected depth_0 between 0 and the rows of memory_0, 3, got 4",
        ),
    ],
)
def test_what_is_wrong_with_a_request_is_an_invalid_argument(exports, signature, inputs, message):
    def converted(value):
        if isinstance(value, np.integer):
            return value
        array = np.array(value)
        types = {"i": np.int32, "f": np.float32, "U": object, "S": object}
        return np.array(array, types[array.dtype.kind])

    exported = exports("list")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        exported.in_session(signature, **{name: converted(inputs[name]) for name in inputs})
    assert caught.value.message.splitlines()[0] == f"assertion failed: [{message}]"
    assert caught.value.error_code == tf.errors.INVALID_ARGUMENT


def test_nothing_is_compiled(exported, tmp_path):
    assert not compiled_nodes(exported.path)
    module = tf.Module()
    module.f = tf.function(
        lambda x: x + 1, jit_compile=True, input_signature=[tf.TensorSpec([], tf.float32)]
    )
    tf.saved_model.save(module, str(tmp_path))
    assert compiled_nodes(tmp_path)


def compiled_nodes(path):
    """The nodes and functions of a SavedModel that ask for XLA."""
    saved = saved_model_pb2.SavedModel.FromString((path / "saved_model.pb").read_bytes())
    found = []
    for meta_graph in saved.meta_graphs:
        graph = meta_graph.graph_def
        nodes = [*graph.node, *(n for f in graph.library.function for n in f.node_def)]
        for each in [*nodes, *graph.library.function]:
            if each.attr["_XlaMustCompile"].b:
                found.append(each)
    return found


def test_warm_up_has_a_request_for_each_signature(exported):
    signatures = set()
    for record in tf.data.TFRecordDataset(str(exported.path / RECORDS)).as_numpy_iterator():
        request = prediction_log_pb2.PredictionLog.FromString(record).predict_log.request
        name = request.model_spec.signature_name
        inputs = {alias: tf.make_ndarray(proto) for alias, proto in request.inputs.items()}
        assert exported.in_session(name, **inputs)
        signatures.add(name)
    assert signatures == set(exported.session.signatures) - {"__saved_model_init_op"}
