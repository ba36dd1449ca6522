"""Exported transducers and recognizers: what servers answer is what Keras does."""

import grpc
import numpy as np
import pytest
import serving_fixtures as fixtures
import tensorflow as tf
from absl import flags
from tensorflow_serving.apis import classification_pb2

from keras_stackrnn import trace
from keras_stackrnn.export import export
from keras_stackrnn.models import NextSymbolModel
from keras_stackrnn.serving import client as command
from keras_stackrnn.serving import config
from keras_stackrnn.serving.client import Client
from keras_stackrnn.task_models import Recognizer, Transducer
from keras_stackrnn.trace.exported import trace_server

_OPTIONS = {"units": 5, "memories": 2, "use_bias": True}
# A model of each kind of marks, of answers of several symbols, and with an end of answers or not.
MODELS = {
    "copy": lambda: Transducer("stack", ["0", "1", "<answer>"], outputs="xyz", **_OPTIONS),
    "longer": lambda: Transducer(
        "list",
        ["go", "left", "<answer>", "<compute>"],
        outputs=["north", "south", "stop"],
        answer_places=(3, 2, 1),
        computation=2,
        terminator="stop",
        rounding=True,
        **_OPTIONS,
    ),
    "brackets": lambda: Recognizer(
        "stack", ["(", ")", "<end>"], labels=["not so", "yes"], **_OPTIONS
    ),
}
TEXTS = {
    "copy": ["0110", "", "1", "00000"],
    "longer": ["go left", "left", "", "left go"],
    "brackets": ["(())", "", ")(", "(((((("],
}


def make(name):
    model = MODELS[name]()
    rng = np.random.default_rng(3)
    model.set_weights([rng.normal(scale=1.5, size=weight.shape) for weight in model.weights])
    return model


@pytest.fixture(scope="module")
def models():
    return {name: make(name) for name in MODELS}


@pytest.fixture(scope="module")
def server(models, tmp_path_factory):
    base = tmp_path_factory.mktemp("forms")
    for name, model in models.items():
        export(model, base / name, max_batch=5, max_length=15, max_symbols=60)
    served = config.single_model("copy", base / "copy")
    for name in list(models)[1:]:
        served.model_config_list.config.add(name=name, base_path=str(base / name))
    with fixtures.RunningServer(served) as running:
        yield running


def symbols_of(model, text):
    words = text.split() if any(len(each) > 1 for each in model.vocabulary[:-2]) else list(text)
    return [model.vocabulary.index(word) for word in words]


def probabilities_of(model, tokens):
    if not tokens:
        return np.zeros((0, len(model.answers)))
    return tf.nn.softmax(model(np.array([tokens], np.int32)))[0].numpy()


@pytest.mark.parametrize("name", ["copy", "longer"])
def test_a_transducer_answers_as_the_model_does(models, server, name):
    model, texts = models[name], TEXTS[name]
    request = fixtures.predict_request(name=name, signature="transduce", text=texts)
    outputs = fixtures.outputs_of(server.prediction.Predict(request))
    for row, text in enumerate(texts):
        tokens = symbols_of(model, text)
        read = len(tokens)
        times, over, plus = model.answer_places
        places = -(-times * read // over) + plus
        mark = model.vocabulary.index("<answer>")
        tokens += [mark + 1] * (model.computation * read) + [mark] * places
        symbols, certain = [], []
        for probabilities in probabilities_of(model, tokens)[len(tokens) - places :]:
            if model.answers[probabilities.argmax()] == model.terminator:
                break
            symbols.append(model.answers[probabilities.argmax()])
            certain.append(probabilities.max())
        assert outputs["lengths"][row] == len(symbols)
        assert outputs["symbols"][row].astype(str).tolist()[: len(symbols)] == symbols
        np.testing.assert_allclose(
            outputs["probabilities"][row, : len(symbols)], certain, rtol=0, atol=1e-5
        )
        assert (outputs["symbols"][row, len(symbols) :] == b"").all()
        separator = "" if name == "copy" else " "
        assert outputs["answer"][row].decode() == separator.join(symbols)
    assert len(set(outputs["answer"])) > 2


def labels_of(model, text):
    tokens = [*symbols_of(model, text), model.vocabulary.index("<end>")]
    return probabilities_of(model, tokens)[-1]


def test_a_recognizer_labels_as_the_model_does(models, server):
    name = "brackets"
    model, texts = models[name], TEXTS[name]
    expected = np.array([labels_of(model, text) for text in texts])
    request = fixtures.predict_request(name=name, signature="classify_text", text=texts)
    outputs = fixtures.outputs_of(server.prediction.Predict(request))
    np.testing.assert_allclose(outputs["probabilities"], expected, rtol=0, atol=1e-5)
    assert [label.decode() for label in outputs["label"]] == [
        model.answers[best] for best in expected.argmax(axis=1)
    ]
    assert outputs["labels"].astype(str).tolist() == [model.answers] * len(texts)

    request = classification_pb2.ClassificationRequest()
    request.model_spec.name, request.model_spec.signature_name = name, "classify"
    for text in texts:
        feature = request.input.example_list.examples.add().features.feature["text"]
        feature.bytes_list.value.append(text.encode())
    response = server.prediction.Classify(request)
    found = [[each.label for each in row.classes] for row in response.result.classifications]
    assert found == [model.answers] * len(texts)
    scores = [[each.score for each in row.classes] for row in response.result.classifications]
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-5)


def test_the_default_answers_texts(models, server):
    for name, key in (("copy", "answer"), ("brackets", "label")):
        request = fixtures.predict_request(name=name, text=TEXTS[name])
        assert key in fixtures.outputs_of(server.prediction.Predict(request))


def test_an_example_without_a_text_is_refused(server):
    request = classification_pb2.ClassificationRequest()
    request.model_spec.name, request.model_spec.signature_name = "brackets", "classify"
    request.input.example_list.examples.add().features.feature["other"].float_list.value.append(1)
    with pytest.raises(grpc.RpcError, match=r"Feature: text .* is required"):
        server.prediction.Classify(request)


def test_the_marks_are_no_symbols_of_texts(server):
    request = fixtures.predict_request(name="longer", signature="transduce", text=["go <answer>"])
    with pytest.raises(grpc.RpcError, match="expected one of go left, got <answer>"):
        server.prediction.Predict(request)


def test_places_of_answers_count_as_symbols(server):
    def refusal(*texts):
        request = fixtures.predict_request(name="copy", signature="transduce", text=texts)
        with pytest.raises(grpc.RpcError) as caught:
            server.prediction.Predict(request)
        return caught.value.details()

    assert "at most 15 symbols in a row, got 16" in refusal("01010101")
    assert "at most 60 symbols in all rows together, got 5 times 14" in refusal(*["0101010"] * 5)
    assert "at most 5 rows in a request, got 6" in refusal(*"010101")


@pytest.mark.parametrize("name", ["longer", "brackets"])
def test_steps_go_where_the_whole_text_does(models, server, name):
    model = models[name]
    tokens = [0, 1, 1, len(model.vocabulary) - model.marks]
    with Client(server.address, name) as client:
        session = client.session()
        for token in tokens:
            outputs = session.step([[token]])
    np.testing.assert_allclose(
        outputs["probabilities"][0], probabilities_of(model, tokens)[-1], rtol=0, atol=1e-5
    )


def test_the_client_asks_for_answers_and_labels(models, server, capsys, monkeypatch):
    with Client(server.address, "copy") as client:
        answers = client.transduce(TEXTS["copy"])
    assert [len(answer) for answer in answers] == [4, 0, 1, 5]
    with Client(server.address, "brackets") as client:
        (labels,) = client.classify(["(())"])
    yes = float(labels_of(models["brackets"], "(())")[1])
    assert labels["yes"] == pytest.approx(yes, abs=1e-5)
    assert list(labels.values()) == sorted(labels.values(), reverse=True)

    def run(*arguments):
        values = flags.FlagValues()
        command.define_flags(values)
        arguments = values(["client", f"--server={server.address}", *arguments])
        monkeypatch.setattr(flags, "FLAGS", values)
        command.main(arguments)
        return capsys.readouterr().out

    assert run("--model=copy", "transduce", *TEXTS["copy"]).split("\n")[:-1] == answers
    printed = run("--model=brackets", "classify", "(())")
    assert printed.startswith("(())\n")
    assert f"'yes' {yes:6.1%}" in printed


def test_only_models_with_signatures_are_exported(tmp_path):
    dense = tf.keras.Sequential([tf.keras.layers.Dense(2)])
    with pytest.raises(ValueError, match="NextSymbolModel, Transducer or Recognizer, got Sequent"):
        export(dense, tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "asked"), [("longer", "go left", 4), ("copy", "01", 2), ("brackets", "(", 1)]
)
def test_a_trace_shows_the_answer_where_it_is_asked(models, server, name, text, asked):
    record = trace(models[name], text)
    served = trace_server(server.address, name, text, depth=models[name].read_depth)
    assert record.symbols == served.symbols
    assert list(record.symbols) == [*symbols(text), *record.symbols[len(symbols(text)) :]]
    assert record.asked.tolist() == served.asked.tolist()
    assert record.asked.sum() == asked
    assert record.asked[-asked:].all()
    for each in (record, served):
        assert set(each.upcoming) == {None}
        assert np.isnan(each.probabilities[~each.asked]).all()
        assert each.predictions[0] is None
        assert each.vocabulary == tuple(models[name].answers)
    np.testing.assert_allclose(
        record.probabilities[record.asked], served.probabilities[served.asked], rtol=0, atol=1e-5
    )
    for mine, theirs in zip(record.memories, served.memories, strict=True):
        np.testing.assert_allclose(mine.tops, theirs.tops, rtol=0, atol=1e-5)
    tokens = [models[name].vocabulary.index(symbol) for symbol in record.symbols]
    expected = probabilities_of(models[name], tokens)
    np.testing.assert_allclose(record.probabilities[-1], expected[-1], rtol=0, atol=1e-5)
    assert record.answers == tuple(
        models[name].answers[best] for best in expected[-asked:].argmax(axis=1)
    )


def symbols(text):
    return text.split() if " " in text else list(text)


def test_every_way_to_show_a_trace_shows_answers(models, tmp_path):
    record = trace(models["brackets"], "")
    assert record.symbols == ("<end>",)
    record = trace(models["longer"], "go left")
    table = record.to_text()
    assert table.splitlines()[2].split()[:3] == ["current", "answer", "p(answer)"]
    assert f"Answer: {' '.join(record.answers)}" in table
    assert '"answers": true' in record.to_html()
    assert record.to_csv().count("\n") == 1 + len(record.symbols)
    for kind in ("actions", "memory", "probabilities"):
        record.plot(tmp_path / f"{kind}.png", kind, "list1" if kind == "memory" else None)
    with pytest.raises(
        ValueError, match=r"Unknown symbol .* expected one of go left, got '<answer>'"
    ):
        trace(models["longer"], "go <answer>")


def test_models_of_tasks_that_are_not_known_here_are_traced(models):
    for task in ("text", "mine/own", "chomsky/reverse_string"):
        model = NextSymbolModel("stack", "ab", 3, memories=1, task=task)
        record = trace(model, "abab")
        assert record.deterministic is None
        assert record.title == task
